"""Records about the collection of data: objects of users that nothing names, which are condemned and later deleted.

See `gc.collection` for the states and the proof.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from graveler_core.model.entities import Record
from graveler_core.model.ids import Nonce

REMEMBERED = timedelta(days=90)
"""Time for which the addresses of deleted objects are remembered, so that they cannot be staged again."""


class CollectionState(StrEnum):
    """State of a set of condemned objects."""

    CONDEMNED = "condemned"
    """Nothing named the objects. They may not be staged any more, and wait for the end of the grace period."""
    DELETING = "deleting"
    """The grace period is over, and still nothing names the objects. They are being deleted."""
    DELETED = "deleted"
    """The objects are deleted."""


class AddressFile(BaseModel):
    """File of sorted addresses, with its bounds."""

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
    files: tuple[AddressFile, ...]
    """Ordered by address."""
    objects: int = Field(ge=0)
    size: int = Field(ge=0)
    """Size of the objects in bytes."""


class Collections(Record):
    """Collections of one repository. Every change is a swap with a fresh nonce."""

    current: CondemnedSet | None = None
    past: tuple[CondemnedSet, ...] = ()
    """Sets whose objects were deleted within `REMEMBERED`, newest first."""
    nonce: Nonce

    @property
    def sets(self) -> tuple[CondemnedSet, ...]:
        """All sets whose objects may not be staged."""
        return self.past if self.current is None else (self.current, *self.past)
