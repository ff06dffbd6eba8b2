"""What must hold of every conversation with more than one thread, judged from evidence alone."""

from collections import Counter
from collections.abc import Sequence

from scripts.commands.outputs import Output
from scripts.demonstration.families import Family, Member
from scripts.demonstration.verdicts import Check, counted


def every_word_arrived_once_in_order(family: Family) -> Check:
    """What children told their parents, by their own histories, against what their parents' histories hold."""
    children = [each for each in family.members if each.depth]
    wrong = [each.thread_id for each in children if family.heard_from(each) != each.words_to_parent()]
    words = sum(len(each.words_to_parent()) for each in children)
    seen = f"{counted(words, 'report')} of {counted(len(children), 'thread')}"
    promise = "every report reached its parent once, in the order of its thread"
    return Check(promise, words > 0 and not wrong, f"{seen}; wrong: {', '.join(wrong)}" if wrong else seen)


def answers_were_sent_once(family: Family, outputs: Sequence[Output]) -> Check:
    """In each thread, what is stored against what was sent; and no output of any type came under two ids' bodies."""
    wrong = [each.thread_id for each in family.members if each.answers != each.texts]
    times = Counter(output.id for output in outputs)
    stored = sum(len(each.answers) for each in family.members)
    again = sum(count > 1 for count in times.values())
    seen = f"{counted(stored, 'answer')}, {counted(len(times), 'output')}, {again} came again"
    promise = "every stored answer of every thread was sent once, in order"
    return Check(
        promise, stored > 0 and not wrong and not again, f"{seen}; wrong: {', '.join(wrong)}" if wrong else seen
    )


def positions_are_dense(family: Family) -> Check:
    """Of each thread's own entries, wherever they begin."""
    wrong = [each.thread_id for each in family.members if not _is_dense(each)]
    promise = "every history is one line without gaps"
    return Check(promise, not wrong, ", ".join(wrong) or counted(len(family.members), "thread"))


def _is_dense(member: Member) -> bool:
    positions = [entry.position for entry in member.entries]
    return bool(positions) and positions == list(range(positions[0], positions[0] + len(positions)))
