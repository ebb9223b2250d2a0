"""Metadata and check results of the asset `graveler/leftovers`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.display.diff import escaped

if TYPE_CHECKING:
    from graveler_core.engine.cleaning import Cleaned, Waiting
    from graveler_core.facade.graveler import Graveler

LEFTOVERS = dg.AssetKey(["graveler", "leftovers"])
CHECK = "cleaned_in_time"
UNDELETE_WITHIN = timedelta(days=7)
"""Default time for which deleted repositories can be undeleted."""
BOUND = timedelta(days=1)
"""Default additional time after which a leftover repository fails the check."""
_FAILED = "failed"
_SHOWN = 50
_REMOVED = ("repositories", "deletions", "layers", "rows", "files", "records", "keys", "counters", "claims")
_LEFT = ("waiting", "late", "contested", _FAILED)


def cleaned_metadata(done: Cleaned, seconds: float) -> dict[str, Any]:
    """Return metadata of a cleaner run: removed and kept objects, duration in seconds, failures."""
    removed = {f"removed {name}": getattr(done, name) for name in _REMOVED}
    left = {name if name == _FAILED else f"left {name}": getattr(done, name) for name in _LEFT}
    return {**removed, **left, "seconds": seconds, "failures": dg.MetadataValue.md(_failures(done))}


def leftovers_metadata(left: Waiting, failed: int) -> dict[str, Any]:
    """Return metadata of the deleted repositories that wait for a cleaner.

    Args:
        left: Waiting repositories.
        failed: Number of objects that the last cleaner could not remove.
    """
    return {
        "deleted": left.deleted,
        "purging": left.purging,
        "restoring": left.restoring,
        "due": left.due,
        "unreadable": left.unreadable,
        "days of the oldest": _age(left) / timedelta(days=1),
        _FAILED: failed,
    }


def leftovers(graveler: Graveler, undelete_within: timedelta) -> Waiting:
    """Return the deleted repositories that wait for a cleaner."""
    return graveler.waiting(undelete_within=undelete_within)


def last_failures(instance: dg.DagsterInstance) -> int:
    """Return the number of objects that the last cleaner could not remove."""
    event = instance.get_latest_materialization_event(LEFTOVERS)
    made = None if event is None else event.asset_materialization
    found = None if made is None else made.metadata.get(_FAILED)
    return found.value if found is not None and isinstance(found.value, int) else 0


def evaluated(left: Waiting, failed: int, limit: timedelta) -> dict[str, Any]:
    """Return the result of the check that leftovers are removed in time.

    Args:
        left: Waiting repositories.
        failed: Number of objects that the last cleaner could not remove.
        limit: Maximum waiting time of a deleted repository.
    """
    return {
        "passed": _age(left) <= limit and not left.unreadable and not failed,
        "severity": dg.AssetCheckSeverity.WARN,
        "metadata": {**leftovers_metadata(left, failed), "days allowed": limit / timedelta(days=1)},
    }


def _age(left: Waiting) -> timedelta:
    return timedelta(0) if left.oldest is None else datetime.now(UTC) - left.oldest


def _failures(done: Cleaned) -> str:
    if not done.failures:
        return "none"
    lines = ["| item | reason |", "|---|---|"]
    lines += [f"| {escaped(what)} | {escaped(why)} |" for what, why in done.failures[:_SHOWN]]
    if done.failed > _SHOWN:
        lines.append(f"\n{done.failed - _SHOWN:,} more failed.")
    return "\n".join(lines)
