"""How wild a run may be: how often each kind of fault may strike, and the limits the runtime is given."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from runtime.model.toolsets import ToolServer
from runtime.settings import Settings

Fault = Literal["death", "expiry", "unknown", "outage", "model", "refusal", "resend", "answer", "timer", "bad"]
Ground = Literal["family", "subscriptions", "compaction", "wishes"]
SERVER = ToolServer("tools", "http://tools.invalid")
RECEIVER_URL = "http://receiver.invalid"
PATIENT = 10**8


@dataclass(frozen=True, slots=True)
class Profile:
    """`settings` are the runtime's, named as there. `slice_s`: how long a process is told it may take.

    `texts`: how often people speak; `turns`: completions that do more than say something; `events`: how often tools
    speak by themselves; `keys`: whether keys are asked for at a store that may be away. `grounds`: what may be done
    besides speaking and calling tools. `result_timeout_s`: how long results are waited for; None, for ever.
    """

    faults: Mapping[Fault, int] = field(default_factory=dict)
    fault_rate: float = 0.15
    settings: Mapping[str, int] = field(default_factory=dict)
    max_receives: int = 20
    threads: tuple[str, ...] = ("t",)
    texts: int = 3
    turns: int = 4
    events: int = 0
    poisons: int = 0
    processes: int = 3
    batch: int = 10
    slice_s: float = 300
    moves: int = 150
    keys: bool = False
    grounds: frozenset[Ground] = frozenset()
    result_timeout_s: int | None = None

    def runtime_settings(self) -> Settings:
        server = replace(SERVER, result_timeout_s=self.result_timeout_s)
        return Settings(tool_servers=(server,), receiver_url=RECEIVER_URL, worker_threads=1).model_copy(
            update=dict(self.settings)
        )


# Limits so low that a short run reaches every answer to a failure.
SHORT: Mapping[str, int] = {
    "patience_receives": 2,
    "mark_from_receive": 1,
    "effect_patience_receives": 3,
    "deaths_before_withholding": 2,
    "give_ups": 3,
}
FEW_STEPS: Mapping[str, int] = {"completions_per_slice": 2, "completions_per_input": 6}

CALM = Profile()
WIDE = Profile(
    faults={
        "death": 3,
        "expiry": 3,
        "unknown": 2,
        "outage": 3,
        "model": 3,
        "refusal": 2,
        "resend": 2,
        "answer": 3,
        "timer": 2,
        "bad": 1,
    },
    settings=FEW_STEPS,
)
UNKNOWN = Profile(faults={"death": 3, "expiry": 5, "unknown": 6, "resend": 2, "answer": 2}, processes=4)
CRASHES = Profile(
    faults={"death": 40, "outage": 20, "model": 20, "expiry": 2, "refusal": 1, "answer": 1}, fault_rate=0.35, moves=300
)
POISON = Profile(faults={"expiry": 1, "outage": 2, "answer": 1}, texts=4, poisons=2, fault_rate=0.05, moves=200)
HARMLESS = Profile(
    faults={"answer": 2, "timer": 2, "resend": 1, "refusal": 1}, texts=6, poisons=3, slice_s=PATIENT, moves=200
)
TALK = Profile(
    faults={"refusal": 4, "answer": 3, "death": 2, "expiry": 1, "resend": 1, "outage": 1}, fault_rate=0.1, moves=300
)
_STORMY: Mapping[Fault, int] = {
    "death": 3,
    "expiry": 2,
    "unknown": 2,
    "outage": 2,
    "model": 2,
    "refusal": 1,
    "resend": 1,
    "answer": 3,
}
FAMILY = Profile(faults=_STORMY, fault_rate=0.1, turns=12, texts=3, moves=350, grounds=frozenset({"family"}))
SUBSCRIPTIONS = Profile(
    faults=_STORMY, fault_rate=0.1, turns=8, events=9, moves=350, grounds=frozenset({"subscriptions"})
)
COMPACTION = Profile(
    faults={**_STORMY, "model": 12},
    fault_rate=0.2,
    turns=8,
    texts=6,
    poisons=1,
    moves=350,
    grounds=frozenset({"compaction"}),
)
WISHES = Profile(faults=_STORMY, fault_rate=0.1, turns=4, events=4, grounds=frozenset({"wishes"}))
EVERYTHING = Profile(
    faults=_STORMY,
    fault_rate=0.1,
    turns=14,
    events=6,
    texts=4,
    moves=450,
    grounds=frozenset({"family", "subscriptions", "compaction", "wishes"}),
)
OUTAGE = Profile(faults={"model": 6}, fault_rate=0.05, moves=300)
PROFILES: Mapping[str, Profile] = {
    "wide": WIDE,
    "unknown": UNKNOWN,
    "crashes": CRASHES,
    "poison": POISON,
    "harmless": HARMLESS,
    "talk": TALK,
    "outage": OUTAGE,
    "family": FAMILY,
    "subscriptions": SUBSCRIPTIONS,
    "compaction": COMPACTION,
    "wishes": WISHES,
    "everything": EVERYTHING,
}
_NARROW: Mapping[str, int] = {"thread_depth": 3, "live_children": 2, "live_subscriptions": 1}


def any_profile(chance: random.Random) -> Profile:
    """Return one of the profiles, varied in what may stand beside it."""
    base = chance.choice([*PROFILES.values(), *(each for each in PROFILES.values() if each.grounds)])
    settings = dict(chance.choice(({}, FEW_STEPS)))
    is_short = chance.random() < 0.5
    settings |= SHORT if is_short else {}
    settings |= {"thread_depth": 3} if base.grounds else {}
    settings |= _NARROW if base.grounds and chance.random() < 0.3 else {}
    settings |= {"tokens_per_day": 100} if chance.random() < (0.02 if base.grounds else 0.1) else {}
    return Profile(
        faults=base.faults,
        fault_rate=base.fault_rate * chance.choice((0.3, 1, 1, 2)),
        settings=settings,
        max_receives=8 if is_short else 20,
        threads=chance.choice((("t",), ("t",), ("t", "u"))),
        texts=chance.choice((1, 2, 3, 6)) + (4 if base is TALK else 0),
        turns=chance.choice((1, 2, 4, 6)) + (4 if base is TALK else 0) + (base.turns - 4 if base.grounds else 0),
        events=base.events,
        poisons=base.poisons or chance.choice((0, 0, 0, 2)),
        processes=chance.choice((2, 3, 4)),
        batch=chance.choice((1, 2, 10)),
        slice_s=chance.choice((base.slice_s, PATIENT)),
        moves=base.moves,
        keys=chance.random() < 0.2,
        grounds=base.grounds,
        result_timeout_s=chance.choice((None, None, 1_000)),
    )
