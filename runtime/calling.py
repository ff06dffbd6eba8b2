"""Handing a stored call to its tool server, and telling servers what nobody waits for any more."""

from collections.abc import Sequence

from runtime.callbacks import callback_url, make_token
from runtime.errors import HandOverFailed, Unavailable
from runtime.identity import digest
from runtime.model.calls import Call
from runtime.model.choices import Choice
from runtime.model.entries import CancelledCall, JsonObject
from runtime.model.threads import ThreadRow
from runtime.model.toolsets import Invocation, Notice, ToolServer
from runtime.run import Run
from runtime.tools.reach import reach_fault

# Time kept for what comes after a hand-over: other effects and the receipts.
_KEPT_S = 5.0
# A tree that closes may have a thousand threads. Notices are a courtesy, and have one second for all of them.
_MOST_NOTICES = 100


def hand_over(call: Call, row: ThreadRow, run: Run) -> None:
    """POST the call to its server. Everything in it derives from committed rows, so a repeat sends the same.

    Raises:
        HandOverFailed: refused, or nobody knows; also when the server is no longer configured.
        RetryableError: it could not even be tried.
    """
    server = _server(call.target.toolset, run)
    if server is None or call.target.endpoint is None:
        raise HandOverFailed(f"the tool server of {call.name} is no longer configured")
    timeout_s = _time_for_one(run)
    key = digest(row.thread_id, call.call_id)
    run.ports.servers.invoke(Invocation(server, call.target.endpoint, _body(call, row, server, run), key), timeout_s)


def _time_for_one(run: Run) -> float:
    left_s = run.remaining_s - _KEPT_S
    if left_s < run.settings.http_total_s:
        raise Unavailable("too little time is left to hand anything over")
    return min(run.settings.http_total_s * run.settings.http_tries, left_s)


def _body(call: Call, row: ThreadRow, server: ToolServer, run: Run) -> JsonObject:
    body = {
        "operation": call.name,
        "arguments": call.arguments,
        "id": call.call_id,
        "call_id": call.provider_call_id,
        "callback_url": _callback_url(call, row, server, run),
        "group_id": row.thread_id,
    }
    ancestors = [part.thread_id for part in row.birth.lineage]
    further = {"user_id": call.user_id, "thread_ancestors": ancestors or None}
    return {**body, **{name: value for name, value in further.items() if value is not None}}


def _callback_url(call: Call, row: ThreadRow, server: ToolServer, run: Run) -> str:
    token = make_token(
        run.ports.keyring.signing(run.ports.clock.now_ms()),
        root_id=row.root_id,
        thread_id=row.thread_id,
        call_id=call.call_id,
        toolset=server.name,
        expires_at_ms=call.committed_ms + run.settings.token_life_s * 1000,
    )
    return callback_url(run.settings.receiver_url, token)


def answer_choice(choice: Choice, selected: int, key: str, run: Run) -> None:
    """POST what the user chose to the server that asked, retried as a call is. The key makes a repeat harmless.

    Raises:
        HandOverFailed: refused, or nobody knows; also when the server is gone, or named an address that is not its own.
        RetryableError: it could not even be tried.
    """
    server = _server(choice.toolset, run)
    if server is None:
        raise HandOverFailed("its tool server is no longer configured")
    fault = reach_fault(server, choice.response_url)
    if fault is not None:
        raise HandOverFailed(f"the address its tool server gave {fault}")
    body = {"id": choice.call_id, "selected": selected}
    run.ports.servers.invoke(Invocation(server, choice.response_url, body, digest(key)), _time_for_one(run))


def notices_of_cancelled(cancelled: Sequence[CancelledCall], thread_id: str, run: Run) -> list[Notice]:
    """Return what the servers of these calls are told."""
    return [
        Notice(server, "/cancel_tool_call", {"thread_id": thread_id, "tool_call_id": call.call_id})
        for call in cancelled
        if (server := _server(call.toolset, run)) is not None
    ]


def notices_of_closed(thread_ids: Sequence[str], run: Run) -> list[Notice]:
    """Return what every server is told of threads that have closed: it may know them without a call that runs."""
    told = [
        Notice(server, "/close_thread", {"thread_id": thread_id})
        for thread_id in thread_ids
        for server in run.settings.tool_servers
    ]
    run.counted.extend(["notice_skipped"] * len(told[_MOST_NOTICES:]))
    return told[:_MOST_NOTICES]


def notify(notices: Sequence[Notice], run: Run) -> None:
    """Send all notices, best effort."""
    if notices:
        accepted = run.ports.servers.notify(notices)
        run.counted.extend(["notice_accepted"] * accepted + ["notice_failed"] * (len(notices) - accepted))


def _server(name: str | None, run: Run) -> ToolServer | None:
    return next((server for server in run.settings.tool_servers if server.name == name), None)
