"""Everything that the deployed functions do for somebody, in a few conversations side by side."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from scripts.commands.messages import ChoiceAnswer, TextMessage
from scripts.commands.outputs import Output
from scripts.demonstration.evidence import count_running
from scripts.demonstration.scripting import calls, scripted
from tests.offline.outside import DEPTHS, Depth, Letter, Outside
from tests.offline.sleepers import Sleepers

PATIENCE_S = 180.0
PAUSE_S = 0.2
STILL_S = 3.0
MONTH_S = 30 * 86_400
# What each conversation begins with, and what must stand in its last answer.
TALKS = {
    "time": ("What time is it in Tokyo?", "Asia/Tokyo: "),
    "build": ("Please build for 1 seconds.", "tests passed"),
    "choice": ("Ask me: tea or coffee?", "The user chose: coffee"),
    "watch": ("Watch 2 events.", "Watching: 2 events"),
    "view": (scripted("Show it.", calls("progress", percent=50)), "It is shown."),
    "picture": (scripted("Show it.", calls("picture")), "(an image in png)"),
    "huge": (scripted("Tell it.", calls("huge")), "one of a great many"),
    "nap": (scripted("Sleep.", calls("sleep", seconds=1)), "Slept for"),
    "sleep": (scripted("Sleep.", calls("sleep", seconds=20)), "Slept for"),
    "interrupted": (scripted("Sleep.", calls("sleep", seconds=MONTH_S)), "Woken after"),
}
# The model is away as often as a slice asks it: the message comes back, and is marked while it is tried again.
AWAY, ANSWER = "away", "Good morning."
AWAY_AT_FIRST = {"first": 3, "steps": [{"refuse": "ThrottlingException"}], "then": [{"say": ANSWER}]}
PARKED = "parked"
CHILDREN = 3  # one for each event, and one for the last, which says that the watch is over


@dataclass
class Flow:
    """Conversations under way. `said` and `parked` are what they left on the queues so far."""

    outside: Outside
    said: list[Output] = field(default_factory=list)
    parked: list[Letter] = field(default_factory=list)
    followed: set[str] = field(default_factory=set)

    def play(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Begin all of them, and return when nothing goes on any more."""
        self._begin()
        deadline = time.monotonic() + PATIENCE_S
        moved = time.monotonic()
        while time.monotonic() < min(deadline, moved + STILL_S):
            self._go_on()
            if self.is_at_work():
                moved = time.monotonic()
            meanwhile()
            time.sleep(PAUSE_S)

    def unfinished(self) -> list[str]:
        """What has not come out as it should, so far."""
        expected = {**{name: words for name, (_, words) in TALKS.items()}, AWAY: ANSWER}
        missing = [name for name, words in expected.items() if words not in self._last_answer(name)]
        if sum(output.type == "thread_closed" for output in self.said) < CHILDREN:
            missing.append("the threads below watch")
        if not any(output.type == "view_update" for output in self.said):
            missing.append("what view shows")
        if not any(letter.thread_id == self._thread(PARKED) for letter in self.parked):
            missing.append(PARKED)
        return [*missing, *{"choice", "sleep", "interrupted"}.difference(self.followed)]

    def is_at_work(self) -> bool:
        """Whether a function runs, or a message or a timer of these conversations is on its way."""
        return not self.only_waits() or bool(self._on_queues(*DEPTHS)) or self._thread("sleep") in self._schedules()

    def only_waits(self) -> bool:
        """Whether no function runs, and none will before some time has passed."""
        running = count_running(self.outside.stack.invocation_log_path)
        return not running and not self._on_queues("ApproximateNumberOfMessages")

    def _begin(self) -> None:
        for name, (text, _) in TALKS.items():
            self._say(name, text)
        self._say(AWAY, f"I am {self.outside.run}. [[script: {json.dumps(AWAY_AT_FIRST)}]]")
        self.outside.send(self._thread(PARKED), "This is not JSON.")

    def _go_on(self) -> None:
        """Do what comes next, where it is time for it."""
        self.said += [output for outputs in self.outside.outputs().values() for output in outputs]
        self.parked += self.outside.dead_letters()
        asked = next((output for output in self.said if output.type == "user_choice_required"), None)
        if asked is not None:
            self._once("choice", lambda: self._choose(asked.text_of("choice_id")))
        schedules = self._schedules()
        if self._thread("sleep") in schedules:
            self._once("sleep", self._have_timer_come_early)
        if self._thread("interrupted") in schedules:
            self._once("interrupted", lambda: self._say("interrupted", "Wake up."))

    def _once(self, name: str, follow: Callable[[], None]) -> None:
        if name not in self.followed:
            self.followed.add(name)
            follow()

    def _say(self, name: str, text: str) -> None:
        self.outside.send(self._thread(name), TextMessage(self._thread(name), text).body)

    def _choose(self, choice_id: str) -> None:
        thread_id = self._thread("choice")
        self.outside.send(thread_id, ChoiceAnswer(thread_id, choice_id, number=2).body)

    def _have_timer_come_early(self) -> None:
        self._sleepers.put_on_the_timer_queue(self._sleepers.timer_of(self._thread("sleep")))

    def _last_answer(self, name: str) -> str:
        entries = self.outside.history(self._thread(name))
        return next((entry.text for entry in reversed(entries) if entry.kind == "assistant"), "")

    def _thread(self, name: str) -> str:
        return f"{self.outside.run}-{name}"

    def _schedules(self) -> set[str]:
        return set(self._sleepers.schedules())

    def _on_queues(self, *depths: Depth) -> int:
        """Count the messages of both queues that functions are fed from, in these states."""
        target = self.outside.target
        urls = (target.input_queue_url, target.outputs["TimerQueueUrl"])
        asked = [target.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(depths)) for url in urls]
        return sum(int(number) for answer in asked for number in answer["Attributes"].values())

    @cached_property
    def _sleepers(self) -> Sleepers:
        return Sleepers(self.outside)
