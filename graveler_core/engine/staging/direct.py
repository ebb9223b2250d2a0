"""Content that clients upload straight to the object store: the flow hands out an address, and stages it afterwards.

1. Hand out a fresh random address. Nothing is written.
2. The client stores the object there, with a signed URL or with its own access to the store.
3. Read the object's metadata: it must exist and have the size that the client says.
4. Stage the entry, as `write.stage` or `conditional.stage_if_absent` does, provided that the repository is the one in
   which the object was found. This is the only step that others see.

A crash, or a client that never returns, leaves at most an object that nothing names, which a collection deletes. The
object may be older than the grace period of a collection when it is staged. Staging then refuses it if it is condemned,
as it refuses every such address.

The address has 128 random bits, so only a caller that was told it can name it. Whoever holds the signed URL can replace
the object until the URL expires, also after it was staged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.staging import conditional, write
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.model.counting import counted
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.names import path_key
from graveler_core.model.protection import BranchAction
from graveler_core.stores import Stores

_ADDRESS: Final = re.compile(r"data/[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class DirectUpload:
    """Address at which a client may store content."""

    address: str
    """Address relative to the storage namespace."""
    uri: str
    """Absolute URI of the object."""
    url: str | None
    """Signed URL that takes the content with PUT, if one was asked for."""


def begin(stores: Stores, repo: RepositoryId, branch: BranchId, path: str, expires: int | None) -> DirectUpload:
    """Return a fresh address and, unless `expires` is `None`, a signed URL that is valid for `expires` seconds.

    Raises:
        PermissionDenied: The branch is protected from writes, or the repository is read-only.
        InvalidInput: The store does not sign URLs.
    """
    path_key(path)
    registers = fresh(stores, repo, branch)
    require_permitted(registers, BranchAction.WRITE)
    blobs = stores.blobs.at(registers.repository.storage_namespace)
    address = f"data/{stores.ids.fresh()}"
    url = None if expires is None else blobs.presigned(address, expires, upload=True)
    return DirectUpload(address, blobs.uri(address), url)


def link(  # noqa: PLR0913 - the branch, the entry, and the condition
    stores: Stores, repo: RepositoryId, branch: BranchId, path: str, entry: Entry, *, if_absent: bool
) -> Entry:
    """Stage an entry for an object that a client has stored at an address of `begin`.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        path: Path of the entry.
        entry: The entry, with the address relative to the storage namespace.
        if_absent: Refuse a path that has an entry.

    Returns:
        The entry as it was staged.

    Raises:
        InvalidInput: The address is not one of `begin`, or the object has another size.
        NotFound: There is no object at the address (`ObjectNotFound`); or the repository was deleted meanwhile, and
            another one has its name (`RepositoryNotFound`).
        NotUnique: With `if_absent`, the path has an entry (`PathExists`).
    """
    path_key(path)
    address = entry.address or ""
    if entry.address_type is not AddressType.RELATIVE or not _ADDRESS.fullmatch(address):
        raise InvalidInput(f"address {address!r}: must be one that was handed out for an upload", address=address)
    registers = fresh(stores, repo, branch)
    found = stores.blobs.at(registers.repository.storage_namespace).head(address)
    if found is None:
        raise NotFound(
            f"address {address!r}: there is no object; upload it first", kind=Kind.ObjectNotFound, address=address
        )
    if found.size != entry.size:
        raise InvalidInput(
            f"address {address!r}: the object has {counted(found.size, 'byte')}, and the request says {entry.size:,}",
            address=address,
        )
    if entry.mtime is None:
        entry = replace(entry, mtime=found.mtime)
    flow = conditional.stage_if_absent if if_absent else write.stage
    return flow(stores, repo, branch, path, entry, uid=registers.repository.uid)
