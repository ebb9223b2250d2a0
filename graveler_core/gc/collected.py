"""Result of a collection."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(slots=True)
class Collected:
    """Result of a collection, or the expected result of a dry run. Sizes are in bytes."""

    dry_run: bool
    deleted: int = 0
    """Number of objects that were deleted. In a dry run: that are condemned, due, and still without a name."""
    deleted_size: int = 0
    spared: int = 0
    """Number of condemned objects that were kept: something names them, or another program has written them again."""
    spared_size: int = 0
    condemned: int = 0
    """Number of objects that were condemned. In a dry run: that would be."""
    condemned_size: int = 0
    named: int = 0
    """Number of objects that something names."""
    named_size: int = 0
    young: int = 0
    """Number of objects that were kept because they are younger than the grace period."""
    young_size: int = 0
    uploading: int = 0
    """Number of objects that were kept because they belong to an upload in progress."""
    uploading_size: int = 0
    waiting: int = 0
    """Number of condemned objects that wait for the end of their grace period."""
    waiting_size: int = 0
    due: datetime | None = None
    """Time from which on a collection deletes the waiting objects."""
    waiting_files: tuple[str, ...] = ()
    """URIs of such files as `files` with the waiting objects."""
    history: int = 0
    """Number of objects among `named` that are named only by commits that are neither heads nor tags."""
    history_size: int = 0
    condemned_expired: int = 0
    """Number of objects among `condemned` that only expiring commits name."""
    condemned_expired_size: int = 0
    deleted_expired: int = 0
    """Number of objects among `deleted` that only expired commits named."""
    deleted_expired_size: int = 0
    expiring: int = 0
    """Number of commits that begin to expire. In a dry run: that would."""
    expired: int = 0
    """Number of commits that have expired now. In a dry run: that would have."""
    revived: int = 0
    """Number of commits that had begun to expire or were announced to be removed, and stay, because a rule, a reference
    or a flow needs them now.
    """
    unreached: int = 0
    """Number of commits that were announced to be removed, because no branch or tag has ever reached them. In a dry
    run: that would be.
    """
    removed: int = 0
    """Number of such commits that were removed now. In a dry run: that would have been."""
    files: tuple[str, ...] = ()
    """URIs of the Parquet files that list the deleted objects: `address`, `size` and `reason`. Empty in a dry run."""
