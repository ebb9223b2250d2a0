"""Writing single entries. Source: seed 003, writer flow.

1. Repository and branch records, from the cache where they are.
2. Set the record in the staging token. A crash after it leaves a write that was not acknowledged and may be seen.
3. The closing re-read of both records, past the cache: the same repository, branch and staging token prove that no
   commit began in between, so the write is in a token that every later commit takes. Otherwise it is written again,
   into the new token: writing the same entry twice is no change.

Each attempt asks first whether the repository lets the branch be written to. The first may ask a copy that is out of
date; where the re-read shows a rule that forbids the write, the next attempt refuses it. What an earlier attempt has
set then stands, and may be seen: that is an unknown outcome, as is any failure after a set. Where nothing was set it
is a plain refusal.

There is no swap: the staged area is not linearizable (seed 003, non-guarantees), the branch head is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from graveler_core.codec.entry import normalise_record
from graveler_core.engine import counting
from graveler_core.engine.permitted import require_permitted
from graveler_core.engine.registers import same_token, settled
from graveler_core.errors import InvalidInput, OutcomeUnknown, PermissionDenied, SlowDown, Unavailable
from graveler_core.kv.bulk import set_many, sets_atomically
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.names import path_key
from graveler_core.model.protection import Action
from graveler_core.records import layout as keys
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes to upload, and what to say of them."""

    data: bytes
    content_type: str | None = None
    metadata: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.data, bytes):
            raise InvalidInput(f"content of type {type(self.data).__name__}: must be bytes, or a file that gives bytes")


def stage(stores: Stores, repo: RepositoryId, branch: BranchId, path: str, entry: Entry) -> Entry:
    """Stage an entry whose content is already somewhere; gives it as it was staged, with path and identity."""
    staged, record = normalise_record(path, entry)
    set_records(stores, repo, branch, lambda registers: [(path_key(path), record)])
    return staged


def put(stores: Stores, repo: RepositoryId, branch: BranchId, path: str, content: Content) -> Entry:
    """Upload content below the repository's storage namespace, then stage its entry."""
    path_key(path)
    checksum = f"sha256:{hashlib.sha256(content.data).hexdigest()}"
    uploaded: dict[str, tuple[Entry, bytes]] = {}

    def records(registers: Registers) -> list[tuple[bytes, bytes]]:
        uid = registers.repository.uid
        if uid not in uploaded:
            address = f"data/{stores.ids.fresh()}"
            stores.blobs.at(registers.repository.storage_namespace).create(address, content.data)
            entry = Entry(
                address=address,
                address_type=AddressType.RELATIVE,
                size=len(content.data),
                checksum=checksum,
                content_type=content.content_type,
                metadata=content.metadata or {},
                mtime=stores.clock.now(),
            )
            uploaded.clear()
            uploaded[uid] = normalise_record(path, entry)
        return [(path_key(path), uploaded[uid][1])]

    set_records(stores, repo, branch, records)
    return next(iter(uploaded.values()))[0]


def set_records(
    stores: Stores,
    repo: RepositoryId,
    branch: BranchId,
    records: Callable[[Registers], Sequence[tuple[bytes, bytes]]],
    *,
    tombstones: int = 0,
) -> None:
    """Set records by path in whatever staging token stands, until the closing re-read finds that it stood meanwhile.

    Args:
        records: What to set, given the registers that it is set under.
        tombstones: How many of them are.

    Raises:
        PermissionDenied: the branch is protected from writes, or the repository is read-only; nothing was set.
        OutcomeUnknown: some of it may have been set, and whether it counts could not be told.
    """
    maybe_written = False

    def attempt(registers: Registers) -> tuple[Registers, int]:
        nonlocal maybe_written
        require_permitted(registers, Action.WRITE)
        partition = keys.staging(registers.branch.staging_token)
        rows = [(partition, keys.staged(path), record) for path, record in records(registers)]
        try:
            set_many(stores.kv, rows)
        except (SlowDown, Unavailable):
            maybe_written |= len(rows) > 1 and not sets_atomically(stores.kv)
            raise
        except OutcomeUnknown:
            maybe_written = True
            raise
        maybe_written = True
        return registers, len(rows)

    try:
        used, written = settled(stores, repo, branch, attempt, same=same_token)
    except (SlowDown, Unavailable, PermissionDenied) as e:
        if not maybe_written:
            raise
        raise OutcomeUnknown(
            f"branch {branch!r}: perhaps written, and whether the branch takes it could not be told ({e.message})",
            branch=branch,
        ) from e
    counting.count(stores, used, written, tombstones)
