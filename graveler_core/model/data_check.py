"""Record about checks of user data: when the last ones were complete, and how far an unfinished one is.

See `gc.data_check_record`.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from graveler_core.model.entities import Record
from graveler_core.model.ids import Nonce


class CompleteCheck(BaseModel):
    """A check that was complete."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    began: datetime
    """Beginning of the check. Objects that were stored later were not checked."""
    problems: int = Field(ge=0)
    """Number of objects that were missing or damaged."""


class UnfinishedCheck(BaseModel):
    """A check of checksums that has not reached the end."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    began: datetime
    through: str
    """The objects up to this address, in the order of addresses, were read."""
    damaged: tuple[str, ...] = ()
    """Addresses among them whose objects were damaged. They are read again, so that they are reported again."""


class DataChecks(Record):
    """Checks of the user data of one repository. Every change is a swap with a fresh nonce."""

    sizes: CompleteCheck | None = None
    """Last complete check of existence and size."""
    checksums: CompleteCheck | None = None
    """Last complete check of checksums."""
    unfinished: UnfinishedCheck | None = None
    nonce: Nonce
