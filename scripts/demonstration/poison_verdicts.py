"""Whether a message that ends processes took nobody with it, judged from evidence alone."""

import json
from collections.abc import Sequence

from runtime.phrases import WITHHELD_INPUT
from scripts.demonstration.poison_evidence import Case, Word, fate_of
from scripts.demonstration.verdicts import Check, Verdict, counted
from scripts.storming.aftermath import Losses, count_losses

DEATHS_BEFORE_WITHHOLDING = 5
DIED = "died"


def judge_poison(case: Case, poison: str) -> Verdict:
    guilty = [word for word in case.words if poison in word.words]
    innocents = [word for word in case.words if poison not in word.words]
    checks = [
        _all_in_one_batch(case),
        _withheld_alone(case, guilty),
        _deaths_were_counted(case, guilty, innocents),
        _said_so(case),
        _innocents_are_answered(case, innocents),
        _placeholder_alone_is_shown(case, poison),
        _nothing_is_left(case),
    ]
    rows = [
        {
            "conversation": word.name,
            "message": word.words,
            "receives": case.receives_of(word),
            "deaths": case.deaths_by_mark(word),
            "fate": fate_of(word, case),
        }
        for word in case.words
    ]
    return Verdict(checks, len({each.delivered_at for each in case.deliveries}), rows)


def _all_in_one_batch(case: Case) -> Check:
    """Of what was said at first; the last word of all comes when it is over."""
    first = case.deliveries[0].delivered_at if case.deliveries else None
    together = [each.message_id for each in case.deliveries if each.delivered_at == first]
    early = [word for word in case.words[:-1] if word.message_id in together]
    seen = f"{len(early)} of {counted(len(case.words) - 1, 'message')}"
    return Check("the queue gave all of them out together", len(early) == len(case.words) - 1 > 0, seen)


def _withheld_alone(case: Case, guilty: Sequence[Word]) -> Check:
    withheld = [entry for talk in case.talks.values() for entry in talk.entries if entry.withheld]
    kept = [entry.text for entry in withheld] == [word.words for word in guilty] and withheld[0].withheld == DIED
    told = ", ".join(f"{entry.text} ({entry.withheld})" for entry in withheld)
    return Check("the message that kills is withheld, and nothing else", kept, told or "nothing is withheld")


def _deaths_were_counted(case: Case, guilty: Sequence[Word], innocents: Sequence[Word]) -> Check:
    by_mark = [case.deaths_by_mark(word) for word in guilty]
    others = max((case.deaths_by_mark(word) for word in innocents), default=0)
    seen = f"{len(case.deaths)} deaths, {', '.join(map(str, by_mark))} by its mark, at most {others} by another's"
    kept = by_mark == [DEATHS_BEFORE_WITHHOLDING] and others < DEATHS_BEFORE_WITHHOLDING
    return Check(f"it was withheld after {DEATHS_BEFORE_WITHHOLDING} deaths by its mark", kept, seen)


def _said_so(case: Case) -> Check:
    errors = {
        name: [each.text_of("code") for each in talk.outputs if each.type == "error"]
        for name, talk in case.talks.items()
    }
    kept = errors.pop("poisoned", []) == [DIED] and not any(errors.values())
    seen = ", ".join(each.text_of("message") for each in case.talks["poisoned"].outputs if each.type == "error")
    return Check("whoever said it was told, once, and nobody else", kept, seen or "no error was sent")


def _innocents_are_answered(case: Case, innocents: Sequence[Word]) -> Check:
    losses = Losses()
    for name, talk in case.talks.items():
        said = [word.words for word in innocents if word.name == name]
        losses += count_losses(said, [entry for entry in talk.entries if not entry.withheld], talk.outputs)
    wrong = {name: getattr(losses, name) for name in losses.__slots__ if name not in ("texts", "answers")}
    told = ", ".join(f"{number} {name}" for name, number in wrong.items() if number)
    seen = f"{losses.texts} texts: {told}" if told else f"{losses.texts} texts, {losses.answers} answers"
    return Check("every innocent was answered once, in order", losses.none and losses.texts == len(innocents) > 0, seen)


def _placeholder_alone_is_shown(case: Case, poison: str) -> Check:
    """The last word comes after it was withheld, so its request holds whatever the model is shown of it."""
    requests = [json.dumps(request.messages) for request in case.requests]
    last = [request for request in requests if case.words[-1].words in request]
    seen = f"{sum(poison in request for request in requests)} of {counted(len(requests), 'request')} hold it"
    kept = bool(last) and WITHHELD_INPUT in last[-1] and not any(poison in request for request in requests)
    return Check("the next turn works, and shows the model the placeholder alone", kept, seen)


def _nothing_is_left(case: Case) -> Check:
    handled = sum(case.is_handled(word) for word in case.words)
    seen = f"{handled} of {counted(len(case.words), 'message')} handled, {case.dead_letters} on the dead-letter queue"
    kept = handled == len(case.words) and case.dead_letters == 0
    return Check("every message has been handled, and none is a dead letter", kept, seen)
