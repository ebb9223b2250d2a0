"""Description of a store in MySQL or MariaDB: version, durability, sessions, size and clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graveler_core.kv.store import Description


def described(settings: Mapping[str, str], row: Sequence[Any], before: float, after: float) -> Description:
    """Return the properties of a store by name.

    Args:
        settings: Variables of the server, by name: the result of `statements.SETTINGS`.
        row: Result of the statement `statements.DESCRIBE`.
        before: Time before the statement, in seconds since 1970 by the clock of this machine.
        after: Time after the statement, by the same clock.
    """
    schema, size, sessions, clock = row
    flushed = int(settings["innodb_flush_log_at_trx_commit"])
    logged = settings["log_bin"] == "ON"
    synced = int(settings["sync_binlog"])
    doublewrite = settings["innodb_doublewrite"] != "OFF"
    off_by = 0.0 if before <= float(clock) <= after else float(clock) - (before + after) / 2
    return {
        "backend": "mysql",
        "version": settings["version"],
        "distribution": settings["version_comment"],
        "durability": _durability(flushed, synced if logged else 1, doublewrite),
        "innodb_flush_log_at_trx_commit": flushed,
        "innodb_doublewrite": doublewrite,
        "log_bin": logged,
        "sync_binlog": synced,
        "binlog_format": settings["binlog_format"],
        "galera": settings.get("wsrep_on") == "ON",
        "max_allowed_packet": int(settings["max_allowed_packet"]),
        "max_connections": int(settings["max_connections"]),
        "connections": int(sessions),
        "schema_version": schema,
        "size": int(size or 0),
        "clock_ahead": round(off_by, 3),
    }


def _durability(flushed: int, synced: int, doublewrite: bool) -> str:
    """Return what an acknowledged write survives. MariaDB has a third level, 3, which is at least as strong as 1."""
    if flushed in (1, 3) and synced == 1 and doublewrite:
        return "power"
    return "process" if flushed in (1, 2, 3) else "none"
