"""The toolsets of each root thread: fetched, judged, and kept as long as the process.

What is offered must be the same for every thread of a root and should not change when a server comes and goes: the
last good manifest of every server is kept beside the history, served while a fetch fails, and decides about names.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from runtime.errors import HandOverFailed, RetryableError
from runtime.identity import digest
from runtime.model.toolsets import CachedManifest, Refusal, ToolServer, Toolset
from runtime.ports import Ports
from runtime.tools.manifest import Judged, judge, without_conflicts

logger = logging.getLogger(__name__)

_ROOTS = 256  # roots whose toolsets one process keeps
_JUDGEMENTS = 256
_FETCHES_AT_ONCE = 8
_REPORTS = 100  # refusals remembered for one root; a reader knows a report it gets again by its id
_RETRY_FAILED_S = 60  # a server that did not answer is asked again after this time, or after the usual one if shorter

Name = TypeVar("Name")
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What to offer, configured servers in their order, and refusals this process has not reported for the root."""

    toolsets: tuple[Toolset, ...]
    refusals: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class _Known:
    """One server's state for one root. `good` is its last good manifest; it does not serve after a bad one."""

    server: ToolServer
    good: CachedManifest | None = None
    judged: Judged | None = None
    serves: bool = True
    check_ms: int = 0
    refusals: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class _Root:
    known: tuple[_Known, ...]
    toolsets: tuple[Toolset, ...]
    check_ms: int
    reported: frozenset[Refusal] = field(default_factory=frozenset)


class Toolsets:
    """One per process, shared by its threads. Two that load the same root at once both do the work, harmlessly."""

    def __init__(self, servers: Sequence[ToolServer], refetch_s: int) -> None:
        self._servers = tuple(servers)
        self._refetch_ms = refetch_s * 1000
        self._roots: OrderedDict[str, _Root] = OrderedDict()
        self._judgements: OrderedDict[tuple[str, str], tuple[Judged, str]] = OrderedDict()
        self._offered: OrderedDict[tuple[object, ...], tuple[list[Toolset], list[Refusal]]] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, root_id: str, ports: Ports) -> Loaded:
        """Return the root's toolsets. In the steady state: one read of what is kept per process, and no fetch.

        Manifests older than the refetch time are fetched again, side by side; a server that cannot be reached
        serves its last good manifest and takes nothing away from the others.

        Raises:
            RetryableError: what is kept can neither be read nor written.
        """
        if not self._servers:
            return Loaded(())
        now_ms = ports.clock.now_ms()
        root = self._recall(root_id)
        if root is not None and now_ms < root.check_ms:
            return Loaded(root.toolsets)
        known = self._known(root, ports.manifests.read(root_id))
        fetched = self._refetched(known, ports, now_ms)
        if any(new.good is not old.good for new, old in zip(fetched, known, strict=True)):
            ports.manifests.write(root_id, [one.good for one in fetched if one.good is not None])
        return self._keep(root_id, fetched, root.reported if root else frozenset())

    def _known(self, root: _Root | None, stored: Sequence[CachedManifest]) -> list[_Known]:
        """Return each server's state: what this process remembers, or what is kept, whichever is newer."""
        remembered = {one.server.name: one for one in root.known} if root else {}
        kept = {manifest.server: manifest for manifest in stored}
        return [
            self._newer(remembered.get(server.name, _Known(server)), kept.get(server.name)) for server in self._servers
        ]

    def _newer(self, known: _Known, kept: CachedManifest | None) -> _Known:
        if kept is None or (known.good is not None and kept.fetched_ms <= known.good.fetched_ms):
            return known
        judged, manifest = self._judge(known.server, kept)
        if judged.toolset is None:
            return known  # an older release, or another configuration, took it for good
        return _Known(known.server, manifest, judged, check_ms=kept.fetched_ms + self._refetch_ms)

    def _refetched(self, known: Sequence[_Known], ports: Ports, now_ms: int) -> list[_Known]:
        due = [one for one in known if one.check_ms <= now_ms]
        if not due:
            return list(known)
        with ThreadPoolExecutor(min(len(due), _FETCHES_AT_ONCE)) as pool:
            fetched = list(pool.map(lambda one: self._fetched(one, ports, now_ms), due))
        by_name = {one.server.name: one for one in fetched}
        return [by_name.get(one.server.name, one) for one in known]

    def _fetched(self, known: _Known, ports: Ports, now_ms: int) -> _Known:
        server = known.server
        try:
            manifest_json = ports.servers.manifest(server)
        except (HandOverFailed, RetryableError) as error:
            logger.warning("manifest not fetched", extra={"toolset": server.name, "code": error.code})
            check_ms = now_ms + min(self._refetch_ms, _RETRY_FAILED_S * 1000)
            unreachable = Refusal(server.name, "", f"its manifest could not be fetched{_because(error)}")
            return replace(known, check_ms=check_ms, refusals=() if known.good else (unreachable,))
        judged, manifest = self._judge(server, CachedManifest(server.name, manifest_json, now_ms))
        check_ms = now_ms + self._refetch_ms
        if judged.toolset is None:
            return replace(known, serves=False, check_ms=check_ms, refusals=judged.refusals)
        return _Known(server, manifest, judged, check_ms=check_ms)

    def _judge(self, server: ToolServer, manifest: CachedManifest) -> tuple[Judged, CachedManifest]:
        """Judge each content once per process, and hold it once however many roots use it."""
        key = (server.name, digest(manifest.manifest_json, length=64))
        with self._lock:
            found = self._judgements.get(key)
        if found is None:
            found = (judge(server, manifest), manifest.manifest_json)
        with self._lock:
            _remember(self._judgements, key, found, _JUDGEMENTS)
        judged, manifest_json = found
        return judged, replace(manifest, manifest_json=manifest_json)

    def _keep(self, root_id: str, known: Sequence[_Known], reported: frozenset[Refusal]) -> Loaded:
        toolsets, conflicts = self._without_conflicts(known)
        refusals = [*conflicts, *(refusal for one in known for refusal in one.refusals)]
        if len(reported) > _REPORTS:
            reported = frozenset()
        check_ms = min(one.check_ms for one in known)
        root = _Root(tuple(known), tuple(toolsets), check_ms, reported.union(refusals))
        with self._lock:
            _remember(self._roots, root_id, root, _ROOTS)
        return Loaded(root.toolsets, tuple(refusal for refusal in refusals if refusal not in reported))

    def _without_conflicts(self, known: Sequence[_Known]) -> tuple[list[Toolset], list[Refusal]]:
        """Settle names once for each set of manifests, so that all roots that have it share the same objects."""
        judged = [(one.judged, one.serves) for one in known if one.judged is not None]
        key = tuple((one.server, one.manifest_hash, serves) for one, serves in judged)
        with self._lock:
            found = self._offered.get(key)
        if found is None:
            found = without_conflicts([one for one, serves in judged if serves], [one for one, _ in judged])
        with self._lock:
            _remember(self._offered, key, found, _JUDGEMENTS)
        return found

    def _recall(self, root_id: str) -> _Root | None:
        with self._lock:
            root = self._roots.get(root_id)
            if root is not None:
                self._roots.move_to_end(root_id)
            return root


def _because(error: HandOverFailed | RetryableError) -> str:
    # What follows the semicolon is about calls, which may have arrived all the same.
    return f": {error.reason.partition(';')[0]}" if isinstance(error, HandOverFailed) else ""


def _remember(kept: OrderedDict[Name, Kept], name: Name, value: Kept, limit: int) -> None:
    kept[name] = value
    kept.move_to_end(name)
    while len(kept) > limit:
        kept.popitem(last=False)
