"""What a tool server says it offers, judged: usable as a whole, or refused with every reason in one report. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urljoin

from runtime.identity import digest
from runtime.model.toolsets import CachedManifest, OfferedTool, Refusal, ToolServer, Toolset
from runtime.model.turns import TOOL_NAME, ToolSpec
from runtime.tools.builtin import RESERVED_NAMES
from runtime.tools.reach import reach_fault
from runtime.tools.schemas import schema_fault
from runtime.wire.rap import BadBody, Manifest, ToolOfManifest, read_manifest
from runtime.wire.text import canonical_json

# All tools of a set go to the model with every request: about 32,000 tokens. A set that filled the window would make
# every conversation one that is too long.
MAX_TOOLS_BYTES = 128 * 1024
_SHOWN_NAME_CHARS = 40
_SHOWN_FAULTS = 10


@dataclass(frozen=True, slots=True)
class Judged:
    """A manifest and what it comes to. `toolset` is None when the set is refused; `faults` then says why."""

    server: str
    manifest_hash: str
    toolset: Toolset | None
    faults: tuple[str, ...] = ()

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return (refusal(self, self.faults),) if self.faults else ()


def judge(server: ToolServer, manifest: CachedManifest) -> Judged:
    """Return the toolset of a manifest, or all that is wrong with it. One bad tool refuses the whole set."""
    manifest_hash = digest(manifest.manifest_json)
    try:
        read = read_manifest(manifest.manifest_json)
    except BadBody as error:
        return Judged(server.name, manifest_hash, None, (str(error),))
    faults = _faults(server, read)
    if faults:
        return Judged(server.name, manifest_hash, None, faults)
    return Judged(server.name, manifest_hash, _toolset(server, read))


def without_conflicts(serving: Sequence[Judged], known: Sequence[Judged]) -> tuple[list[Toolset], list[Refusal]]:
    """Return the toolsets to offer, in the order given, and what is left out of them.

    A name that two servers define is offered by neither. That is judged by the last good manifest of every server
    (`known`), whether it serves now or not: a server that comes and goes must not move a name from one to another.
    """
    owners = Counter(tool.spec.name for judged in known if judged.toolset for tool in judged.toolset.tools)
    toolsets: list[Toolset] = []
    refusals: list[Refusal] = []
    for judged in serving:
        if judged.toolset is None:
            continue
        withheld = [reason for tool in judged.toolset.tools if (reason := _withheld(tool, owners))]
        if not withheld:
            toolsets.append(judged.toolset)
            continue
        refusals.append(refusal(judged, withheld))
        tools = tuple(tool for tool in judged.toolset.tools if not _withheld(tool, owners))
        if tools:
            toolsets.append(replace(judged.toolset, tools=tools))
    return toolsets, refusals


def refusal(judged: Judged, faults: Sequence[str]) -> Refusal:
    """Return one report of these faults, of bounded length."""
    shown = list(faults[:_SHOWN_FAULTS])
    if len(faults) > _SHOWN_FAULTS:
        shown.append(f"and {len(faults) - _SHOWN_FAULTS} more")
    return Refusal(judged.server, judged.manifest_hash, "; ".join(shown))


def _withheld(tool: OfferedTool, owners: Counter[str]) -> str | None:
    name = tool.spec.name
    if name in RESERVED_NAMES:
        return f"{_shown(name)} is a name of the runtime itself"
    if owners[name] > 1:
        return f"{_shown(name)} is defined by more than one server and offered by none"
    return None


def _faults(server: ToolServer, manifest: Manifest) -> tuple[str, ...]:
    faults: list[str] = []
    endpoint_fault = reach_fault(server, _endpoint(server, manifest))
    if endpoint_fault:
        faults.append(f"endpoint {endpoint_fault}")
    counts = Counter(tool.name for tool in manifest.tools)
    faults += [f"{_shown(name)} is defined {count} times" for name, count in counts.items() if count > 1]
    for tool in manifest.tools:
        faults += _tool_faults(tool)
    size_bytes = sum(len(canonical_json(tool.model_dump())) for tool in manifest.tools)
    if size_bytes > MAX_TOOLS_BYTES:
        faults.append(f"tools have {size_bytes} bytes together, and at most {MAX_TOOLS_BYTES} go to the model")
    return tuple(dict.fromkeys(faults))


def _tool_faults(tool: ToolOfManifest) -> list[str]:
    faults: list[str] = []
    # No name is mended: what is cut or replaced may become equal to another.
    if not TOOL_NAME.fullmatch(tool.name):
        faults.append(f"{_shown(tool.name)} is not a tool name (1 to 64 letters, digits, _ and -)")
    fault = schema_fault(tool.inputSchema)
    if fault:
        faults.append(f"inputSchema of {_shown(tool.name)} {fault}")
    return faults


def _shown(name: str) -> str:
    """Return the name as a report may show it: quoted, printable, bounded."""
    cut = name if len(name) <= _SHOWN_NAME_CHARS else f"{name[:_SHOWN_NAME_CHARS]}… ({len(name)} characters)"
    return '"' + "".join(char if char.isprintable() else "?" for char in cut) + '"'


def _toolset(server: ToolServer, manifest: Manifest) -> Toolset:
    tools = tuple(_offered(tool) for tool in manifest.tools)
    return Toolset(server.name, _endpoint(server, manifest), tools, server.result_timeout_s)


def _endpoint(server: ToolServer, manifest: Manifest) -> str:
    """Return the endpoint's URL. One without a host is relative to the server's base, which it may not know itself."""
    try:
        return urljoin(f"{server.url.rstrip('/')}/", manifest.endpoint)
    except ValueError:
        return manifest.endpoint


def _offered(tool: ToolOfManifest) -> OfferedTool:
    # Providers want the type said, and a description that is not empty.
    schema = tool.inputSchema if "type" in tool.inputSchema else {"type": "object", **tool.inputSchema}
    spec = ToolSpec(tool.name, tool.description if tool.description.strip() else tool.name, schema)
    cancels = (tool.annotations or {}).get("x-on-interrupt") == "cancel"
    return OfferedTool(spec, "cancel" if cancels else "continue")
