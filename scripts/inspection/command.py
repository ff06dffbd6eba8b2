"""`scripts/inspect`: see what a deployment's threads have done, and what they wait for. It changes nothing."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from runtime.errors import RuntimeProblem
from scripts.commands.files import writable_file
from scripts.commands.target import TargetError, add_target_options
from scripts.inspection.deployment import Deployment, add_database_options, opened
from scripts.inspection.page import page
from scripts.inspection.pending import PendingView, read_pending
from scripts.inspection.reading import Reader, StoredThread
from scripts.inspection.stores import read_beside
from scripts.inspection.text import Sheet
from scripts.inspection.views import ThreadView, TreeView, thread_view, tree_view
from scripts.inspection.words import counted

ENTRIES, THREADS, WAITS = 200, 200, 100
CHARACTERS = 200
_RIGHTS = (
    "On AWS it works under your own IAM identity, which needs cloudformation:DescribeStacks, dsql:DbConnectAdmin (with "
    "--database-user another than admin: dsql:DbConnect), dynamodb:Query and BatchGetItem, and sqs:GetQueueAttributes."
)


class UnknownThread(Exception):
    """There is no such thread. The message says so."""


def main(words: Sequence[str]) -> int:
    """Show what the words of the command line ask for. Returns the exit status."""
    arguments = parser().parse_args(words)
    try:
        with opened(arguments) as deployment:
            inspect(arguments, deployment, Console(highlight=False))
    except (TargetError, UnknownThread, RuntimeProblem, BotoCoreError, ClientError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def inspect(arguments: argparse.Namespace, deployment: Deployment, console: Console) -> None:
    """Read what is asked for and show it. Raises: UnknownThread; errors of the stores as they are."""
    sheet = Sheet(console, deployment.now_ms, arguments.chars)
    match arguments.what:
        case "thread" | "tree" if arguments.html is not None:
            _write_page(arguments, deployment)
        case "thread":
            thread = read_thread(deployment, arguments.thread, arguments.limit)
            _show_json(thread, console) if arguments.json else sheet.thread(thread)
        case "tree":
            tree = read_tree(deployment, arguments.thread, arguments.limit)
            _show_json(tree, console) if arguments.json else sheet.tree(tree)
        case _:
            pending = read_pending(deployment, arguments.limit)
            _show_json(pending, console) if arguments.json else sheet.pending(pending)


def _write_page(arguments: argparse.Namespace, deployment: Deployment) -> None:
    """Write the page of the thread and all below it. What `--limit` limits is what it limits without a page."""
    most_threads, most_entries = (
        (THREADS, arguments.limit) if arguments.what == "thread" else (arguments.limit, ENTRIES)
    )
    tree = read_tree(deployment, arguments.thread, most_threads)
    ids = [node.thread_id for node in tree.nodes]
    threads = read_threads(deployment, ids, most_entries)
    arguments.html.write_text(page(tree, threads, deployment.now_ms), encoding="utf-8")
    print(f"{counted(len(ids), 'thread')} shown in {arguments.html}")


def read_thread(deployment: Deployment, thread_id: str, entries: int) -> ThreadView:
    """Return the thread with its newest entries. Raises: UnknownThread."""
    found = read_threads(deployment, [thread_id], entries)
    if not found:
        raise _unknown(thread_id)
    return found[0]


def read_threads(deployment: Deployment, thread_ids: Sequence[str], entries: int) -> list[ThreadView]:
    """Return these threads, from one snapshot, each with what stands beside it a moment later."""
    stored = Reader(deployment).threads(thread_ids, entries)
    return [_with_beside(deployment, thread) for thread in stored]


def _with_beside(deployment: Deployment, thread: StoredThread) -> ThreadView:
    return thread_view(thread, read_beside(deployment, thread.row.thread_id, thread.consumed))


def read_tree(deployment: Deployment, thread_id: str, limit: int) -> TreeView:
    """Return the thread and those below it. Raises: UnknownThread."""
    reader = Reader(deployment)
    threads = reader.threads(reader.ids_below(thread_id, limit + 1), entries=1)
    if not threads:
        raise _unknown(thread_id)
    return tree_view(threads, limit)


def _unknown(thread_id: str) -> UnknownThread:
    return UnknownThread(f"there is no thread {thread_id!r}; one begins when its first message is handled")


def _show_json(view: ThreadView | TreeView | PendingView, console: Console) -> None:
    # In ASCII: what a terminal would obey is escaped.
    print(json.dumps(asdict(view), indent=2), file=console.file)


def parser() -> argparse.ArgumentParser:
    """Return what reads the words of the command line."""
    asked = argparse.ArgumentParser(
        prog="scripts/inspect",
        description="See what threads of a deployment have done and what they wait for. Reads only; shows contents.",
        epilog=_RIGHTS,
    )
    shown = asked.add_subparsers(dest="what", required=True, metavar="thread|tree|pending")
    thread = shown.add_parser("thread", help="one thread: its timeline, calls, commits, tokens")
    thread.add_argument("thread", metavar="T")
    tree = shown.add_parser("tree", help="a thread and all below it: what each does or waits for")
    tree.add_argument("thread", metavar="ROOT")
    pending = shown.add_parser("pending", help="who waits for what in the whole deployment, the oldest first")
    for each, limit, what in ((thread, ENTRIES, "entries"), (tree, THREADS, "threads"), (pending, WAITS, "waits")):
        each.add_argument("--limit", type=_count, default=limit, metavar="N", help=f"at most N {what} ({limit})")
        each.add_argument(
            "--chars", type=_count, default=CHARACTERS, metavar="N", help="at most N characters of each text (200)"
        )
        form = each.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="as JSON, with whole texts")
        if each is not pending:
            page_help = "write it and all below it as a page, with tree and timelines"
            form.add_argument("--html", type=writable_file, metavar="FILE", help=page_help)
        add_target_options(each)
        add_database_options(each)
    return asked


def _count(word: str) -> int:
    count = int(word)
    if count < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return count
