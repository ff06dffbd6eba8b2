"""Everything that became visible outside the processes, and the promises it must keep at every step."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from runtime.identity import wake_message_id
from runtime.model.choices import Choice
from runtime.model.entries import AssistantText, Closed, Event, ToolCall, UserText
from runtime.model.messages import EventContent, Message, MessageKey, TextContent
from runtime.model.outputs import OUTPUTS_PER_ENTRY, Output
from runtime.model.threads import Commit
from runtime.own_messages import last_word_of
from runtime.ports import Timer
from runtime.settings import Settings
from scripts.simulation.births import born
from scripts.simulation.conversation import Conversation
from scripts.simulation.timing import timer_owed
from scripts.simulation.violation import require
from scripts.simulation.words import Subject, bounced, types_of, words_of

_MANY = 50  # so many subscriptions, or children, no run comes to


class Ledger:
    """What is said to be there is what was acknowledged, thread by thread; `conversations` are in order of birth."""

    def __init__(self, settings: Settings, met: Counter[str]) -> None:
        self._settings = settings
        self._met = met
        self.conversations: dict[str, Conversation] = {}
        self.messages: dict[Subject, Message] = {}  # by thread, in the order in which they were first accepted
        self.outputs: dict[str, Output] = {}
        self.errors: set[tuple[str, str]] = set()
        self.handed_over: set[str] = set()
        self.timers: dict[str, Timer] = {}
        self.stopped: set[str] = set()  # names of timers
        self.choices: dict[str, Choice] = {}
        self.redriven: set[Subject] = set()
        self.receipts: set[Subject] = set()
        self._types: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        self._out: dict[str, int] = {}

    def conversation(self, thread_id: str) -> Conversation:
        return self.conversations.setdefault(thread_id, Conversation(thread_id, self._settings))

    def stack(self, thread_id: str) -> list[Conversation]:
        """Return the conversation and its ancestors, root first."""
        own = self.conversation(thread_id)
        return [*(self.conversation(part.thread_id) for part in own.birth.lineage), own]

    @property
    def shown_choices(self) -> list[Choice]:
        outputs = [output for output in self.outputs.values() if output.type == "user_choice_required"]
        return [self.choices[output.fields["choice_id"]] for output in outputs]

    def open_children(self, conversation: Conversation) -> list[Conversation]:
        children = [self.conversations[thread_id] for thread_id in conversation.children]
        return [child for child in children if not child.closed]

    def accepted(self, message: Message) -> None:
        self.messages.setdefault((message.thread_id, message.key), message)

    def committed(self, commit: Commit) -> None:
        conversation = self.conversation(commit.row.thread_id)
        given_up = conversation.gave_up.get(conversation.version)
        if given_up is not None and conversation.birth.kind != "compaction":
            said = (conversation.thread_id, given_up.code) in self.errors
            require(said, "what was given up is said before anything else is done", f"{commit.row.thread_id}")
        subjects = [(conversation.thread_id, key) for key in commit.consumed]
        strange = [key for key in subjects if key not in self.messages]
        require(not strange, "only what was sent is consumed, under its own name", f"{strange}")
        self._check_summary(conversation, commit)
        conversation.add(commit, [self.messages[subject] for subject in subjects])
        for new in commit.created:
            require(new.row.thread_id not in self.conversations, "a thread begins once", new.row.thread_id)
            self.conversations[new.row.thread_id] = born(new, conversation, self._settings)
            self._met[f"{new.row.birth.kind}_began_at_depth_{len(new.row.birth.lineage)}"] += 1
            if new.row.birth.kind != "compaction":
                conversation.children.append(new.row.thread_id)
        if commit.created:
            count = len(self.open_children(conversation))
            at = f"{conversation.thread_id}: {count}"
            require(count <= self._settings.live_children, "a thread has only so many open children", at)
        if conversation.closed:
            self._met[f"{conversation.birth.kind}_closed"] += 1
            self._check_last_words(conversation, commit)
            self._close_below(conversation)
        self._count(commit)

    def _check_last_words(self, conversation: Conversation, commit: Commit) -> None:
        """Check that a thread which is over, because nothing runs for it, has heard everything that closed below it."""
        wants_to = any(isinstance(getattr(entry.body, "deed", None), Closed) for entry in commit.entries)
        if conversation.birth.kind != "event" or wants_to:
            return
        closed = [each for each in conversation.children if self.conversations[each].closed]
        unheard = [each for each in closed if last_word_of(each) not in conversation.consumed]
        require(not unheard, "no last word comes to a thread that is over", f"{conversation.thread_id}: {unheard}")

    def _count(self, commit: Commit) -> None:
        """Count what is worth seeing met."""
        sources = [entry.body.source for entry in commit.entries if isinstance(entry.body, Event)]
        self._met.update(f"event_of_{source}" for source in sources)
        self._met.update(f"call_{call.state}" for call in commit.calls)
        if commit.row.compaction is not None and commit.row.compaction.failed_at is not None:
            self._met["compaction_failed"] += 1
        if commit.frozen_state is not None:
            self._met["summary_in_use"] += 1

    def _check_summary(self, conversation: Conversation, commit: Commit) -> None:
        """Check that what a compaction has written comes into use when its end is heard of, and only then."""
        mark, before = conversation.compaction, conversation.summary
        ended = mark and MessageKey("compaction_complete", f"compacted:{mark.thread_id}") in commit.consumed
        written = self.conversations[mark.thread_id].written if mark and ended else None
        expected = written.ref if written else before
        at = f"{conversation.thread_id}: {commit.row.summary}, not {expected}"
        require(commit.row.summary == expected, "a summary comes into use once it is written", at)

    def _close_below(self, conversation: Conversation) -> None:
        for child in self.conversations.values():
            below = conversation.thread_id in [part.thread_id for part in child.birth.lineage]
            if below and not child.closed:
                self._met["closed_with_ancestor"] += 1
                child.close_with_ancestor()

    def said(self, output: Output) -> None:
        # Its metadata is that of the time of sending: a slice that was overtaken repeats it with newer one.
        known = self.outputs.setdefault(output.output_id, output)
        at = f"{output.thread_id}: {known.type} {known.fields}, then {output.type} {output.fields}"
        is_same = (known.type, known.seq, known.fields) == (output.type, output.seq, output.fields)
        require(is_same, "an output has one body", at)
        if output.type == "user_choice_required":
            require(output.fields["choice_id"] in self.choices, "a choice is kept before it is shown", at)
        if output.seq is None:
            if output.type == "error" and not output.fields["retrying"]:
                self.errors.add((output.thread_id, output.fields["code"]))
            return
        position = output.seq // OUTPUTS_PER_ENTRY
        conversation = self.conversation(output.thread_id)
        require(position <= conversation.head, "only what is stored is said", at)
        own = position > conversation.birth.inherited and conversation.birth.kind != "compaction"
        require(own, "what is inherited, or a summary, is not said", at)
        body = conversation.entry(position).body
        if output.type == "text":
            is_said = isinstance(body, AssistantText) and body.text == output.fields["text"]
            require(is_said, "only what is stored is said", f"{output.thread_id} {position}: {output.fields}")
        self._types[(output.thread_id, position)].add(output.type)

    def completed(self, thread_id: str, choice_id: str) -> None:
        """Check that everybody has been told before the choice is kept as completed."""
        known = [each for each in self.outputs.values() if each.type == "user_choice_complete"]
        said = any(each.fields["choice_id"] == choice_id for each in known)
        require(said, "that a choice is over is said before it is kept", f"{thread_id} {choice_id}")

    def receipted(self, thread_id: str, handled: Sequence[Message], performed: int) -> None:
        """Check that everything is out that this says is out."""
        conversation = self.conversation(thread_id)
        require(performed <= conversation.head, "effects are performed of what is stored", f"{thread_id} {performed}")
        for message in handled:
            version, head = conversation.consumed.get(message.key, (0, 0))
            if not self._comes_back(conversation, version, handled):
                performed = max(performed, head)
            if version == 0:
                at = f"{thread_id} {message.key}"
                require(self._may_drop(conversation, message), "no message is receipted before it is consumed", at)
                require(bounced(message, conversation, self.messages), "what a closed thread is told comes back", at)
            self._require_said_that_it_gave_up(conversation, version)
            self.receipts.add((thread_id, message.key))
        for position in range(self._out.get(thread_id, conversation.birth.inherited) + 1, performed + 1):
            owed = self.owed(conversation, position)
            require(
                not owed, "no receipt, and no `performed`, while an effect is owed", f"{thread_id} {position}: {owed}"
            )
            self._out[thread_id] = position

    def _may_drop(self, conversation: Conversation, message: Message) -> bool:
        if conversation.closed:
            return True
        if not conversation.entries:
            return not isinstance(message.content, TextContent)
        content, scarce = message.content, self._settings.live_subscriptions < _MANY
        if scarce and isinstance(content, EventContent):  # there may have been too many when it was looked at
            return conversation.calls[content.call_id].state != "subscribed"
        return not conversation.expects().changes(message)

    def _comes_back(self, conversation: Conversation, version: int, handled: Sequence[Message]) -> bool:
        """Return whether a message that this version consumed, too, will bring somebody to perform what it owes.

        A slice that saw an older thread, and nothing to do for one of them, may receipt that one in between.
        """
        done = {message.key for message in handled}
        together = [key for key, (consumed, _) in conversation.consumed.items() if consumed == version and version]
        return any(key not in done and (conversation.thread_id, key) not in self.receipts for key in together)

    def _require_said_that_it_gave_up(self, conversation: Conversation, version: int) -> None:
        given_up = conversation.gave_up.get(version)
        if given_up is None or conversation.birth.kind == "compaction":
            return
        said = (conversation.thread_id, given_up.code) in self.errors
        require(said, "who gives up says so before the receipt", f"{conversation.thread_id} {given_up.code}")
        if given_up.wake_due_ms is not None:
            wake = MessageKey("wake", wake_message_id(conversation.thread_id, version))
            started = any(timer.message.key == wake for timer in self.timers.values())
            started = started or (conversation.thread_id, wake) in self.messages
            require(started, "who gives up is woken again", f"{conversation.thread_id} {wake}")

    def owed(self, conversation: Conversation, position: int) -> str | None:
        """Return what is not out of the entry at this position."""
        entry = conversation.entry(position)
        missing = types_of(entry, conversation) - self._types[(conversation.thread_id, position)]
        if missing:
            return f"outputs {sorted(missing)}"
        unsaid = [subject for subject in words_of(entry, conversation) if subject not in self.messages]
        if unsaid:
            return f"word of {unsaid}"
        body = entry.body
        untimed = timer_owed(body, conversation, self.timers, self.stopped, self.messages)
        if untimed:
            return untimed
        if not isinstance(body, ToolCall) or body.call_id in self.handed_over:
            return None
        call = conversation.calls.get(body.call_id)
        told = MessageKey("undelivered", f"undelivered:{body.call_id}")
        if call is None or call.target.toolset is None or (conversation.thread_id, told) in self.messages:
            return None
        return f"the hand-over of {body.call_id}" if call.state in ("pending", "detached") else None

    def texts(self, thread_id: str) -> list[str]:
        """Return the ids of people's messages in the order the queue took them, those put back by hand left out."""
        return [
            key.message_id
            for (group, key), message in self.messages.items()
            if group == thread_id and isinstance(message.content, TextContent) and (group, key) not in self.redriven
        ]


def causes(conversation: Conversation) -> list[str]:
    """Return the ids of people's messages in the order of history."""
    bodies = [entry.body for entry in conversation.entries]
    return [body.cause for body in bodies if isinstance(body, UserText) and body.cause is not None]
