"""Guard of the one write by which a change of access control can take permissions away."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from graveler_core.model.iam import Attachment, Credential, Membership
from graveler_core.model.ids import UserId
from graveler_core.records.location import Location


class ChangeGuard(Protocol):
    """Context in which a flow sends one compare-and-swap, or one conditional deletion, of a record that it has read
    before it entered the context. If the write fails, the flow leaves the context and reads the record again.
    """

    def __call__(
        self, where: Location[Any], value: bytes | None, user: UserId | None = None, /
    ) -> AbstractContextManager[object]:
        """Allow the change, or raise an error.

        Args:
            where: Location of the record.
            value: New value of the record. `None` means that the record is removed, or grants nothing any more.
            user: The only user whose permissions depend on the record. `None` means that there may be several.
        """
        ...


def unguarded(where: Location[Any], value: bytes | None, user: UserId | None = None, /) -> nullcontext[None]:
    """Allow every change."""
    return nullcontext()


def is_same(now: Membership | Attachment | Credential, before: Membership | Attachment | Credential) -> bool:
    """Return true if a record is equal to an earlier one, except for the nonce."""
    return now == before.model_copy(update={"nonce": now.nonce})
