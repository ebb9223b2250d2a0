"""What a PostgreSQL store tells of its server: version, durability, room for sessions, size, clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graveler_core.kv.abilities import Description


def described(row: Sequence[Any], before: float, after: float) -> Description:
    """The row of `postgresql_statements.DESCRIBE` under names.

    Args:
        before: Seconds since 1970 by this machine's clock when the server was asked; so is `after`, when it answered.
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
