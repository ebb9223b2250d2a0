"""Comparison of a migrated repository with lakeFS. It changes nothing.

Every commit is compared: its header, and the number and digest of its entries. The digest of a set of entries is the
sum of a hash of each, so it does not depend on order, and can be added up:

    lakeFS      the sum over the ranges of the metarange; each range is read once
    graveler    that of the first parent, plus the entries that the commit adds, minus those that it removes

The two sides share no code that reads a tree. The commits to which branches and tags refer are also compared entry by
entry, as two sorted streams, and so is a commit whose digest differs, to name a path.

lakeFS may still be in use. Commits and references that it has got since the last run appear as missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Any, TypeVar

import pyarrow as pa

from graveler_core.codec.staged_records import encode_records
from graveler_core.committed.diff import EXACT
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.scan import scan
from graveler_core.errors import CorruptData, Kind, NotFound
from graveler_core.model.entities import Commit
from graveler_core.model.ids import BranchId, CommitId, RepositoryId, TagId
from graveler_core.model.index import Index
from graveler_core.model.migration import ORIGIN
from graveler_core.objects.commits import StoredCommit, read_commit
from graveler_core.refs.branches import list_branches, list_tags
from graveler_core.segments.merge import as_records
from graveler_core.stores import Stores
from graveler_core.transfer.kv_copy_compare import Differs
from graveler_core.transfer.lakefs.addresses import LakefsAddresses
from graveler_core.transfer.lakefs.commits import PAGE_ENTRIES
from graveler_core.transfer.lakefs.entries import entry_row, records
from graveler_core.transfer.lakefs.metaranges import Datum, LakefsRange
from graveler_core.transfer.lakefs.migration import commit_order
from graveler_core.transfer.lakefs.references import LakefsCommit, LakefsReferences
from graveler_core.transfer.lakefs.source import LakefsSource, identity
from graveler_core.transfer.migrated import migrated_commits, migrated_repository
from graveler_core.transfer.migration.report import MigratedEntity, MigrationDifference, Progress

_FIELDS = ("committer", "message", "creation_date")
_HASH_BYTES = 16
N = TypeVar("N", BranchId, TagId)


@dataclass(frozen=True, slots=True)
class _Listing:
    """Number of entries, and the sum of their hashes."""

    count: int = 0
    total: int = 0

    def __add__(self, other: _Listing) -> _Listing:
        return _Listing(self.count + other.count, (self.total + other.total) % (1 << 8 * _HASH_BYTES))

    def __sub__(self, other: _Listing) -> _Listing:
        return _Listing(self.count - other.count, (self.total - other.total) % (1 << 8 * _HASH_BYTES))


def verify_lakefs(
    stores: Stores,
    source: LakefsSource,
    name: RepositoryId,
    progress: Progress = lambda more: None,
) -> Iterator[MigrationDifference]:
    """Yield the differences between a repository of lakeFS and the migrated one.

    Memory holds about 2,000 bytes for each commit, 200 for each range, and the entries of some ranges.

    Args:
        stores: The stores.
        source: The repository of lakeFS.
        name: Name of the migrated repository.
        progress: Called with the number of commits compared since the last call.

    Raises:
        NotFound: There is no such repository.
        NotUnique: It was not migrated from this source (`RepositoryExists`).
        CorruptData: A file of lakeFS is missing or damaged.
        Unavailable: The source or the store cannot be reached.
    """
    held = migrated_repository(stores, name, identity(source.place), source.place.uri)
    if held is None:
        raise NotFound(f"repository {name!r} does not exist", kind=Kind.RepositoryNotFound, repository=name)
    made = migrated_commits(stores, held.value)
    yield from _Verification(stores, source, source.references(), stores.indexes(held.value), made, progress).all()


@dataclass(slots=True)
class _Verification:
    stores: Stores
    source: LakefsSource
    references: LakefsReferences
    indexes: Indexes
    made: Mapping[str, CommitId]
    progress: Progress
    ranges: dict[str, _Listing] = field(default_factory=dict)
    """Digests of the ranges of lakeFS."""
    listings: dict[str, _Listing] = field(default_factory=dict)
    """Digests of the migrated commits, by their ids in lakeFS."""

    def all(self) -> Iterator[MigrationDifference]:
        """Yield all differences."""
        for id in commit_order(self.references):
            if id in self.made:
                yield from self._commit(self.references.commits[id])
            else:
                yield self._difference(MigratedEntity.COMMIT, id, Differs.MISSING)
            self.progress(1)
        kv, repo = self.stores.kv, self.indexes.objects.repository
        branches = {branch.id: branch.commit_id for branch in list_branches(kv, repo)}
        tags = {tag.id: tag.commit_id for tag in list_tags(kv, repo)}
        yield from self._named(MigratedEntity.BRANCH, self.references.branches, branches)
        yield from self._named(MigratedEntity.TAG, self.references.tags, tags)
        for id in sorted({*self.references.branches.values(), *self.references.tags.values()} & self.made.keys()):
            yield from islice(self._entries(self.references.commits[id]), 1)

    def _commit(self, there: LakefsCommit) -> Iterator[MigrationDifference]:
        here = self._stored(there.id)
        yield from self._header(there, here.header)
        theirs = sum(map(self._range, self._ranges(there)), _Listing())
        ours = self.listings[there.id] = self._listing(there, here)
        if ours != theirs:
            why = f"commit {here.id} has {ours.count:,} entries, and {theirs.count:,} in lakeFS"
            if ours.count == theirs.count:
                why = f"commit {here.id} has other entries than in lakeFS"
            yield self._difference(MigratedEntity.COMMIT, there.id, Differs.CHANGED, why)
            yield from islice(self._entries(there), 1)

    def _header(self, there: LakefsCommit, here: Commit) -> Iterator[MigrationDifference]:
        expected: dict[str, Any] = {name: getattr(there, name) for name in _FIELDS}
        expected["metadata"] = {**there.metadata, ORIGIN: there.id}
        expected["parents"] = tuple(self.made.get(parent, CommitId("")) for parent in there.parents)
        if there.generation:
            expected["generation"] = there.generation
        for name, value in expected.items():
            found = getattr(here, name)
            if found != value:
                why = f"{name} is {found!s}, but {value!s} in lakeFS"
                yield self._difference(MigratedEntity.COMMIT, there.id, Differs.CHANGED, why)

    def _ranges(self, commit: LakefsCommit) -> list[LakefsRange]:
        return self.source.metaranges.ranges(commit.metarange)

    def _range(self, wanted: LakefsRange) -> _Listing:
        if wanted.id not in self.ranges:
            tables = self._tables(self.source.metaranges.entries(wanted))
            self.ranges[wanted.id] = sum(map(_digest, tables), _Listing())
        return self.ranges[wanted.id]

    def _listing(self, there: LakefsCommit, here: StoredCommit) -> _Listing:
        if not there.parents or there.parents[0] not in self.listings:
            return sum(map(_digest, self._scan(here.layout.index)), _Listing())
        before = self._stored(there.parents[0]).layout.index
        found = self.listings[there.parents[0]]
        for change in diff(self.indexes, before, here.layout.index, wanted=EXACT):
            found = found - _digest(_present(change.before)) + _digest(_present(change.after))
        return found

    def _entries(self, commit: LakefsCommit) -> Iterator[MigrationDifference]:
        """Yield a difference for each path whose entry differs."""
        theirs = _pairs(self._tables(self.source.metaranges.scan(self._ranges(commit))))
        ours = _pairs(self._scan(self._stored(commit.id).layout.index))
        for there, here in zip_longest(theirs, ours):
            if there != here:
                key = min(side[0] for side in (there, here) if side is not None)
                path = key.decode(errors="backslashreplace")
                why = f"the entry of {path} differs"
                yield self._difference(MigratedEntity.COMMIT, commit.id, Differs.CHANGED, why)

    def _named(
        self,
        entity: MigratedEntity,
        there: Mapping[N, str],
        here: Mapping[N, CommitId],
    ) -> Iterator[MigrationDifference]:
        found = dict(here)
        for name, commit in there.items():
            now = found.pop(name, None)
            if now is None:
                yield self._difference(entity, name, Differs.MISSING)
            elif now != self.made.get(commit):
                why = f"commit is {now}, but {self.made.get(commit, commit)} in lakeFS"
                yield self._difference(entity, name, Differs.CHANGED, why)
        for surplus in found:
            yield self._difference(entity, surplus, Differs.SURPLUS)

    def _stored(self, id: str) -> StoredCommit:
        return read_commit(self.stores.kv, self.stores.commits, self.indexes.objects.repository, self.made[id])

    def _scan(self, index: Index) -> Iterator[pa.Table]:
        return map(as_records, scan(self.indexes, index))

    def _tables(self, entries: Iterable[Datum]) -> Iterator[pa.Table]:
        def broken(key: object, rule: str) -> None:
            raise CorruptData(f"entry {key!r} of lakeFS: {rule}", kind=Kind.CorruptRange)

        addresses, waiting = LakefsAddresses(self.source.place), iter(entries)
        while page := list(islice(waiting, PAGE_ENTRIES)):
            table = records([entry_row(key, data, addresses) for key, data in page], broken)
            assert table is not None  # noqa: S101 - broken() raises
            yield table

    def _difference(self, entity: MigratedEntity, name: str, how: Differs, why: str = "") -> MigrationDifference:
        return MigrationDifference(self.indexes.objects.repository.id, entity, name, how, why)


def _pairs(tables: Iterator[pa.Table]) -> Iterator[tuple[bytes, bytes]]:
    for table in tables:
        yield from zip(table["key"].to_pylist(), encode_records(table).to_pylist(), strict=True)


def _digest(table: pa.Table) -> _Listing:
    total = 0
    for key, record in _pairs(iter([table])):
        hashed = hashlib.blake2b(len(key).to_bytes(4, "little") + key + record, digest_size=_HASH_BYTES)
        total += int.from_bytes(hashed.digest(), "little")
    return _Listing(table.num_rows) + _Listing(0, total)


def _present(side: pa.Table) -> pa.Table:
    """Return the entries of one side of a difference as records."""
    return as_records(side.filter(side["key"].is_valid()))
