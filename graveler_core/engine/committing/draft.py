"""Input of a caller for a commit that does not exist yet, and its conversion to a header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from graveler_core.errors import InvalidInput
from graveler_core.model.commit_texts import require_texts
from graveler_core.model.entities import Commit, Layout, Operation
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit, prepare
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class Draft:
    """Message and origin of a commit, and treatment of an empty or repeated commit."""

    message: str
    committer: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    allow_empty: bool = False
    idempotency_key: str = ""
    date: datetime | None = None
    """Creation date of the commit. `None` means the time at which it is made."""

    def __post_init__(self) -> None:
        require_texts(self.message, self.committer, self.metadata, self.idempotency_key)
        if self.date is not None and (not isinstance(self.date, datetime) or self.date.tzinfo is None):
            raise InvalidInput(f"date {self.date!r}: must be a datetime with a time zone")


@dataclass(frozen=True, slots=True)
class CommitContent:
    """Content of a commit, as its builder produced it."""

    index: Index
    operations: str
    parents: tuple[StoredCommit, ...]
    nonce: Nonce
    consumed: tuple[str, ...] = ()


def new_commit(
    stores: Stores, registers: Registers, draft: Draft, content: CommitContent
) -> tuple[StoredCommit, list[tuple[bytes, bytes, bytes]]]:
    """Return a commit with the given content and parents, and the writes that store it."""
    header = Commit(
        committer=draft.committer,
        message=draft.message,
        creation_date=stores.clock.now() if draft.date is None else draft.date.astimezone(UTC),
        parents=tuple(parent.id for parent in content.parents),
        metadata=dict(draft.metadata),
        generation=1 + max((parent.header.generation for parent in content.parents), default=0),
        nonce=content.nonce,
        consumed=content.consumed,
        operations=content.operations,
        idempotency_key=draft.idempotency_key,
    )
    commit, writes = prepare(registers.repository, header, Layout(index=content.index))
    # The id is not used by others before the commit is stored and its branch moved. The next flow is then the first
    # reader.
    stores.commits.keep(keys.partition(registers.repository), commit)
    return commit, writes


def begin_operation(stores: Stores, registers: Registers, key: str) -> CommitId:
    """Register an idempotency key before the first attempt.

    Returns:
        The oldest commit down to which a search for earlier attempts must go.

    Raises:
        InvalidInput: The key was used on another branch.
    """
    branch = registers.branch
    known = begun_operation(stores, registers, key)
    for _ in range(2):  # a cleaner may remove the record of an earlier use between the first write and its reading
        if known is None:
            fresh = Operation(branch_uid=branch.uid, base=branch.commit_id, since=stores.clock.now())
            access.write_if_absent(stores.kv, keys.operation(registers.repository, key), fresh)
            known = begun_operation(stores, registers, key)
    if known is None:
        raise _used_elsewhere(key)
    return known


def begun_operation(stores: Stores, registers: Registers, key: str) -> CommitId | None:
    """Return the result of `begin_operation` if the key is registered, and `None` otherwise. Write nothing."""
    known = access.read(stores.kv, keys.operation(registers.repository, key))
    if known is not None and known.value.branch_uid != registers.branch.uid:
        raise _used_elsewhere(key)
    return None if known is None else known.value.base


def _used_elsewhere(key: str) -> InvalidInput:
    return InvalidInput(f"idempotency key {key!r}: was used on another branch", key=key)
