"""Calendar facts about moments. Epoch milliseconds in, UTC out."""

from datetime import UTC, datetime, timedelta


def utc_day(now_ms: int) -> str:
    """Return the UTC day of this moment as yyyy-mm-dd."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()


def next_day_ms(now_ms: int) -> int:
    """Return when the next UTC day begins."""
    today = datetime.fromtimestamp(now_ms / 1000, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return int((today + timedelta(days=1)).timestamp() * 1000)
