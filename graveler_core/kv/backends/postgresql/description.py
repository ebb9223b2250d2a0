"""Description of a PostgreSQL store: version, durability, sessions, size and clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graveler_core.kv.store import Description


def described(row: Sequence[Any], before: float, after: float) -> Description:
    """Return the properties of a store by name.

    Args:
        row: Result of the statement `statements.DESCRIBE`.
        before: Time before the statement, in seconds since 1970 by the clock of this machine.
        after: Time after the statement, by the same clock.
    """
    version, synchronous, fsync, pages, recovery, most, sessions, schema, size, clock = row
    off_by = 0.0 if before <= clock <= after else clock - (before + after) / 2
    return {
        "backend": "postgresql",
        "version": version,
        "durability": "power" if fsync == pages == "on" else "none",
        "synchronous_commit": synchronous,
        "fsync": fsync == "on",
        "full_page_writes": pages == "on",
        "in_recovery": recovery,
        "max_connections": most,
        "connections": sessions,
        "schema_version": schema,
        "size": size,
        "clock_ahead": round(off_by, 3),
    }
