"""Which URLs a configured tool server may send us to. Its credentials go nowhere else."""

from urllib.parse import SplitResult, urlsplit

from runtime.model.toolsets import ToolServer


def reach_fault(server: ToolServer, url: str) -> str | None:
    """Return why this URL is not the server's own, worded without the URL, or None.

    Its host must be the configured one (then also its port) or one that the configuration allows beside it; https is
    not given up for http.
    """
    configured, wanted = _split(server.url), _split(url)
    if configured is None or wanted is None or not wanted.hostname:
        return "is not an http or https URL"
    if wanted.username is not None or wanted.password is not None:
        return "holds credentials"
    if configured.scheme == "https" and wanted.scheme != "https":
        return "gives up https"
    if _origin(wanted) != _origin(configured) and wanted.hostname not in server.allowed_hosts:
        return "is on another host than the configured one"
    return None


def _split(url: str) -> SplitResult | None:
    try:
        split = urlsplit(url)
        _ = split.port
    except ValueError:
        return None
    # What urlsplit passes over in silence, another parser may take for the end of the host.
    if not url.isascii() or not url.isprintable() or set(url) & set(' \\"<>^`{|}'):
        return None
    return split if split.scheme in ("http", "https") else None


def _origin(split: SplitResult) -> tuple[str | None, int]:
    return split.hostname, split.port or (443 if split.scheme == "https" else 80)
