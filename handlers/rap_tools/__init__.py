"""Makes Python functions tools of agents. Copy this folder beside your own file: it needs Python 3.11 and nothing else.

A tool is a function. Its name, its docstring and its annotations are what the model is told, unless a schema is given.
It returns text, the bytes of an image, or a list of them; what it raises becomes a result that starts with `Error: `.

Any 2xx to the request that brings a call means "accepted"; the result is posted to the callback URL of that call, be it
before or after. `run` accepts at once, works in a thread, and tries for a day to send what comes of it. Lambda freezes
a function as soon as it has answered, and what is frozen sends nothing: so behind `for_lambda` a tool works, and its
result is sent, *within* the request. The runtime waits 10 s for that. What may take longer is `slow`, and is given to
`later`, which must outlive the request.

Limits. Which calls were taken is known by Idempotency-Key, for the last 1,000 and as long as the process lives; another
environment of the same Lambda function does not know. A tool that must not act twice asks a store of its own about
`call.id`. What `run` is at when its process ends is lost. Who may call is for whatever stands in front to decide.
"""

from .calls import Call, Json, NotAccepted, NotTaken, Result
from .server import Handler, ToolServer

__all__ = ["Call", "Handler", "Json", "NotAccepted", "NotTaken", "Result", "ToolServer"]
