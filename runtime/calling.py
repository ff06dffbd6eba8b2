"""Handing a stored call to its tool server, and telling servers what nobody waits for any more."""

from collections.abc import Sequence

from runtime.callbacks import callback_url, make_token
from runtime.errors import HandOverFailed, Unavailable
from runtime.identity import digest
from runtime.model.calls import Call
from runtime.model.entries import CancelledCall, JsonObject
from runtime.model.threads import ThreadRow
from runtime.model.toolsets import Invocation, Notice, ToolServer
from runtime.run import Run

# Time kept for what comes after a hand-over: other effects and the receipts.
_KEPT_S = 5.0


def hand_over(call: Call, row: ThreadRow, run: Run) -> None:
    """POST the call to its server. Everything in it derives from committed rows, so a repeat sends the same.

    Raises:
        HandOverFailed: refused, or nobody knows; also when the server is no longer configured.
        RetryableError: it could not even be tried.
    """
    server = _server(call.target.toolset, run)
    if server is None or call.target.endpoint is None:
        raise HandOverFailed(f"the tool server of {call.name} is no longer configured")
    left_s = run.remaining_s - _KEPT_S
    if left_s < run.settings.http_total_s:
        raise Unavailable("too little time is left to hand a call over")
    timeout_s = min(run.settings.http_total_s * run.settings.http_tries, left_s)
    key = digest(row.thread_id, call.call_id)
    run.ports.servers.invoke(Invocation(server, call.target.endpoint, _body(call, row, server, run), key), timeout_s)


def _body(call: Call, row: ThreadRow, server: ToolServer, run: Run) -> JsonObject:
    body = {
        "operation": call.name,
        "arguments": call.arguments,
        "id": call.call_id,
        "call_id": call.provider_call_id,
        "callback_url": _callback_url(call, row, server, run),
        "group_id": row.thread_id,
    }
    return body if row.person.user_id is None else {**body, "user_id": row.person.user_id}


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


def tell_cancelled(cancelled: Sequence[CancelledCall], thread_id: str, run: Run) -> None:
    """Let the servers of these calls know, best effort."""
    notices = [
        Notice(server, "/cancel_tool_call", {"thread_id": thread_id, "tool_call_id": call.call_id})
        for call in cancelled
        if (server := _server(call.toolset, run)) is not None
    ]
    if notices:
        accepted = run.ports.servers.notify(notices)
        run.counted.extend(["notice_accepted"] * accepted + ["notice_failed"] * (len(notices) - accepted))


def _server(name: str | None, run: Run) -> ToolServer | None:
    return next((server for server in run.settings.tool_servers if server.name == name), None)
