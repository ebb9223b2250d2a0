"""Records about the collection of data: objects of users that nothing names, which are condemned and later deleted.

See `gc.collection` for the states and the proof.
"""

from __future__ import annotations

import operator
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from graveler_core.model.entities import Record
from graveler_core.model.ids import CommitId, Nonce

REMEMBERED = timedelta(days=90)
"""Least time for which the addresses of deleted objects, and the ids of removed commits, are remembered. Until then,
the addresses cannot be staged, and nothing can be made to depend on the commits.
"""
NEVER_REACHED = "no branch or tag has reached it"
"""Rule of a commit that is removed as a whole: see `gc.unreached`."""


class CollectionState(StrEnum):
    """State of a set of condemned objects."""

    CONDEMNED = "condemned"
    """Nothing named the objects. They may not be staged any more, and wait for the end of the grace period."""
    DELETING = "deleting"
    """The grace period is over, and still nothing names the objects. They are being deleted."""
    DELETED = "deleted"
    """The objects are deleted."""


class Reason(StrEnum):
    """Reason for which an object is condemned."""

    UNNAMED = "unnamed"
    """Nothing named it."""
    EXPIRED = "expired"
    """Only commits that no retention rule keeps named it."""


class SortedFile(BaseModel):
    """File of sorted addresses or commit ids, with its bounds. All texts of the file are between them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    first: str
    last: str
    count: int = Field(ge=1)


class CondemnedSet(BaseModel):
    """Objects that are condemned together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Fresh for each set of addresses."""
    state: CollectionState
    since: datetime
    """Time at which the current state was entered."""
    unconfirmed: bool = Field(default=False, exclude_if=operator.not_)
    """While `condemned`: true until `since` was noted again, after the record listed the set."""
    files: tuple[SortedFile, ...]
    """Ordered by address."""
    objects: int = Field(ge=0)
    size: int = Field(ge=0)
    """Size of the objects in bytes."""
    expiring: tuple[SortedFile, ...] = Field(default=(), exclude_if=operator.not_)
    """While `condemned`: commits that are about to expire or to be removed, ordered by id."""
    revived: tuple[CommitId, ...] = Field(default=(), exclude_if=operator.not_)
    """While `condemned`: commits of `expiring` that stay as they are, because a flow needs them."""


class ExpiredCommits(BaseModel):
    """Commits whose content was deleted, except for content that something else names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Fresh for each set of commits."""
    files: tuple[SortedFile, ...]
    """Ordered by commit id."""


class RemovedCommits(BaseModel):
    """Commits that were removed as a whole within `REMEMBERED`, because no branch or tag had reached them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Fresh for each set of commits."""
    files: tuple[SortedFile, ...]
    """Ordered by commit id."""
    since: datetime
    """Time at which the newest of the commits were entered."""
    done: bool = False
    """True once these are deleted."""


class Expiry(BaseModel):
    """Expiry or removal of a commit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    since: datetime
    """Time at which a collection found that no rule keeps the commit, or that no branch or tag has reached it."""
    rule: str
    """Retention rule that kept the commit longest, or `NEVER_REACHED`."""
    final: bool = False
    """True if the commit has expired or was removed. False if it is about to: its content is still there."""

    @property
    def removes(self) -> bool:
        """True if the commit is removed, and not only its content."""
        return self.rule == NEVER_REACHED


class Collections(Record):
    """Collections of one repository. Every change is a swap with a fresh nonce."""

    current: CondemnedSet | None = None
    past: tuple[CondemnedSet, ...] = ()
    """Sets of objects that were deleted within `REMEMBERED`, newest first. Some contain older objects, too."""
    expired: ExpiredCommits | None = Field(default=None, exclude_if=operator.not_)
    """Commits whose content may be deleted. No commit leaves this set."""
    forever: CondemnedSet | None = Field(default=None, exclude_if=operator.not_)
    """Former sets, put together. Expired commits still show the addresses, so these are remembered for ever."""
    recording: datetime | None = Field(default=None, exclude_if=operator.not_)
    """Time at which all processes that change the repository were known to record former heads."""
    adopted: bool = Field(default=False, exclude_if=operator.not_)
    """True once the commits that nothing had reached until then are recorded as former heads, so that they stay."""
    removed: RemovedCommits | None = Field(default=None, exclude_if=operator.not_)
    replaced: dict[str, datetime] = Field(default_factory=dict, exclude_if=operator.not_)
    """Ids of sets that the record has listed before, with the times at which they were replaced. Their files stay for
    a grace period, because a restored backup of the database lists them again.
    """
    nonce: Nonce

    @property
    def sets(self) -> tuple[CondemnedSet, ...]:
        """All sets whose objects may not be staged."""
        return tuple(one for one in (self.current, *self.past, self.forever) if one is not None)

    @property
    def listed(self) -> set[str]:
        """Ids of all sets of files that the record lists."""
        return {one.id for one in (*self.sets, self.expired, self.removed) if one is not None}
