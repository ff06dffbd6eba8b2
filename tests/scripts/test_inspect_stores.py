"""What scripts/inspect reads: rows that real slices wrote, under the rules of the real database."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from rich.console import Console

from runtime.adapters.aws.dsql_connection import Statement
from runtime.adapters.aws.dynamodb import DynamoReceipts
from runtime.adapters.aws.dynamodb_choices import DynamoChoices, DynamoViews
from runtime.errors import RetryableError
from runtime.identity import call_id_at, child_id
from runtime.local import LocalCall
from runtime.model.choices import View
from runtime.model.threads import GaveUp
from runtime.model.turns import Completion, ModelRequest
from scripts.commands.target import Target
from scripts.inspection.command import UnknownThread, inspect, parser, read_thread, read_tree
from scripts.inspection.deployment import Deployment
from scripts.inspection.pending import read_pending
from tests.conformance.family_steps import committed
from tests.support.clients import create_fifo_queue, create_state_table, dynamodb_client, sqs_client
from tests.support.dsql import connection_to, history_on, migrated
from tests.support.history_values import NOTHING_ELSE, call, commit_to, said
from tests.support.services import DsnFactory
from tests.support.values import calls, says
from tests.support.world import World

CHILD = child_id("t", call_id_at("t", 2))
HOSTILE = "\x1b[2J<script>alert(1)</script>"
ENTRIES = 100


class Story:
    """A conversation with a child that builds, a subscription, and a tool that asks its user."""

    def __init__(self, dsn: str, aws_endpoint: str) -> None:
        self.world = World(self._answer, ["run_build", "watch", "paint"])
        self.world.on_call = self._tool
        self._root = [
            calls("spawn_thread", {"instructions": "Build it.", "child_of": ["t"]}),
            says("It is being built."),
            calls("watch", {"door": "front"}),
            says("I watch."),
            calls("paint", text="I ask you."),
            says("Still there."),
        ]
        dynamodb, sqs = dynamodb_client(aws_endpoint), sqs_client(aws_endpoint)
        table = create_state_table(dynamodb)
        self.views = DynamoViews(dynamodb, table)
        self.dsn = dsn
        self.connection = connection_to(dsn)
        self.world.put_in(
            history=history_on(self.connection),
            receipts=DynamoReceipts(dynamodb, table, self.world.clock, 60),
            choices=DynamoChoices(dynamodb, table),
        )
        outputs = {"StateTableName": table, "InputDeadLetterQueueUrl": create_fifo_queue(sqs)}
        self._stores = Deployment(Target(sqs, outputs), connection_to(dsn), "infinity", dynamodb, 0)

    @property
    def stores(self) -> Deployment:
        kept = self._stores
        return Deployment(kept.target, kept.connection, kept.schema, kept.dynamodb, self.world.clock.now_ms())

    def say(self, text: str, message_id: str) -> None:
        self.world.say(text, message_id)
        self.world.settle()
        self.world.clock.advance(60)

    def close(self) -> None:
        self.connection.close()
        self._stores.connection.close()

    def _answer(self, request: ModelRequest) -> Completion:
        if "Its task is yours" in str(request.messages):
            return calls("run_build", {"seconds": 5})
        return self._root.pop(0)

    def _tool(self, call: LocalCall) -> None:
        if "door" in call.arguments:
            call.subscribe("Watching.")
        elif "seconds" not in call.arguments:
            call.ask("Which colour?", ["red", "blue"], lambda _: None)


@pytest.fixture(scope="module")
def story(fresh_dsn: DsnFactory, aws_endpoint: str) -> Iterator[Story]:
    told = Story(migrated(fresh_dsn()), aws_endpoint)
    told.say(HOSTILE, "first")
    told.say("Watch the front door.", "second")
    told.say("Paint it.", "third")
    told.say("Are you there?", "fourth")
    told.views.put(View("t", "board", {"rows": [1]}, told.world.clock.now_ms()))
    yield told
    told.close()


def test_a_thread_is_read_as_its_slices_wrote_it(story: Story) -> None:
    view = read_thread(story.stores, "t", ENTRIES)
    assert [moment.who for moment in view.moments][:4] == ["user", "calls", "result", "agent"]
    assert (view.moments[0].text, view.moments[0].version) == (HOSTILE, 1)
    assert (view.head, view.performed, view.earlier_entries) == (14, 14, 0)
    assert [(call.name, call.state) for call in view.calls] == [
        ("spawn_thread", "answered"),
        ("watch", "subscribed"),
        ("paint", "detached"),
    ]
    assert view.commits[0].messages == ("text user:first",)
    assert {commit.handled for commit in view.commits} == {True}
    assert [choice.prompt for choice in view.choices] == ["Which colour?"]
    assert [(shown.view_type, shown.content) for shown in view.views] == [("board", '{"rows": [1]}')]
    assert (view.node.completions, view.node.tokens.total_tokens) == (6, 6 * 15)


def test_a_long_thread_is_read_from_its_end(story: Story) -> None:
    view = read_thread(story.stores, "t", 2)
    assert [moment.position for moment in view.moments] == [13, 14]
    assert (view.earlier_entries, view.node.completions) == (12, 6)
    assert [call.state for call in view.calls] == ["subscribed", "detached"]  # what is older may still be heard of


def test_a_tree_says_what_each_of_its_threads_waits_for(story: Story) -> None:
    tree = read_tree(story.stores, "t", limit=10)
    assert [(node.thread_id, node.state.kind, node.task) for node in tree.nodes] == [
        ("t", "idle", ""),
        (CHILD, "waits_for_tool", "Build it."),
    ]
    assert (tree.tokens.total_tokens, tree.is_cut) == (7 * 15, False)
    assert [node.thread_id for node in read_tree(story.stores, CHILD, limit=10).nodes] == [CHILD]
    assert read_tree(story.stores, "t", limit=1).is_cut


def test_everything_that_is_waited_for_is_found_oldest_first(story: Story) -> None:
    found = read_pending(story.stores, limit=10)
    assert [(wait.kind, wait.thread_id) for wait in found.waits] == [
        ("tool", CHILD),
        ("subscription", "t"),
        ("detached tool", "t"),
        ("choice", "t"),
    ]
    assert [(queue.name, queue.holds_given_up) for queue in found.queues] == [("InputDeadLetterQueueUrl", False)]
    assert [wait.kind for wait in read_pending(story.stores, limit=1).waits] == ["tool"]


def test_a_thread_that_nobody_answered_is_found_and_one_that_closed_is_not(
    fresh_dsn: DsnFactory, aws_endpoint: str
) -> None:
    story = Story(migrated(fresh_dsn()), aws_endpoint)
    history = history_on(story.connection)
    committed(history, commit_to(history.load("asks", NOTHING_ELSE), said(1)))
    told = commit_to(history.load("gave up", NOTHING_ELSE), said(1, created_ms=1_800_000_000_001))
    committed(history, replace(told, row=replace(told.row, gave_up=GaveUp("user:1", "busy", "", 1, 9))))
    ended = commit_to(history.load("closed", NOTHING_ELSE), said(1), calls=(call("c"),))
    committed(history, replace(ended, row=replace(ended.row, closed=True)))
    found = read_pending(story.stores, limit=10)
    assert [(wait.kind, wait.thread_id, wait.due_ms) for wait in found.waits] == [
        ("asks the model", "asks", None),
        ("gave up", "gave up", 9),
    ]
    story.close()


def test_an_entry_of_a_newer_version_hides_none_of_the_others(fresh_dsn: DsnFactory, aws_endpoint: str) -> None:
    story = Story(migrated(fresh_dsn()), aws_endpoint)
    story.say("hello", "first")
    with psycopg.connect(story.dsn, autocommit=True) as connection:
        connection.execute("UPDATE infinity.entries SET kind = 'of_tomorrow' WHERE thread_id = 't' AND position = 1")
    moments = read_thread(story.stores, "t", ENTRIES).moments
    assert "cannot be read" in moments[0].text
    assert moments[1].who == "calls"
    story.close()


def test_nothing_that_is_asked_writes(story: Story) -> None:
    connection = story.stores.connection
    with pytest.raises(RetryableError):
        connection.read([Statement("UPDATE infinity.threads SET version = 0")])


@pytest.mark.parametrize("read", [read_thread, read_tree])
def test_a_thread_that_does_not_exist_is_said_to_be_none(story: Story, read: Callable[..., object]) -> None:
    with pytest.raises(UnknownThread, match="no thread 'nobody'"):
        read(story.stores, "nobody", 10)


@pytest.mark.parametrize("words", [["thread", "t"], ["tree", "t"], ["pending"]])
def test_what_is_shown_holds_no_escape_of_anybody_and_its_json_the_whole_text(story: Story, words: list[str]) -> None:
    for options in ([], ["--json"]):
        shown = io.StringIO()
        console = Console(file=shown, width=200, force_terminal=True, color_system=None)
        inspect(parser().parse_args([*words, *options]), story.stores, console)
        assert "\x1b" not in shown.getvalue()
    assert words[0] != "thread" or json.loads(shown.getvalue())["moments"][0]["text"] == HOSTILE


def test_the_page_holds_the_tree_with_all_its_timelines(story: Story, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    inspect(parser().parse_args(["tree", "t", "--html", str(file)]), story.stores, Console(file=io.StringIO()))
    written = file.read_text(encoding="utf-8")
    assert [word for word in (CHILD, "Watch the front door.", "&lt;script&gt;") if word not in written] == []
    assert "<script" not in written
