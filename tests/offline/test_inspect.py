"""scripts/inspect on a real deployment: what a root and its child did, and what is waited for meanwhile."""

import io
import json
import uuid
from pathlib import Path

from rich.console import Console

from scripts.commands.messages import TextMessage, send
from scripts.commands.target import Target
from scripts.inspection.command import inspect, parser, read_thread, read_tree
from scripts.inspection.deployment import closing_stores, offline_stores
from scripts.offline_stack.stack import OfflineStack
from tests.offline.conversations import wait_for_answers

TASK = "Please build for 2 seconds."


def test_a_deployment_shows_what_a_root_and_its_child_did(stack: OfflineStack, target: Target, tmp_path: Path) -> None:
    root = f"inspected-{uuid.uuid4().hex[:8]}"
    spawn = {"call": "spawn_thread", "input": {"instructions": TASK, "child_of": [root], "inherit_context": False}}
    send(target.sqs, target.input_queue_url, TextMessage(root, f"Have it built. [[script: [{json.dumps(spawn)}]]]"))
    wait_for_answers(stack, {root: 2})  # that it began, and what its report says

    with closing_stores(offline_stores(stack)) as stores:
        tree = read_tree(stores, root, limit=10)
        child = read_thread(stores, tree.nodes[1].thread_id, entries=100)
        shown = io.StringIO()
        inspect(parser().parse_args(["pending", "--limit", "1000"]), stores, Console(file=shown))
        pages = [tmp_path / f"{what}.html" for what in ("thread", "tree")]
        for page in pages:
            inspect(parser().parse_args([page.stem, root, "--html", str(page)]), stores, Console(file=shown))

    assert [(node.kind, node.state.kind) for node in tree.nodes] == [("root", "idle"), ("spawned", "idle")]
    assert tree.nodes[1].task == TASK
    assert [(call.name, call.state) for call in child.calls if call.name == "run_build"] == [("run_build", "answered")]
    (build,) = [call for call in child.calls if call.name == "run_build"]
    assert build.answered_ms is not None
    assert build.answered_ms - build.since_ms >= 2_000
    assert child.performed == child.head
    assert root not in shown.getvalue()
    assert "InputDeadLetterQueue" in shown.getvalue()
    for page in pages:
        assert [text in page.read_text() for text in (root, tree.nodes[1].thread_id, TASK)] == [True] * 3
