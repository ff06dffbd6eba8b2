"""Carries a plan out: sends what is due, and reads what comes, until all is answered or nothing comes any more."""

import queue
import statistics
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeAlias

from botocore.exceptions import BotoCoreError, ClientError

from runtime.adapters.aws.sqs import BATCH_LIMIT, Outgoing, send_batch
from runtime.errors import Misconfigured, RetryableError
from scripts.commands.outputs import Output, OutputReader
from scripts.commands.target import Target
from scripts.load_testing.ledger import Ledger
from scripts.load_testing.plan import Saying, due, is_finished
from scripts.load_testing.sites import Site

PAUSE_S = 0.02
# Until a first answer says how long one takes, a message is left at work for so long before the next interrupts it.
FIRST_LEAD_S = 0.2
TRIES = 6
BACK_OFF_S = 0.2

# What a reader found and when, or what ended it.
Found: TypeAlias = tuple[Sequence[Output], float] | Exception


class LoadError(Exception):
    """The test cannot go on. The message says why; what was measured until then stands in the ledger."""


def drive(ledger: Ledger, site: Site, patience_s: float, on_progress: Callable[[], None]) -> None:
    """Say all of the plan and take what is answered, until nothing is left or nothing came for `patience_s`.

    Everything is in the ledger, also when this is interrupted or raises.

    Raises:
        LoadError: the queues refuse us.

    """
    with _readers(ledger.plan.thread_ids, site) as found:
        last_news_at = site.now()
        while not is_finished(ledger.plan, ledger.progress) and site.now() - last_news_at < patience_s:
            took, sent = _take_all(found, ledger), _send_what_is_due(ledger, site)
            if took or sent:
                last_news_at = site.now()
                on_progress()
        site.settle()
        while _take(found, ledger, site.pace.quiet_s):  # a second answer would come late
            on_progress()


def _send_what_is_due(ledger: Ledger, site: Site) -> bool:
    """Send what is due, and return whether anything was."""
    sayings = due(ledger.plan, ledger.progress, site.now() - ledger.began_at, _lead_s(ledger))
    for start in range(0, len(sayings), BATCH_LIMIT):
        _send(sayings[start : start + BATCH_LIMIT], ledger, site)
    return bool(sayings)


def _lead_s(ledger: Ledger) -> float:
    """Half of what an answer takes, so that the next message finds the one before at work."""
    if not ledger.plan.interrupts:
        return 0.0
    took_s = [fate.done_at - fate.sent_at for fate in ledger.fates if fate.done_at is not None]
    return statistics.median(took_s) / 2 if took_s else FIRST_LEAD_S


def _send(sayings: Sequence[Saying], ledger: Ledger, site: Site) -> None:
    """Send one batch. What SQS does not take is sent again under the same ids, so that nothing is said twice."""
    sent_at = site.now()
    rest = list(sayings)
    for attempt in range(TRIES):
        refused = _refused(rest, site.target)
        ledger.note_sent([saying for place, saying in enumerate(rest) if place not in refused], sent_at)
        rest = [rest[place] for place in sorted(refused)]
        if not rest:
            return
        ledger.throttles += 1
        site.rest(BACK_OFF_S * 2**attempt)
    raise LoadError(
        f"SQS did not take {len(rest)} messages in {TRIES} tries: the account is throttled, or SQS is not to be"
        " reached; try again with fewer threads or a lower --rate"
    )


def _refused(sayings: Sequence[Saying], target: Target) -> set[int]:
    """Send, and return the places of those that may be sent again. Raises: LoadError for what no repeat helps."""
    messages = [saying.message for saying in sayings]
    outgoing = [Outgoing(each.body, each.thread_id, each.deduplication_id) for each in messages]
    try:
        failed = send_batch(target.sqs, target.input_queue_url, outgoing)
    except Misconfigured as error:
        raise LoadError(f"{error}: may you send to {target.input_queue_url}?") from error
    except RetryableError:
        return set(range(len(sayings)))
    for entry in failed.values():
        if entry["SenderFault"]:
            raise LoadError(f"SQS refused a message with {entry['Code']}: {entry.get('Message', '')}")
    return set(failed)


def _take_all(found: "queue.SimpleQueue[Found]", ledger: Ledger) -> bool:
    """Take what the readers have found, waiting a little for a first of it; return whether there was any."""
    took = _take(found, ledger, PAUSE_S)
    while not found.empty():
        _take(found, ledger, PAUSE_S)
    return took


def _take(found: "queue.SimpleQueue[Found]", ledger: Ledger, wait_s: float) -> bool:
    """Take one thing that a reader has found, waiting so long for it; return whether there was any."""
    try:
        each = found.get(timeout=wait_s)
    except queue.Empty:
        return False
    if isinstance(each, Exception):
        raise LoadError(f"the output queue cannot be read: {each}") from each
    outputs, at = each
    ledger.see(outputs, at)
    return True


@contextmanager
def _readers(thread_ids: Sequence[str], site: Site) -> "Iterator[queue.SimpleQueue[Found]]":
    """Read side by side until the block ends. SQS keeps the order within a thread: it gives one group to one reader."""
    found: queue.SimpleQueue[Found] = queue.SimpleQueue()
    stopped = threading.Event()
    with ThreadPoolExecutor(site.pace.readers) as pool:
        for _ in range(site.pace.readers):
            pool.submit(_read, thread_ids, site, found, stopped)
        try:
            yield found
        finally:
            stopped.set()


def _read(thread_ids: Sequence[str], site: Site, found: "queue.SimpleQueue[Found]", stopped: threading.Event) -> None:
    reader = OutputReader(site.target.sqs, site.target.output_queue_url, *thread_ids, wait_s=site.pace.wait_s)
    try:
        while not stopped.is_set():
            if outputs := reader.read():
                found.put((outputs, site.now()))
            else:
                stopped.wait(site.pace.pause_s)
    except (BotoCoreError, ClientError, ValueError, KeyError) as error:  # the last two: what is no output
        found.put(error)
