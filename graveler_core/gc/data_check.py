"""Check of the objects that entries of a repository name. It only reads, except that it records the check itself.

1. Read the entries of all branches and commits (`gc.named_addresses`). Keep each object once.
2. List the storage namespace, and compare existence and size. Objects elsewhere are listed too (`gc.foreign_sizes`).
3. If wanted, read each object of the right size that has a checksum `sha256:…`, in the order of addresses, and compare
   the digest. After each batch, write down how far the check is (`gc.data_check_record`), so that it can be resumed.

The entries are read before the objects are listed. An object is stored before an entry names it, so the objects of
concurrent writes are found. A collection that is not `alone` deletes an object at least a day after the last entry that
named it, so a shorter check does not report such an object as missing. Erased content is no damage
(`graveler_core.erasure`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.addresses import DATA
from graveler_core.blobs.cached import CachedBlobs
from graveler_core.blobs.port import BlobInfo, Blobs, Foreign
from graveler_core.codec.checksums import sha256_digests
from graveler_core.errors import Unavailable
from graveler_core.gc.data_check_record import DataCheckRecord
from graveler_core.gc.expected_objects import (
    COLUMNS,
    COLUMNS_WITH_CHECKSUM,
    ExpectedObjects,
)
from graveler_core.gc.expiry import without_content
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.foreign_sizes import MISSING, UNREADABLE, Sizes, foreign_sizes
from graveler_core.gc.named_addresses import WantedEntries, named_objects
from graveler_core.gc.object_digests import sha256_of
from graveler_core.gc.relative_addresses import relative_addresses
from graveler_core.gc.stock import Progress
from graveler_core.model.address import parted
from graveler_core.model.entities import RepositoryRecord
from graveler_core.refs.erased import erased_of
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Stores

_LISTED = 1_000_000
"""Number of listed objects that are compared with the entries at once."""
_READ = 1_000
"""Maximum number of objects whose digests are compared at once."""
_READ_BYTES = 4 << 30
"""Number of bytes from which fewer objects are compared at once."""


@dataclass(frozen=True, slots=True)
class DataCheckPlan:
    """Options of a check."""

    checksums: bool = False
    """Also read the objects and compare their content with the checksums of entries."""
    resume: bool = False
    """Do not read again what an unfinished check of checksums has read, except damaged objects."""
    commits_lost: bool = False
    """The header or the layout of a commit is missing, so not all entries are known. The check is then not recorded as
    complete.
    """


@dataclass(frozen=True, slots=True)
class DataProgress:
    """Functions that are told about the progress of a check."""

    done: Progress = lambda more: None
    """Called with the number of entries, listed objects and read objects since the last call."""
    remaining: Progress = lambda more: None
    """Called with the number of objects to read, once it is known."""


def check_data(
    stores: Stores, repo: RepositoryRecord, plan: DataCheckPlan, progress: DataProgress
) -> Iterator[Finding]:
    """Yield the problems of the objects that entries name, and damaged items that could not be searched for entries.
    The content of commits that have expired by the retention rules, or are about to, is not examined.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        plan: Options of the check.
        progress: Functions that are told about the progress.

    Raises:
        NotFound: The repository was deleted.
        Unavailable, SlowDown: The stores cannot be read.
    """
    record = DataCheckRecord(stores, repo, resume=plan.resume and plan.checksums)
    unread = list[Finding]()
    expected = ExpectedObjects(COLUMNS_WITH_CHECKSUM if plan.checksums else COLUMNS)
    wanted = WantedEntries(expected.columns, without_content(stores, repo))
    for source, entries in named_objects(stores, repo, wanted, progress.done, unread.append):
        expected.add(source, entries)
    yield from unread
    problems = set[str]()
    if (objects := expected.unique()) is not None:
        check = _Check(stores, repo, objects, expected.sources, progress)
        sizes = check.sizes()
        found = chain(check.wrong_sizes(sizes), check.wrong_content(sizes, record) if plan.checksums else ())
        for finding in found:
            if finding.damage:
                problems.add(finding.id)
            yield finding
    if not (unread or plan.commits_lost):
        record.complete(len(problems), checksums=plan.checksums)


@dataclass(frozen=True, slots=True)
class _Check:
    stores: Stores
    repository: RepositoryRecord
    objects: pa.Table
    sources: list[str]
    progress: DataProgress

    @property
    def blobs(self) -> Blobs:
        """Storage namespace without the caches of this process."""
        blobs = self.stores.blobs.at(self.repository.storage_namespace)
        return blobs.beneath if isinstance(blobs, CachedBlobs) else blobs

    def sizes(self) -> Sizes:
        """Return the stored size of each object, or `MISSING` or `UNREADABLE`."""
        sizes = np.full(self.objects.num_rows, MISSING, np.int64)
        relative = relative_addresses(self.objects, self.repository.storage_namespace)
        own = pc.is_valid(relative).to_numpy()
        if own.any():
            sizes[own] = self._listed_sizes(relative.drop_null())
        if not own.all():
            foreign = self.objects.column("address").filter(pa.array(~own))
            sizes[~own] = foreign_sizes(self.stores, foreign, self.progress.done)
        return sizes

    def wrong_sizes(self, sizes: Sizes) -> Iterator[Finding]:
        """Yield the objects that are missing or have another size than an entry says."""
        wrong = np.flatnonzero(sizes != self.objects.column("size").to_numpy())
        erased = self._erased(np.flatnonzero(sizes == MISSING))
        for row in wrong.tolist():
            expected = self.objects.column("size")[row].as_py()
            if row in erased:
                continue
            if sizes[row] == MISSING:
                yield self._finding(row, Trouble.MISSING, "does not exist", None)
            elif sizes[row] == UNREADABLE:
                yield self._finding(row, Trouble.CORRUPT, "cannot be read", None)
            else:
                size = int(sizes[row])
                yield self._finding(row, Trouble.CORRUPT, f"has {size} bytes, must have {expected}", size)

    def _erased(self, missing: npt.NDArray[np.int64]) -> set[int]:
        """Return those of some rows whose objects are erased."""
        rows = self.objects.select(["address", "address_type"]).take(pa.array(missing)).to_pydict()
        erased = erased_of(self.stores.kv, self.repository, dict(zip(*rows.values(), strict=True)))
        return {row for row, address in zip(missing.tolist(), rows["address"], strict=True) if address in erased}

    def wrong_content(self, sizes: Sizes, record: DataCheckRecord) -> Iterator[Finding]:
        """Read the objects that have the right size and that the recorded check has not read, or has found damaged.

        Yields:
            The objects whose content differs from the checksum of an entry, and at the end the number of objects
            without a known checksum.
        """
        digests = sha256_digests(self.objects.column("checksum"))
        right = sizes == self.objects.column("size").to_numpy()
        known = digests.is_valid().to_numpy()
        addresses, texts = _ranked(self.objects.column("address"))
        wanted = pc.or_(pc.greater(texts, record.through), pc.is_in(texts, pa.array(record.damaged, texts.type)))
        rows = np.flatnonzero(right & known & wanted.to_numpy(zero_copy_only=False)[addresses])
        rows = rows[np.argsort(addresses[rows], kind="stable")]
        self.progress.remaining(len(np.unique(addresses[rows])))
        damaged = set[str]()
        for batch in _whole_groups(rows, addresses, self.objects.column("size").to_numpy()):
            for finding in self._compared(batch, digests, addresses):
                damaged.add(finding.id)
                yield finding
            reached = max(record.through, texts[int(addresses[batch[-1]])].as_py())
            record.reached(reached, sorted(damaged.union(record.damaged)))
        unknown = len(np.unique(addresses[right & ~known]))
        if unknown:
            why = f"{unknown:,} objects have no checksum that graveler can compute; only their size was checked"
            yield Finding(Trouble.UNVERIFIED, Thing.CONTENT, self.repository.storage_namespace, why)

    def _compared(
        self, rows: npt.NDArray[np.int64], digests: pa.ChunkedArray, addresses: npt.NDArray[np.int64]
    ) -> Iterator[Finding]:
        """Read the objects of some rows, which are grouped by address, and compare their digests."""
        firsts = np.r_[True, addresses[rows[1:]] != addresses[rows[:-1]]]
        tasks = [(store, key, size) for store, key, size in self._located(rows[firsts])]
        found = list[str | Unavailable | None]()
        for digest in self.stores.executor.map(lambda task: sha256_of(*task), tasks):
            found.append(digest)
            self.progress.done(1)
        expected = digests.take(pa.array(rows)).to_pylist()
        for row, group, wanted in zip(rows.tolist(), np.cumsum(firsts) - 1, expected, strict=True):
            size = self.objects.column("size")[row].as_py()
            digest = found[group]
            if digest is None:
                yield self._finding(row, Trouble.MISSING, "does not exist", None)
            elif isinstance(digest, Unavailable):
                yield self._finding(row, Trouble.CORRUPT, digest.message, size)
            elif digest != wanted:
                why = "differs from the checksum that was stored with the entry"
                yield self._finding(row, Trouble.CORRUPT, why, size)

    def _located(self, rows: npt.NDArray[np.int64]) -> Iterator[tuple[Blobs | Foreign, str, int]]:
        """Yield store, key and size of objects."""
        objects = self.objects.take(pa.array(rows))
        relative = relative_addresses(objects, self.repository.storage_namespace)
        columns = relative, objects.column("address"), objects.column("size")
        for own, address, size in zip(*(column.to_pylist() for column in columns), strict=True):
            if own is not None:
                yield self.blobs, own, size
            else:
                place, key = parted(address)
                yield self.stores.blobs.foreign(place), key, size

    def _listed_sizes(self, addresses: pa.ChunkedArray) -> Sizes:
        """Return the sizes of objects in the storage namespace."""
        sizes = np.full(len(addresses), MISSING, np.int64)
        generated = pc.all(pc.starts_with(addresses, DATA)).as_py()  # other directories may be unreadable
        for batch in _batches(self.blobs.list(DATA if generated else ""), self.progress.done):
            positions = pc.index_in(addresses, value_set=batch.column("address"))
            found = positions.is_valid().to_numpy()
            sizes[found] = batch.column("size").take(positions.drop_null()).to_numpy()
        return sizes

    def _finding(self, row: int, trouble: Trouble, why: str, size: int | None) -> Finding:
        address = self.objects.column("address")[row].as_py()
        path = self.objects.column(KEY)[row].as_py().decode(errors="backslashreplace")
        source = self.sources[self.objects.column("source")[row].as_py()]
        return Finding(trouble, Thing.CONTENT, address, why, source, size, path)


def _batches(listed: Iterable[BlobInfo], progress: Progress) -> Iterator[pa.Table]:
    """Yield listed objects as tables with the columns `address` and `size`."""
    iterator = iter(listed)
    while batch := [(info.address, info.size) for info in islice(iterator, _LISTED)]:
        addresses, sizes = zip(*batch, strict=True)
        progress(len(batch))
        yield pa.table({"address": pa.array(addresses, pa.large_string()), "size": pa.array(sizes, pa.int64())})


def _ranked(addresses: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """Return the rank of each address among the distinct ones, and these in their order."""
    encoded = addresses.combine_chunks().dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    ranks = np.empty(len(order), np.int64)
    ranks[order.to_numpy()] = np.arange(len(order))
    return ranks[encoded.indices.to_numpy()], encoded.dictionary.take(order)


def _whole_groups(
    rows: npt.NDArray[np.int64], groups: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> Iterator[npt.NDArray[np.int64]]:
    """Divide rows that are sorted by group, so that about `_READ_BYTES` or `_READ` groups are together."""
    starts = np.flatnonzero(np.r_[True, groups[rows[1:]] != groups[rows[:-1]]]) if len(rows) else np.array([], np.int64)
    before = np.cumsum(sizes[rows[starts]]) - sizes[rows[starts]]
    first = 0
    while first < len(starts):
        behind = min(first + _READ, max(first + 1, int(np.searchsorted(before, before[first] + _READ_BYTES))))
        end = starts[behind] if behind < len(starts) else len(rows)
        yield rows[starts[first] : end]
        first = behind
