"""The example tool server: `handlers.example_tools` behind a Function URL, or by hand.

In Lambda the slow tools go on in an asynchronous invocation of the same function, which ends with its time limit. For
work of hours or days a real tool would hand `call.as_json()` on to what can carry it (a queue, Step Functions, a batch
job) and answer from there: the callback URL is good for more than a year, for whoever has it.

By hand every call is a thread: `python -m handlers.example_toolset --port 0` prints `READY <port>` when it listens.
"""

import argparse
import json
import os
from functools import cache

from handlers.example_tools import tools
from handlers.rap_tools import Handler, Json

ALLOWED_CALLBACK_HOST = "INFINITY_EXAMPLE_ALLOWED_CALLBACK_HOST"
FUNCTION_URL_BASE = "INFINITY_EXAMPLE_FUNCTION_URL_BASE"


def handler(event: Json, context: object) -> Json:
    """Answer a request of the Function URL, or work on a call that an earlier invocation accepted."""
    return _in_lambda()(_as_sent(event), context)


@cache
def _in_lambda() -> Handler:
    import boto3  # here: as a process of its own it needs nothing but Python

    client = boto3.client("lambda")
    name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]

    def invoke_itself(event: Json) -> None:
        client.invoke(FunctionName=name, InvocationType="Event", Payload=json.dumps(event))

    return tools.for_lambda(invoke_itself, callback_host=os.environ.get(ALLOWED_CALLBACK_HOST))


def _as_sent(event: Json) -> Json:
    """Return the event with the address that the request was sent to.

    A local AWS emulator serves Function URLs by path, and tells the function a host that is not there.
    """
    base = os.environ.get(FUNCTION_URL_BASE)
    if not base or "requestContext" not in event:
        return event
    scheme, _, place = base.partition("://")
    host = f"{place}/{event['requestContext']['domainPrefix']}"
    return {**event, "headers": {**event["headers"], "x-forwarded-proto": scheme, "host": host}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8080, help="0 picks a free one")
    tools.run(parser.parse_args().port, callback_host=os.environ.get(ALLOWED_CALLBACK_HOST))
