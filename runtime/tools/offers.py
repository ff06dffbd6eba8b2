"""The offer of each root thread, made once for all roots that are offered the same."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence

from runtime.identity import message_output_id
from runtime.model.outputs import Output
from runtime.model.threads import ThreadRow
from runtime.model.toolsets import Refusal, Toolset
from runtime.ports import Ports
from runtime.tools.builtin import BUILTINS
from runtime.tools.offer import Offer, offer_of
from runtime.tools.toolsets import Toolsets

logger = logging.getLogger(__name__)

_KEPT = 64


class Offers:
    """One per process, shared by its threads."""

    def __init__(self, toolsets: Toolsets) -> None:
        self._toolsets = toolsets
        # By the identity of the toolsets, which the value keeps alive: manifests are large, and comparing them is slow.
        self._made: OrderedDict[tuple[int, ...], tuple[tuple[Toolset, ...], Offer]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, row: ThreadRow, ports: Ports, counted: list[str]) -> Offer:
        """Return what the threads of this root are offered; what a server may not offer is reported, and counted.

        Raises:
            RetryableError: the kept manifests are not to be had now.
        """
        loaded = self._toolsets.load(row.root_id, ports)
        if loaded.refusals:
            ports.queues.send_outputs(_reports(row, loaded.refusals))
            counted += ["tool_refused"] * len(loaded.refusals)
        return self._offer(loaded.toolsets)

    def _offer(self, toolsets: tuple[Toolset, ...]) -> Offer:
        identity = tuple(id(toolset) for toolset in toolsets)
        with self._lock:
            made = self._made.get(identity)
            if made is None:
                made = self._made[identity] = (toolsets, offer_of(toolsets, BUILTINS))
                if len(self._made) > _KEPT:
                    self._made.popitem(last=False)
            return made[1]


def _reports(row: ThreadRow, refusals: Sequence[Refusal]) -> list[Output]:
    """Return one error for each refusal, named by the root and the manifest: told once, however often it is met."""
    reports = []
    for refusal in refusals:
        logger.warning("tool not offered", extra={"toolset": refusal.server, "reason": refusal.reason})
        about = f"{refusal.server}:{refusal.manifest_hash}"
        fields = {"code": "tool_refused", "message": f"{refusal.server}: {refusal.reason}", "retrying": False}
        output_id = message_output_id(row.root_id, about, "error", f"tool_refused:{refusal.reason}")
        reports.append(Output(output_id, "error", row.root_id, row.root_id, None, row.person.metadata, fields))
    return reports
