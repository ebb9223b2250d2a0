"""Listing of the objects of users in a storage namespace, whole or in partitions, or an inventory instead of it.

An inventory shows an earlier state, so an object in it may have been deleted or written again. Each object that nothing
names is therefore looked up before it is condemned (`still_there`). An object that exists, that is older than the grace
period, and that graveler has created, is one that a listing at this moment would contain. So the objects that are
condemned with an inventory are among those that would be condemned with a listing: an old inventory can make a
collection find too little, and never too much. Condemned objects then wait for the grace period, and all names are read
again, as always.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, pairwise, takewhile

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.addresses import DATA
from graveler_core.blobs.inventory import InventoryFile, InventoryFiles
from graveler_core.blobs.port import LISTED, BlobInfo, starts_at_any_key
from graveler_core.errors import InvalidInput
from graveler_core.gc.stock import CONTENT
from graveler_core.model.address import STORE_DIRECTORY, namespace
from graveler_core.model.entities import RepositoryRecord
from graveler_core.objects.condemned import ADDRESSES
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Stores

CREATED = re.compile(r"data/[0-9a-f]{32}(?:/.*)?", re.DOTALL)
"""Addresses that graveler gives to content: by `put` and `upload`, or below the prefix of an upload."""
_STORE = rf"(?s)(\A|/){STORE_DIRECTORY}(/|\z)"
"""Pattern of the records of key-value stores in buckets."""
_CREATED = rf"(?s)\A{CREATED.pattern}\z"
_UPLOAD = len(DATA), len(DATA) + 32
"""Position of the id of an upload in an address."""
_PAGE = 65_536
"""Number of objects in a page of a listing."""
_MANY = 1_000
"""Number of different addresses in a page from which on their position is a good estimate."""
_DIGITS = 8
"""Number of hexadecimal digits of a split point."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Addresses greater than `after`, up to and including `through`."""

    after: str = ""
    through: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectListing:
    """Objects of users in the namespace of a repository."""

    repository: RepositoryRecord
    cutoff: datetime
    """Objects that were written later are young."""
    foreign: bool = False
    """Include objects that graveler has not created, except records of key-value stores."""
    inventory: str | None = None
    """URI of an inventory that is read instead of a listing."""

    def parts(self, stores: Stores, number: int = 1) -> Sequence[KeyRange | InventoryFile]:
        """Return parts that can be read independently of each other.

        Raises:
            NotFound: The inventory does not exist.
            InvalidInput: The inventory is damaged.
        """
        place = namespace(self.repository.storage_namespace)
        if self.inventory is not None:
            return InventoryFiles(self.inventory, place).files(stores.blobs)
        if not starts_at_any_key(place):
            return [KeyRange()]
        return [KeyRange(after or "", through) for after, through in pairwise([None, *split_points(number), None])]

    def read(self, stores: Stores, part: KeyRange | InventoryFile) -> Iterator[pa.Table]:
        """Yield the objects of a part in `LISTED`, without those of graveler itself.

        Raises:
            InvalidInput: The inventory is damaged, or does not tell when an object was written.
        """
        if isinstance(part, InventoryFile):
            place = namespace(self.repository.storage_namespace)
            pages = InventoryFiles(str(self.inventory), place).read(stores.blobs, part)
        else:
            pages = self._listed(stores, part)
        for page in pages:
            yield self._relevant(page)

    def is_young(self, page: pa.Table) -> pa.ChunkedArray:
        """Return which objects of a page were written after the cutoff."""
        return pc.greater(page.column("mtime"), pa.scalar(self.cutoff, LISTED.field("mtime").type))

    def still_there(self, stores: Stores, objects: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Look up objects that an inventory lists. Return those that are old, and those that are young, with their
        sizes, as tables in `ADDRESSES`. Objects that do not exist are in neither.
        """
        blobs = stores.blobs.at(self.repository.storage_namespace)
        found = [info for info in stores.executor.map(blobs.head, objects.column("address").to_pylist()) if info]
        old, young = ([i for i in found if (i.mtime > self.cutoff) is is_young] for is_young in (False, True))
        return _addresses(old), _addresses(young)

    def _listed(self, stores: Stores, part: KeyRange) -> Iterator[pa.Table]:
        blobs = stores.blobs.at(self.repository.storage_namespace)
        found = blobs.list("" if self.foreign else DATA, part.after)
        if part.through is not None:
            through = part.through
            found = takewhile(lambda info: info.address <= through, found)
        return pages_of(found)

    def _relevant(self, page: pa.Table) -> pa.Table:
        page = page.filter(pc.invert(pc.match_substring_regex(page.column(KEY), _STORE)))
        keys = page.column(KEY)
        if self.foreign:
            page = page.filter(pc.invert(pc.starts_with(keys, CONTENT.encode())))
        else:
            page = page.filter(pc.match_substring_regex(keys, _CREATED))
        if page.column("mtime").null_count:
            raise InvalidInput(
                f"inventory {self.inventory!r}: does not tell when objects were written; include the last modified date"
            )
        return page


def not_written_since(stores: Stores, repository: RepositoryRecord, objects: pa.Table, since: datetime) -> pa.Table:
    """Leave out objects that another program has written after a moment. Objects with generated addresses are never
    written again, so they are not looked up.
    """
    addresses = objects.column("address")
    foreign = objects.filter(pc.invert(pc.match_substring_regex(addresses, _CREATED)))
    if not foreign.num_rows:
        return objects
    _, rewritten = ObjectListing(repository, since).still_there(stores, foreign)
    return objects.filter(pc.invert(pc.is_in(addresses, value_set=rewritten.column("address"))))


def split_points(number: int) -> list[str]:
    """Return ascending addresses that divide generated ones into some parts of about equal size."""
    return [f"{DATA}{(part << 4 * _DIGITS) // number:0{_DIGITS}x}" for part in range(1, number)]


def estimated_rows(listed: Sequence[pa.Table], parts: Sequence[KeyRange | InventoryFile], done: int) -> int:
    """Return the estimated number of all objects, from those that were listed so far.

    Generated addresses are random, so the position of the last one in an ordered listing tells which share of them was
    listed. The files of an inventory are of about equal size.

    Args:
        listed: Pages that were listed.
        parts: All parts of the listing.
        done: Number of parts that were begun.
    """
    rows: int = sum(page.num_rows for page in listed)
    if isinstance(parts[0], InventoryFile):
        return rows * len(parts) // done
    last: bytes = next((page.column(KEY)[-1].as_py() for page in reversed(listed) if page.num_rows), b"")
    if not CREATED.fullmatch(last.decode(errors="replace")):
        return rows
    ids = pc.count_distinct(pc.binary_slice(listed[-1].column(KEY), *_UPLOAD)).as_py()
    share = (int(last[_UPLOAD[0] : _UPLOAD[0] + _DIGITS], 16) + 1) / (1 << 4 * _DIGITS)
    return int(rows / share) if ids >= _MANY else rows


def of_uploads(keys: pa.ChunkedArray, uploads: frozenset[str]) -> pa.ChunkedArray:
    """Return which addresses belong to some uploads."""
    ids = pc.binary_slice(keys, *_UPLOAD)
    created = pc.match_substring_regex(keys, _CREATED)
    return pc.and_(created, pc.is_in(ids, value_set=pa.array([id.encode() for id in sorted(uploads)], pa.binary())))


def texts(keys: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return keys as texts.

    Raises:
        InvalidInput: A key is not UTF-8.
    """
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid as e:
        raise InvalidInput("collect: the storage namespace holds an object whose key is not UTF-8") from e


def pages_of(found: Iterator[BlobInfo]) -> Iterator[pa.Table]:
    """Yield listed objects in `LISTED`, as one table for each page. The order is kept."""
    while page := list(islice(found, _PAGE)):
        yield _page(page)


def _page(found: Sequence[BlobInfo]) -> pa.Table:
    columns = [
        pa.array([info.address.encode() for info in found], pa.binary()),
        pa.array([info.size for info in found], pa.int64()),
        pa.nulls(len(found), pa.string()),
        pa.array([info.mtime for info in found], LISTED.field("mtime").type),
    ]
    return pa.Table.from_arrays(columns, schema=LISTED)


def _addresses(found: Sequence[BlobInfo]) -> pa.Table:
    return pa.table({"address": [info.address for info in found], "size": [info.size for info in found]}, ADDRESSES)
