"""Metadata and check results of the asset `<repository>/storage`: bytes of content, and those that can be reclaimed.

The numbers are results of collections (`Repository.collect`), most of them dry runs.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.display.storage import objects_table, outcome, storage_plot
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler
    from graveler_core.gc.collected import Collected

CHECK = "little_to_reclaim"
GRACE = timedelta(days=7)
"""Default grace period of a collection."""
SHARE = 0.2
"""Default maximum share of reclaimable bytes in the content. A larger share fails the check."""
REMEMBERED = 200
"""Number of events in the plot of the asset."""
STORED, RECLAIMABLE = "bytes", "reclaimable bytes"
_RECLAIMABLE_SHARE = "reclaimable share"


def storage_key(repository: str) -> dg.AssetKey:
    """Return the key of the asset for a repository."""
    return dg.AssetKey([repository, "storage"])


def storage(graveler: Graveler, repository: str, grace: timedelta) -> Collected | None:
    """Measure the content of a repository by a dry run of a collection; `None` if the repository does not exist.

    Args:
        graveler: The store.
        repository: Name of the repository.
        grace: Grace period.
    """
    from graveler_core.errors import Kind, NotFound

    try:
        return graveler.repository(repository).collect(grace=grace, dry_run=True)
    except NotFound as missing:
        if missing.kind is not Kind.RepositoryNotFound:
            raise
        return None


def reclaimable(done: Collected | None) -> int:
    """Return the number of bytes that collections can delete, now or after the grace period."""
    if done is None:
        return 0
    # A real collection has deleted what was due, and what it condemned is waiting.
    return done.waiting_size + (done.deleted_size + done.condemned_size if done.dry_run else 0)


def stored(done: Collected | None) -> int:
    """Return the number of bytes of content in the namespace."""
    if done is None:
        return 0
    return reclaimable(done) + done.named_size + done.young_size + done.uploading_size


def storage_metadata(instance: dg.DagsterInstance, repository: str, done: Collected | None) -> dict[str, Any]:
    """Return the metadata of one measurement: numbers that Dagster plots, a table, and a plot of the history.

    The plot is left out if matplotlib is not installed.

    Args:
        instance: Dagster instance with the history.
        repository: Name of the repository.
        done: The collection; `None` if the repository does not exist.
    """
    points = [*history(instance, repository), (datetime.now(UTC), stored(done), reclaimable(done))]
    return {
        "outcome": outcome(repository, done),
        **_numbers(stored(done), reclaimable(done)),
        **({} if done is None else {"objects": dg.MetadataValue.md(objects_table(done))}),
        **({"history": storage_plot(points)} if find_spec("matplotlib") else {}),
    }


def history(instance: dg.DagsterInstance, repository: str) -> list[tuple[datetime, int, int]]:
    """Return earlier measurements, oldest first: time, bytes of content, reclaimable bytes."""
    points = []
    for record in reversed(instance.fetch_materializations(storage_key(repository), limit=REMEMBERED).records):
        numbers = _read(record.asset_materialization)
        if numbers is not None:
            points.append((datetime.fromtimestamp(record.timestamp, UTC), *numbers))
    return points


def last_measured(instance: dg.DagsterInstance, repository: str) -> tuple[datetime, int, int] | None:
    """Return the last measurement: time, bytes of content, reclaimable bytes. `None` if there was none."""
    event = instance.get_latest_materialization_event(storage_key(repository))
    numbers = None if event is None else _read(event.asset_materialization)
    return None if event is None or numbers is None else (datetime.fromtimestamp(event.timestamp, UTC), *numbers)


def evaluated(at: datetime, stored_bytes: int, reclaimable_bytes: int, share: float) -> dict[str, Any]:
    """Return the result of the check that little can be reclaimed.

    Args:
        at: Time of the measurement.
        stored_bytes: Bytes of content in the namespace.
        reclaimable_bytes: Bytes of this content that collections can delete.
        share: Allowed share.
    """
    found = _share(stored_bytes, reclaimable_bytes)
    return {
        "passed": found <= share,
        "severity": dg.AssetCheckSeverity.WARN,
        "description": f"{found:.0%} of the content can be reclaimed: {reclaimable_bytes:,} of "
        f"{counted(stored_bytes, 'byte')}. "
        f"Allowed: {share:.0%}.",
        "metadata": {
            **_numbers(stored_bytes, reclaimable_bytes),
            "allowed share": share,
            "measured": dg.MetadataValue.timestamp(at),
        },
    }


def _numbers(stored_bytes: int, reclaimable_bytes: int) -> dict[str, Any]:
    share = _share(stored_bytes, reclaimable_bytes)
    return {STORED: stored_bytes, RECLAIMABLE: reclaimable_bytes, _RECLAIMABLE_SHARE: share}


def _share(stored_bytes: int, reclaimable_bytes: int) -> float:
    return reclaimable_bytes / stored_bytes if stored_bytes else 0.0


def _read(made: dg.AssetMaterialization | None) -> tuple[int, int] | None:
    values = {} if made is None else made.metadata
    found = [values[name].value if name in values else None for name in (STORED, RECLAIMABLE)]
    numbers = [value for value in found if isinstance(value, int)]
    return (numbers[0], numbers[1]) if len(numbers) == len(found) else None
