"""Who may do what, decided by the policies of the deployed roles, and a record of every decision about a function.

The emulator evaluates policies by itself when told to (AUTH). Here it is put right where AWS decides otherwise:

* A batch of SQS is the action of its single request: no policy could name "sqs:SendMessageBatch".
* A schedule's ARN has its own group in it, and not always "default".
* Who makes a schedule must be allowed to pass its role on to the Scheduler.
* The Scheduler sends under the role of the schedule. What that role does not allow is lost here, where AWS tries again.
* Who signs a request to a Function URL must be allowed to invoke the function through it, too (since October 2025).
* A policy may name the partition keys of DynamoDB ("dynamodb:LeadingKeys"); here those of requests for one item.
* Queues and bucket insist on TLS, which is not there on this machine: every request counts as one over TLS.

`access.jsonl` has one line for each decision about a role:
    {"time", "what": "allowed" | "refused", "role", "session", "action", "resource"}
The session of a function's own role is the function's name, that of the Scheduler its principal. Everybody else is
root, who may do everything.

These are private names of ministack: its version is pinned, and they are checked at the start.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from scripts.offline_stack.journal import Journal
from scripts.offline_stack.pinned import check_function

RECORD = "access.jsonl"
SCHEDULER = "scheduler.amazonaws.com"
ENFORCE_PARAMETERS = ("access_key_id", "iam_action", "service", "region", "resource_arn", "service_context")
REQUEST_PARAMETERS = ("service", "method", "path", "headers", "body", "query_params", "region", "account_id")

# Requests, answers and decisions are ministack's own, untyped; hence Any.
Context = Mapping[str, Any]
# The access key and the region of the request that is being worked on.
_caller: ContextVar[tuple[str, str]] = ContextVar("caller")


class Decisions:
    """Decides in place of the emulator's `enforce`, with its help, and records it."""

    def __init__(self, journal: Journal) -> None:
        from ministack.core import iam_evaluator  # type: ignore[import-untyped]

        self._journal = journal
        self._decide = iam_evaluator.enforce
        self._evaluator = iam_evaluator

    def enforce(
        self,
        access_key_id: str,
        iam_action: str,
        service: str,
        region: str,
        resource_arn: str = "*",
        service_context: Context | None = None,
    ) -> Any:
        """Return None for a request that is allowed, else the emulator's own refusal."""
        _caller.set((access_key_id, region))
        asked = asked_for(iam_action, service_context or {}) if access_key_id else [(iam_action, service_context)]
        for action, context in asked:
            refusal = self._decide(access_key_id, action, service, region, resource_arn, context)
            self._record(access_key_id, action, resource_arn, "allowed" if refusal is None else "refused")
            if refusal is not None:
                return refusal
        return None

    def may_pass(self, role_arn: str) -> bool:
        """Say whether whoever is asking just now may pass this role on to the Scheduler."""
        access_key_id, region = _caller.get()
        return (
            self.enforce(access_key_id, "iam:PassRole", "iam", region, role_arn, {"iam:PassedToService": SCHEDULER})
            is None
        )

    def may_send(self, role_arn: str, queue_arn: str) -> bool:
        """Say whether the Scheduler may send to the queue under this role."""
        account, region = role_arn.split(":")[4], queue_arn.split(":")[3]
        role, action = role_arn.rpartition("/")[2], "sqs:SendMessage"
        request = self._evaluator.EvalContext(role_arn, "AssumedRole", account, action, queue_arn, region)
        decision = self._evaluator.evaluate(request, self._evaluator._gather_role_policies(role, account)).decision
        what = "allowed" if decision == "Allow" else "refused"
        self._journal.write(what, role=role, session=SCHEDULER, action=action, resource=queue_arn)
        return what == "allowed"

    def _record(self, access_key_id: str, action: str, resource_arn: str, decision: str) -> None:
        from ministack.core.responses import get_account_id  # type: ignore[import-untyped]

        arn = getattr(self._evaluator.resolve_principal(access_key_id, get_account_id()), "arn", "")
        role, _, session = arn.partition(":assumed-role/")[2].partition("/")
        if role:
            self._journal.write(decision, role=role, session=session, action=action, resource=resource_arn)


def asked_for(action: str, context: Context) -> Iterator[tuple[str, Context]]:
    """Every action that AWS asks the policies about for one request, with what it knows of the request."""
    yield action.removesuffix("Batch") if action.startswith("sqs:") else action, context
    if action == "lambda:InvokeFunctionUrl":
        yield "lambda:InvokeFunction", {"lambda:InvokedViaFunctionUrl": "true"}


def with_group(schedule_arn: str, body: bytes, query_params: Context) -> str:
    """Put the group that a request to the Scheduler names, in its body or its query, into the ARN of the schedule."""
    named = query_params.get("groupName") or json.loads(body or b"{}").get("GroupName")
    group = named[0] if isinstance(named, list) else named
    return schedule_arn if group is None else schedule_arn.replace(":schedule/default/", f":schedule/{group}/")


def leading_keys(request: Context, partition_key: str) -> list[str]:
    """Return the partition key of a request to DynamoDB for one item; nothing for other requests."""
    item = request.get("Item") or request.get("Key") or {}
    return [str(value) for value in item.get(partition_key, {}).values()]


def install(journal: Journal) -> None:
    """Have the policies evaluated as above, and recorded.

    Raises:
        RuntimeError: this ministack does not have the names that are changed, as we know them.
    """
    from ministack import app  # type: ignore[import-untyped]
    from ministack.core import iam_actions, iam_evaluator
    from ministack.services import eventbridge, scheduler  # type: ignore[import-untyped]

    _check_names(app, iam_actions, iam_evaluator, eventbridge, scheduler)
    decisions = Decisions(journal)
    iam_evaluator.enforce = decisions.enforce
    iam_actions.extract_resource_arn = _with_groups(iam_actions.extract_resource_arn)
    iam_actions.dynamodb_service_context = _with_leading_keys(iam_actions.dynamodb_service_context)
    scheduler._create_schedule = _passing_roles(scheduler._create_schedule, scheduler._error, decisions)
    eventbridge._invoke_target = _under_roles(eventbridge._invoke_target, decisions)
    app.pin_request_origin = lambda source_ip, _: iam_evaluator.pin_request_origin(source_ip, True)


def _check_names(app: Any, iam_actions: Any, iam_evaluator: Any, eventbridge: Any, scheduler: Any) -> None:
    if not app.AUTH:
        raise RuntimeError("ministack evaluates no policies: AUTH must be set before it is imported")
    names: Sequence[tuple[object, str, Sequence[str]]] = (
        (app, "pin_request_origin", ("source_ip", "secure_transport")),
        (iam_evaluator, "enforce", ENFORCE_PARAMETERS),
        (iam_evaluator, "resolve_principal", ("access_key_id", "account_id", "credential")),
        (iam_evaluator, "evaluate", ("ctx", "policies", "limits")),
        (iam_evaluator, "_gather_role_policies", ("role_name", "account_id")),
        (eventbridge, "_invoke_target", ("target", "event", "rule", "view")),
        (iam_actions, "extract_resource_arn", REQUEST_PARAMETERS),
        (iam_actions, "dynamodb_service_context", ("body",)),
        (scheduler, "_create_schedule", ("name", "body")),
        (scheduler, "_error", ("status", "code", "message")),
    )
    for owner, name, parameters in names:
        check_function(owner, name, parameters)


def _with_groups(extract: Callable[..., str]) -> Callable[..., str]:
    def extract_with_group(
        service: str, method: str, path: str, headers: Context, body: bytes, query_params: Context, *place: str
    ) -> str:
        arn = extract(service, method, path, headers, body, query_params, *place)
        return with_group(arn, body, query_params) if service == "scheduler" else arn

    return extract_with_group


def _with_leading_keys(context_of: Callable[[bytes], dict[str, Any]]) -> Callable[[bytes], dict[str, Any]]:
    from ministack.services import dynamodb

    def context_with_keys(body: bytes) -> dict[str, Any]:
        request = json.loads(body or b"{}")
        schema = (dynamodb._tables.get(request.get("TableName")) or {}).get("KeySchema", [])
        names = [key["AttributeName"] for key in schema if key["KeyType"] == "HASH"]
        found = [value for name in names for value in leading_keys(request, name)]
        return {**context_of(body), **({"dynamodb:LeadingKeys": found} if found else {})}

    return context_with_keys


def _passing_roles(create: Callable[..., Any], refuse: Callable[..., Any], decisions: Decisions) -> Callable[..., Any]:
    def create_if_role_may_be_passed(name: str, body: Mapping[str, Any]) -> Any:
        if not decisions.may_pass(body["Target"]["RoleArn"]):
            return refuse(403, "AccessDeniedException", "not authorized to perform iam:PassRole on the schedule's role")
        return create(name, body)

    return create_if_role_may_be_passed


def _under_roles(send: Callable[..., Any], decisions: Decisions) -> Callable[..., Any]:
    def send_if_role_allows(target: Mapping[str, Any], event: Any, rule: Any, view: Any = None) -> Any:
        role_arn, arn = target.get("RoleArn"), target.get("Arn", "")
        if role_arn is None or ":sqs:" not in arn or decisions.may_send(role_arn, arn):
            return send(target, event, rule, view)
        return None

    return send_if_role_allows
