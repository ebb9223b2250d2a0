"""Deletion of user data that failed jobs have stored: uploads that are older than the grace period (`objects.uploads`).

Only objects below the prefix of a recorded upload are deleted, whose names graveler has chosen and to which no entry
has ever referred. No entry needs to be read for that. All other objects are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from graveler_core.blobs.deletion import RefusedDeletions
from graveler_core.errors import CorruptData
from graveler_core.model.clock import is_far_ahead
from graveler_core.model.entities import UploadState
from graveler_core.objects.uploads import Uploads, prefix
from graveler_core.records import access
from graveler_core.records import layout as keys


@dataclass(slots=True)
class Purged:
    """Outcomes for the examined uploads."""

    uploads: int = 0
    """Number of uploads that were given up and whose objects were deleted."""
    blobs: int = 0
    size: int = 0
    """Size of the deleted objects in bytes."""
    young: int = 0
    rest: int = 0
    """Number of uploads left because the limit was reached."""
    unreadable: int = 0
    """Number of uploads that were kept because their records are damaged."""
    refused: RefusedDeletions = field(default_factory=RefusedDeletions)
    """Objects that the store refuses to delete. Their uploads stay recorded."""


def purge(uploads: Uploads, cutoff: datetime, most: int, *, dry_run: bool) -> Purged:
    """Delete the objects of uploads that did not change since `cutoff`, until at least `most` of them are deleted.

    Raises:
        SlowDown, Unavailable, OutcomeUnknown: Some objects may be deleted; purge again.
    """
    done = Purged()

    def deleted(size: int) -> None:
        done.blobs += 1
        done.size += size

    def damaged(error: CorruptData) -> None:
        done.unreadable += Uploads.is_id(error.details["record"])

    for id, found in uploads.standing(damaged):
        is_wrong = is_far_ahead(found.value.since, uploads.clock.now())
        held = uploads.restarted(id, found) if is_wrong and not dry_run else found
        old = held.value.since <= cutoff
        if held.value.state is UploadState.NAMING:
            if old and not dry_run:  # entries may refer to them
                access.remove(uploads.kv, keys.uploads(uploads.repository).at(id), held)
            continue
        if not old and held.value.state is UploadState.UPLOADING:
            done.young += 1
        elif done.blobs >= most:
            done.rest += 1
        elif dry_run:
            done.uploads += 1
            for size in _sizes(uploads, id):
                deleted(size)
        elif held.value.state is UploadState.PURGING:
            left = uploads.delete(id, deleted)
            done.refused.extend(left)
            if old and not left.count:
                access.remove(uploads.kv, keys.uploads(uploads.repository).at(id), held)
        elif uploads.purging(id, held) is not None:
            done.uploads += 1
            done.refused.extend(uploads.delete(id, deleted))
    if not dry_run:
        for id in uploads.orphans(cutoff):
            uploads.forget_parts(id)
    return done


def _sizes(uploads: Uploads, id: str) -> Iterator[int]:
    return (blob.size for blob in uploads.blobs.list(prefix(id)))
