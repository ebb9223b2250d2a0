"""Formats of values in JSON documents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

Document = dict[str, Any]


def time_for_machines(moment: datetime) -> str:
    """Format a time in UTC, as ISO 8601 with microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def span_for_machines(time: timedelta) -> float:
    """Return a duration in seconds."""
    return time.total_seconds()
