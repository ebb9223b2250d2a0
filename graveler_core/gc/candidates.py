"""Objects of users in a storage namespace, and which of them something names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.port import LISTED
from graveler_core.gc.all_repositories import all_repositories
from graveler_core.gc.commit_groups import NO_GROUPS, CommitGroups, NamedBy
from graveler_core.gc.examined_objects import ExaminedObjects, Measured, measured, with_reasons
from graveler_core.gc.named_addresses import named_addresses
from graveler_core.gc.object_listing import ObjectListing, estimated_rows, of_uploads, texts
from graveler_core.gc.relative_addresses import relative_addresses
from graveler_core.gc.stock import Progress
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import AddressType
from graveler_core.objects.condemned import ADDRESSES
from graveler_core.objects.uploads import Uploads
from graveler_core.stores import Stores

_BATCH = 1_000_000
"""Number of names that are compared with the candidates at once."""


@dataclass(slots=True)
class Candidates:
    """Objects that may be collected. Memory holds about 60 bytes for each, and for each name of a batch."""

    objects: pa.Table
    """In `ADDRESSES` or `CONDEMNED`, sorted by address."""
    young: Measured = (0, 0)
    """Objects that are too young."""
    uploading: Measured = (0, 0)
    """Objects that belong to uploads in progress."""
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
        own: RepositoryRecord | None,
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
        if self.objects.num_rows:
            self.mark(_names(stores, uri, own, progress, groups))

    def mark(self, names: Iterable[tuple[NamedBy, pa.ChunkedArray]]) -> None:
        """Mark the objects with some addresses, which may occur many times."""
        waiting = _Waiting()
        for by, addresses in names:
            if waiting.by is not by or waiting.count >= _BATCH:
                self._mark(waiting)
                waiting = _Waiting(by)
            waiting.names.append(addresses)
            waiting.count += len(addresses)
        self._mark(waiting)

    def unnamed(self) -> pa.Table:
        """Return the objects that nothing names, except for expiring commits."""
        return self.objects.filter(pa.array(self.marks <= NamedBy.EXPIRING))

    def named(self) -> Measured:
        """Return the objects that something names, except for expiring commits."""
        return measured(self.objects.filter(pa.array(self.marks > NamedBy.EXPIRING)))

    def examined(self) -> ExaminedObjects:
        """Return the objects by their marks."""
        history = measured(self.objects.filter(pa.array(self.marks == NamedBy.HISTORY)))
        unnamed = with_reasons(self.unnamed(), self.marks[self.marks <= NamedBy.EXPIRING])
        return ExaminedObjects(unnamed, self.named(), history, self.young, self.uploading)

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
    stores: Stores, listing: ObjectListing, progress: Progress, too_many: Callable[[int], bool] = lambda rows: False
) -> Candidates | int:
    """List the namespace of a repository, or read its inventory.

    Args:
        stores: Stores of the flow.
        listing: Objects to list.
        progress: Called with the number of objects listed since the last call.
        too_many: Called with the estimated number of objects, from time to time. If it returns true, the listing ends.

    Returns:
        The candidates. If there are too many, their estimated number.
    """
    pages, rows, ask_at, parts = [LISTED.empty_table()], 0, 1, listing.parts(stores)
    for done, part in enumerate(parts, 1):
        for page in listing.read(stores, part):
            progress(page.num_rows)
            pages.append(page)
            rows += page.num_rows
            if rows >= ask_at:
                ask_at, expected = 2 * rows, estimated_rows(pages, parts, done)
                if too_many(expected):
                    return expected
    # Uploads are read after the listing: the record of an upload exists from before its first object until its entries
    # are committed or its objects are deleted.
    uploads = uploads_in_progress(stores, listing.repository)
    table = pa.concat_tables(pages)
    is_young = listing.is_young(table)
    of_upload = pc.and_(pc.invert(is_young), of_uploads(table.column("key"), uploads))
    groups = [_unique(table.filter(chosen)) for chosen in (pc.invert(pc.or_(is_young, of_upload)), is_young, of_upload)]
    return Candidates(groups[0], measured(groups[1]), measured(groups[2]))


def uploads_in_progress(stores: Stores, repo: RepositoryRecord) -> frozenset[str]:
    """Return the ids of the uploads that have not ended."""
    blobs = stores.blobs.at(repo.storage_namespace)
    return frozenset(Uploads(stores.kv, blobs, repo, stores.clock, stores.ids).standing_ids())


def named_within(table: pa.Table, uri: str, *, is_own: bool) -> pa.ChunkedArray:
    """Return the addresses in a namespace that entries name, relative to it.

    Args:
        table: Table with the columns `address` and `address_type`.
        uri: Storage namespace.
        is_own: True for entries of the repository that owns the namespace.
    """
    named = table if is_own else table.filter(pc.equal(table.column("address_type"), AddressType.FULL))
    return relative_addresses(named, uri).drop_null()


def _unique(listed: pa.Table) -> pa.Table:
    """Return each object once, in `ADDRESSES`, sorted. An inventory may list the versions of an object."""
    table = pa.table([texts(listed.column("key")), listed.column("size")], schema=ADDRESSES)
    if pc.count_distinct(table.column("address")).as_py() == table.num_rows:
        return table.sort_by("address")
    unique = table.group_by("address").aggregate([("size", "max")]).sort_by("address")
    return pa.table([unique.column("address"), unique.column("size_max")], schema=ADDRESSES)


def _names(
    stores: Stores, uri: str, own: RepositoryRecord | None, progress: Progress, groups: CommitGroups
) -> Iterator[tuple[NamedBy, pa.ChunkedArray]]:
    """Yield the addresses in a namespace that entries of any repository name, relative to it."""
    for one in all_repositories(stores.kv):
        is_own = own is not None and one.uid == own.uid
        for by, table in named_addresses(stores, one, progress, groups if is_own else NO_GROUPS):
            yield by if is_own else NamedBy.LIVE, named_within(table, uri, is_own=is_own)
