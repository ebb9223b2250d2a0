"""What deletions left on the store as Dagster keeps it: metadata and check of the asset `graveler/leftovers`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg

from orchestration.display.diff import escaped

if TYPE_CHECKING:
    from graveler_core.engine.cleaning import Cleaned, Waiting
    from graveler_core.facade.graveler import Graveler

LEFTOVERS = dg.AssetKey(["graveler", "leftovers"])
CHECK = "cleaned_in_time"
UNDELETE_WITHIN = timedelta(days=7)
"""So long deleted repositories are left, unless said otherwise."""
BOUND = timedelta(days=1)
"""How much later than it might be emptied a repository may still be there."""
_FAILED = "failed"
_SHOWN = 50
_REMOVED = ("repositories", "deletions", "layers", "rows", "files", "records", "keys", "counters", "claims")
_LEFT = ("waiting", "late", "contested", _FAILED)


def cleaned_metadata(done: Cleaned, seconds: float) -> dict[str, Any]:
    """What a cleaner removed, what it left, how long it took, and what failed."""
    removed = {f"removed {name}": getattr(done, name) for name in _REMOVED}
    left = {name if name == _FAILED else f"left {name}": getattr(done, name) for name in _LEFT}
    return {**removed, **left, "seconds": seconds, "failures": dg.MetadataValue.md(_failures(done))}


def leftovers_metadata(left: Waiting, failed: int) -> dict[str, Any]:
    """What waits for a cleaner.

    Args:
        failed: What the cleaner that ran last could not remove.
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
    """The deleted repositories that wait for a cleaner."""
    return graveler.waiting(undelete_within=undelete_within)


def last_failures(instance: dg.DagsterInstance) -> int:
    """What the cleaner that ran last could not remove."""
    event = instance.get_latest_materialization_event(LEFTOVERS)
    made = None if event is None else event.asset_materialization
    found = None if made is None else made.metadata.get(_FAILED)
    return found.value if found is not None and isinstance(found.value, int) else 0


def evaluated(left: Waiting, failed: int, limit: timedelta) -> dict[str, Any]:
    """Whether leftovers are cleaned up in time: what a check answers.

    Args:
        limit: How long a deleted repository may wait.
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
    lines = ["| what | why |", "|---|---|"]
    lines += [f"| {escaped(what)} | {escaped(why)} |" for what, why in done.failures[:_SHOWN]]
    if done.failed > _SHOWN:
        lines.append(f"\n{done.failed - _SHOWN:,} more failed.")
    return "\n".join(lines)
