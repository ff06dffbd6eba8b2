"""The error tree. It answers one question: what should happen next?

RuntimeProblem
├── RetryableError            deliver the same messages again, later
│   ├── ModelUnavailable      throttled, overloaded, timed out, a stream that broke
│   │   └── CutByDeadline     our own time limit ended the completion: ask for less
│   ├── Misconfigured         access denied, unknown model or queue: retried, and a person should look
│   └── Unavailable           a store, queue or secret did not answer
├── PermanentError            the same request will never be accepted: keep the input, say so, go on
│   └── TooLong               the request does not fit the model's window
├── StartAgain                this slice's view of the thread is stale: load again and decide again
│   ├── FenceLost             another commit came first; ours wrote nothing
│   └── OutcomeUnknown        the reply to our COMMIT was lost; only a fresh load can tell
├── RefusedTogether           the model refuses these messages: try the first one alone
├── HandOverFailed            a tool server did not (surely) take a call: becomes an `undelivered` message
└── InvalidMessage            a body that can never be handled: parked with its reason, never retried

A tool's failure is not an error, it is a result. Foreign errors are translated once, in the adapter that met them.
"""

import traceback

_FRAMES_SHOWN = 6


def described(error: BaseException) -> dict[str, str]:
    """Return what may be logged of any error: its type and where it was. Its message may quote what somebody wrote."""
    where = "".join(traceback.format_tb(error.__traceback__)[-_FRAMES_SHOWN:])
    return {"error": type(error).__name__, "where": where}


class RuntimeProblem(Exception):
    """Root of every error the runtime raises on purpose. `code` is stable and safe to show and to count."""

    code = "internal"


class RetryableError(RuntimeProblem):
    code = "unavailable"


class ModelUnavailable(RetryableError):
    code = "model_unavailable"


class CutByDeadline(ModelUnavailable):
    code = "model_cut_by_deadline"


class Misconfigured(RetryableError):
    code = "misconfigured"


class Unavailable(RetryableError):
    code = "unavailable"


class PermanentError(RuntimeProblem):
    code = "model_refused"


class TooLong(PermanentError):
    code = "too_long"


class StartAgain(RuntimeProblem):
    code = "start_again"


class FenceLost(StartAgain):
    code = "fence_lost"


class OutcomeUnknown(StartAgain):
    code = "outcome_unknown"


class RefusedTogether(RuntimeProblem):
    code = "refused_together"


class HandOverFailed(RuntimeProblem):
    """`reason` is a sentence for the model; it never repeats what the server sent."""

    code = "hand_over_failed"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InvalidMessage(RuntimeProblem):
    """`reason` names the field at fault and never repeats its value."""

    code = "invalid_message"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
