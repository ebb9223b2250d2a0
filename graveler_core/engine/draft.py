"""What a caller says about a commit before it exists, and how it becomes a header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from graveler_core.errors import InvalidInput
from graveler_core.model.entities import Commit, Layout, Operation
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit, prepare
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Registers, Stores

MAX_TEXT_BYTES = 32 * 1024
"""Of all texts as they are stored, control characters escaped: header and layers must fit into one value."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Message and origin of a commit, and how to treat an empty or repeated one."""

    message: str
    committer: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    allow_empty: bool = False
    idempotency_key: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.metadata, Mapping):
            raise InvalidInput(f"commit: metadata {self.metadata!r} must map text to text")
        texts = [self.message, self.committer, self.idempotency_key, *self.metadata, *self.metadata.values()]
        if not all(isinstance(text, str) for text in texts):
            raise InvalidInput("commit: message, committer and metadata must be text")
        try:
            size = sum(len(json.dumps(text, ensure_ascii=False).encode()) for text in texts)
        except UnicodeEncodeError as e:
            raise InvalidInput(f"commit: message and metadata must be valid Unicode ({e.reason})") from e
        if size > MAX_TEXT_BYTES:
            raise InvalidInput(f"commit: message and metadata are {size:,} bytes, may be at most {MAX_TEXT_BYTES:,}")


@dataclass(frozen=True, slots=True)
class Content:
    """What a commit holds, as its builder found it."""

    index: Index
    operations: str
    parents: tuple[StoredCommit, ...]
    nonce: Nonce
    consumed: tuple[str, ...] = ()


def build(
    stores: Stores, registers: Registers, draft: Draft, content: Content
) -> tuple[StoredCommit, list[tuple[bytes, bytes, bytes]]]:
    """A commit of some content on some parents, and the writes that store it."""
    header = Commit(
        committer=draft.committer,
        message=draft.message,
        creation_date=stores.clock.now(),
        parents=tuple(parent.id for parent in content.parents),
        metadata=dict(draft.metadata),
        generation=1 + max((parent.header.generation for parent in content.parents), default=0),
        nonce=content.nonce,
        consumed=content.consumed,
        operations=content.operations,
        idempotency_key=draft.idempotency_key,
    )
    commit, writes = prepare(registers.repository, header, Layout(index=content.index))
    # Nobody knows the id before the commit is stored and its branch moved; then the next flow needs it first.
    stores.commits.keep(keys.partition(registers.repository), commit)
    return commit, writes


def begin_operation(stores: Stores, registers: Registers, key: str) -> CommitId:
    """Register an idempotency key before the first attempt; gives the commit down to which to look for earlier ones.

    Raises:
        InvalidInput: the key was used on another branch.
    """
    branch = registers.branch
    where = keys.operation(registers.repository, key)
    known = access.read(stores.kv, where)
    if known is None:
        fresh = Operation(branch_uid=branch.uid, base=branch.commit_id, since=stores.clock.now())
        access.write_if_absent(stores.kv, where, fresh)
        known = access.read(stores.kv, where)
    if known is None or known.value.branch_uid != branch.uid:
        raise InvalidInput(f"idempotency key {key!r}: was used on another branch", key=key)
    return known.value.base
