"""Objects of users in a storage namespace, and which of them something names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.gc.all_repositories import all_repositories
from graveler_core.gc.commit_groups import NO_GROUPS, CommitGroups, NamedBy
from graveler_core.gc.named_addresses import named_addresses
from graveler_core.gc.relative_addresses import relative_addresses
from graveler_core.gc.stock import CONTENT, Progress
from graveler_core.model.address import STORE_DIRECTORY
from graveler_core.model.collection import Reason
from graveler_core.model.entities import Repository
from graveler_core.model.entry import AddressType
from graveler_core.objects.condemned import ADDRESSES, CONDEMNED
from graveler_core.objects.uploads import Uploads
from graveler_core.stores import Stores

CREATED = re.compile(r"data/([0-9a-f]{32})(?:/.*)?", re.DOTALL)
"""Addresses that graveler gives to content: by `put` and `upload`, or below the prefix of an upload."""
_BATCH = 1_000_000
"""Number of names that are compared with the candidates at once."""


@dataclass(slots=True)
class Candidates:
    """Objects that may be collected. Memory holds about 60 bytes for each, and for each name of a batch."""

    objects: pa.Table
    """In `ADDRESSES` or `CONDEMNED`, sorted by address."""
    young: tuple[int, int] = (0, 0)
    """Number and size of objects that are too young."""
    uploading: tuple[int, int] = (0, 0)
    """Number and size of objects that belong to uploads in progress."""
    marks: npt.NDArray[np.int8] = field(init=False)
    """Value of `NamedBy` for each object."""

    def __post_init__(self) -> None:
        self.objects = self.objects.combine_chunks()
        self.marks = np.zeros(self.objects.num_rows, np.int8)

    def without(self, objects: pa.Table) -> Candidates:
        """Return the candidates without some objects."""
        kept = pc.invert(pc.is_in(self.objects.column("address"), value_set=objects.column("address")))
        return Candidates(self.objects.filter(kept), self.young, self.uploading)

    def mark_named(
        self,
        stores: Stores,
        uri: str,
        own: Repository | None,
        progress: Progress,
        groups: CommitGroups = NO_GROUPS,
    ) -> None:
        """Mark the objects that entries of the repositories of the store name.

        Args:
            stores: Stores of the flow.
            uri: Storage namespace that contains the objects.
            own: Repository that owns the namespace. Its entries have addresses relative to it.
            progress: Called with the number of items examined since the last call.
            groups: Commits of `own` with a special treatment. The commits of other repositories all count as live.

        Raises:
            CorruptData: An item that names objects is missing or damaged.
        """
        if not self.objects.num_rows:
            return
        waiting = _Waiting()
        for by, addresses in _names(stores, uri, own, progress, groups):
            if waiting.by is not by or waiting.count >= _BATCH:
                self._mark(waiting)
                waiting = _Waiting(by)
            waiting.names.append(addresses)
            waiting.count += len(addresses)
        self._mark(waiting)

    def unnamed(self) -> pa.Table:
        """Return the objects that nothing names, except for expiring commits."""
        return self.objects.filter(pa.array(self.marks <= NamedBy.EXPIRING))

    def to_condemn(self) -> pa.Table:
        """Return the objects of `unnamed` with the reasons, as a table in `CONDEMNED`."""
        unnamed = self.unnamed()
        expiring = self.marks[self.marks <= NamedBy.EXPIRING] == NamedBy.EXPIRING
        reasons = np.where(expiring, Reason.EXPIRED.value, Reason.UNNAMED.value)
        return pa.table([*unnamed.columns, pa.array(reasons, pa.string())], schema=CONDEMNED)

    def named(self) -> tuple[int, int]:
        """Return number and size of the objects that something names, except for expiring commits."""
        return self._measured(self.marks > NamedBy.EXPIRING)

    def named_by(self, by: NamedBy) -> tuple[int, int]:
        """Return number and size of the objects with a mark."""
        return self._measured(self.marks == by)

    def _measured(self, chosen: npt.NDArray[np.bool_]) -> tuple[int, int]:
        return int(chosen.sum()), pc.sum(self.objects.column("size").filter(pa.array(chosen))).as_py() or 0

    def _mark(self, waiting: _Waiting) -> None:
        chunks = [chunk for addresses in waiting.names for chunk in addresses.chunks]
        names = pc.unique(pa.chunked_array(chunks, pa.string()))
        found = pc.is_in(self.objects.column("address"), value_set=names).to_numpy().astype(np.bool_)
        self.marks[found] = np.maximum(self.marks[found], waiting.by)


@dataclass(slots=True)
class _Waiting:
    """Names that are about to be compared with the candidates."""

    by: NamedBy = NamedBy.NOTHING
    names: list[pa.ChunkedArray] = field(default_factory=list)
    count: int = 0


def list_candidates(
    stores: Stores, repo: Repository, cutoff: datetime, progress: Progress, *, foreign: bool = False
) -> Candidates:
    """List the namespace of a repository.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        cutoff: Objects that were written later are no candidates.
        progress: Called with the number of objects listed since the last call.
        foreign: True to include objects that graveler has not created, except records of key-value stores.
    """
    addresses, sizes, young, young_size = list[str](), list[int](), 0, 0
    blobs = stores.blobs.at(repo.storage_namespace)
    for blob in blobs.list("" if foreign else "data/"):
        progress(1)
        if blob.address.startswith(CONTENT) or not (foreign or CREATED.fullmatch(blob.address)):
            continue
        if STORE_DIRECTORY in blob.address.split("/"):
            continue
        if blob.mtime > cutoff:
            young += 1
            young_size += blob.size
        else:
            addresses.append(blob.address)
            sizes.append(blob.size)
    # Uploads are read after the listing: the record of an upload exists from before its first object until its entries
    # are committed or its objects are deleted.
    standing = {id for id, _ in Uploads(stores.kv, blobs, repo, stores.clock, stores.ids).standing()}
    kept = [address.split("/")[1] not in standing if CREATED.fullmatch(address) else True for address in addresses]
    table = pa.table([pa.array(addresses, pa.string()), pa.array(sizes, pa.int64())], schema=ADDRESSES)
    chosen = table.filter(pa.array(kept, pa.bool_()))
    uploading = len(kept) - sum(kept), sum(sizes) - (pc.sum(chosen.column("size")).as_py() or 0)
    return Candidates(chosen, (young, young_size), uploading)


def _names(
    stores: Stores, uri: str, own: Repository | None, progress: Progress, groups: CommitGroups
) -> Iterator[tuple[NamedBy, pa.ChunkedArray]]:
    """Yield the addresses in a namespace that entries of any repository name, relative to it."""
    for one in all_repositories(stores.kv):
        is_own = own is not None and one.uid == own.uid
        for by, table in named_addresses(stores, one, progress, groups if is_own else NO_GROUPS):
            named = table if is_own else table.filter(pc.equal(table.column("address_type"), AddressType.FULL))
            yield by if is_own else NamedBy.LIVE, relative_addresses(named, uri).drop_null()
