"""Calendar facts about moments. Epoch milliseconds in, UTC out."""

from datetime import UTC, datetime


def utc_day(now_ms: int) -> str:
    """Return the UTC day of this moment as yyyy-mm-dd."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
