"""Whether an outage of the model cost nothing but time, judged from evidence alone."""

from scripts.demonstration.outage_evidence import Fate, Outage, fates
from scripts.demonstration.verdicts import Check, Verdict, counted
from scripts.storming.aftermath import Losses, count_losses

PATIENCE_RECEIVES = 7
BUILD_HISTORY = ["user", "tool_call", "tool_result", "assistant"]


def judge_outage(outage: Outage) -> Verdict:
    found = fates(outage)
    losses = _losses(outage)
    checks = [
        _nothing_was_answered_in_it(outage),
        _each_went_on_by_itself(outage, found),
        _both_ways_back(found),
        _texts_are_stored(losses),
        _texts_are_answered(losses),
        _build_is_answered(outage),
        _patience_ended_at(outage, found),
        _every_wake_came(outage),
        _nothing_withheld(outage),
        _no_dead_letter(outage),
    ]
    return Verdict(checks, len(outage.deliveries), [fate.row(outage.gone_at) for fate in found])


def _losses(outage: Outage) -> Losses:
    """Of the conversations of texts alone; a build's is judged by its history."""
    counts = [
        count_losses([said.words for said in outage.said if said.name == name], talk.plain_entries, talk.outputs)
        for name, talk in outage.talks.items()
        if not talk.calls
    ]
    return sum(counts, Losses())


def _nothing_was_answered_in_it(outage: Outage) -> Check:
    texts = [output for talk in outage.talks.values() for output in talk.outputs if output.type == "text"]
    early = [output for output in texts if output.sent_at < outage.back_at]
    minutes = (outage.back_at - outage.gone_at) / 60
    seen = f"{counted(len(early), 'answer')} in {minutes:.0f} minutes, {len(texts)} after them"
    return Check("the model was away, and nothing was answered meanwhile", bool(texts) and not early, seen)


def _each_went_on_by_itself(outage: Outage, found: list[Fate]) -> Check:
    last_word = max((said.at for said in outage.said), default=0)
    late = [
        fate for fate in found if fate.answered_at is not None and fate.answered_at > max(last_word, outage.back_at)
    ]
    quiet = len({fate.name for fate in late})
    kept = bool(found) and quiet == len(outage.talks) and len(late) == len(found)
    return Check(
        "every conversation went on when the model was back, and nobody had said anything",
        kept,
        f"{quiet} of {counted(len(outage.talks), 'conversation')}",
    )


def _both_ways_back(found: list[Fate]) -> Check:
    ways = [fate.answered_by for fate in found]
    seen = ", ".join(f"{ways.count(way)} by {way}" for way in sorted(set(ways)))
    kept = set(ways) == {"the queue's return", "a wake timer"}
    return Check("what was young came back by the queue, what was old by a wake timer", kept, seen or "nothing came")


def _texts_are_stored(losses: Losses) -> Check:
    seen = f"{losses.texts} texts, {losses.lost} lost, {losses.doubled} doubled, {losses.out_of_order} out of order"
    kept = losses.texts > 0 and not (losses.lost or losses.doubled or losses.out_of_order or losses.strange)
    return Check("every text is in its history, once, in order", kept, seen)


def _texts_are_answered(losses: Losses) -> Check:
    wrong = losses.unanswered, losses.answered_twice, losses.unsent
    seen = "{} unanswered, {} answered twice, {} answers not sent as stored".format(*wrong)
    return Check("every text was answered exactly once", losses.texts > 0 and not any(wrong), seen)


def _build_is_answered(outage: Outage) -> Check:
    talks = [talk for talk in outage.talks.values() if talk.calls]
    histories = [[entry.kind for entry in talk.entries] for talk in talks]
    states = [call.state for talk in talks for call in talk.calls]
    kept = histories == [BUILD_HISTORY] and states == ["answered"]
    seen = "; ".join(" ".join(history) for history in histories)
    return Check("the result that came in the outage was answered exactly once", kept, seen or "no build")


def _patience_ended_at(outage: Outage, found: list[Fate]) -> Check:
    """What a conversation commits at once was received as often as the oldest part of it."""
    commits: dict[tuple[str, float], int] = {}
    for fate in found:
        if fate.committed_at is not None and fate.committed_at < outage.back_at:
            commit = fate.name, fate.committed_at
            commits[commit] = max(commits.get(commit, 0), fate.receives)
    at = ", ".join(str(receives) for receives in sorted(set(commits.values())))
    return Check(
        f"what was not to be answered was committed at receive {PATIENCE_RECEIVES}",
        set(commits.values()) == {PATIENCE_RECEIVES},
        f"{counted(len(commits), 'commit')} at receive {at}",
    )


def _every_wake_came(outage: Outage) -> Check:
    """Each give-up says so once and starts one timer. Its wake is consumed, unless all has been answered by then."""
    given_up = sum(not each.fields["retrying"] for talk in outage.talks.values() for each in talk.errors)
    consumed = sum(talk.wakes for talk in outage.talks.values())
    late = sum(outage.came_late(name) for name in outage.talks)
    seen = f"{given_up} set, {consumed} consumed, {late} found nothing to do, {outage.timers_left} left"
    kept = 0 < given_up == consumed + late and not outage.timers_left
    return Check("every wake timer that was set came, and none was swallowed", kept, seen)


def _nothing_withheld(outage: Outage) -> Check:
    entries = [entry for talk in outage.talks.values() for entry in talk.entries]
    withheld = sum(entry.withheld is not None for entry in entries)
    return Check("nothing is withheld from the model", bool(entries) and not withheld, f"{withheld} entries")


def _no_dead_letter(outage: Outage) -> Check:
    return Check("nothing went to the dead-letter queue", outage.dead_letters == 0, f"{outage.dead_letters} messages")
