"""A model that says what it is told to: for tests, and for the in-process system without AWS."""

from collections import deque
from collections.abc import Callable, Iterable

from runtime.errors import RuntimeProblem
from runtime.model.turns import Completion, ModelRequest

Script = Iterable[Completion | RuntimeProblem]
Answer = Callable[[ModelRequest], Completion]


class ScriptedModel:
    """Answers from a script, one step per request, or by a function of the request.

    A step that is an error is raised. Threads may share one: every step is given out once. A function shared by
    threads looks after its own state.
    """

    def __init__(self, script: Script | Answer) -> None:
        self._answer = script if callable(script) else _from_script(script)

    def complete(self, request: ModelRequest, timeout_s: float) -> Completion:  # noqa: ARG002 - it takes no time
        """Return the next step, at once.

        Raises:
            LookupError: the script is over: whoever wrote it expected fewer requests.
        """
        return self._answer(request)


def _from_script(script: Script) -> Answer:
    steps = deque(script)

    def next_step(_request: ModelRequest) -> Completion:
        try:
            step = steps.popleft()
        except IndexError as error:
            raise LookupError("the script has no further answer") from error
        if isinstance(step, RuntimeProblem):
            raise step
        return step

    return next_step
