"""Comparison of a source with the store, and verification of a migration. Both change nothing.

Each repository is compared in one state of the source with the current state of the store, so later changes appear as
differences. Differences are returned as they are found. Memory holds branches and tags of a repository, about 300 bytes
for each commit, and a page of staged records of each side.

Commits are matched by their id in the source, which the store keeps (`MigratedCommit`). A verification also compares
contents: every tree of the source can be read, and every commit in the store has the same entries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.errors import CorruptData
from graveler_core.kv.bulk import get_many
from graveler_core.model.entities import BranchRecord, Commit, RepositoryRecord, RepositoryState, Tag
from graveler_core.model.ids import CommitId
from graveler_core.model.index import Index
from graveler_core.model.migration import ORIGIN
from graveler_core.model.names import repository_id
from graveler_core.objects.commits import StoredCommit, scan_headers, stored_commits
from graveler_core.records import layout as keys
from graveler_core.refs import branches, repositories
from graveler_core.staging import stack
from graveler_core.stores import Stores
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.kv_copy_compare import Differs
from graveler_core.transfer.migrated import migrated_commits
from graveler_core.transfer.migration import entries
from graveler_core.transfer.migration.metaranges import Metaranges, metarange_of
from graveler_core.transfer.migration.report import MigratedEntity, MigrationDifference, Progress
from graveler_core.transfer.migration.rows import (
    SourceBranch,
    SourceCommit,
    SourceRepository,
    SourceTag,
    branch_of,
    commit_of,
    repository_of,
    tag_of,
)
from graveler_core.transfer.migration.run import chosen, for_reading
from graveler_core.transfer.migration.source import IDS_AT_ONCE, Row, SourceDatabase, SourceSnapshot
from graveler_core.transfer.named_files import first_missing

_FIELDS = ("committer", "message", "creation_date", "metadata")
_LEADS_BY = {MigratedEntity.BRANCH: "head", MigratedEntity.TAG: "commit"}
_HOW = {(True, False): Differs.MISSING, (False, True): Differs.SURPLUS, (True, True): Differs.CHANGED}

N = TypeVar("N", SourceBranch, SourceTag)


def compare(
    stores: Stores,
    source: SourceDatabase,
    names: Collection[str] = (),
    *,
    contents: bool = False,
    progress: Progress = lambda more: None,
) -> Iterator[MigrationDifference]:
    """Yield the differences between source and store.

    Args:
        stores: The stores.
        source: The source.
        names: Names of repositories; empty for all of both sides.
        contents: True to compare the trees of all commits too.
        progress: Called with the number of additional rows that were compared.

    Raises:
        InvalidInput: A repository is not in the source.
        Unavailable: Source or store cannot be reached.
    """
    with source.snapshot() as snapshot:
        seen = set[str]()
        for row in chosen(snapshot, names):
            name = row[0] if isinstance(row[0], str) else repr(row[0])
            seen.add(name)
            try:
                found = repository_of(row)
            except BrokenValueError as e:
                yield MigrationDifference(name, MigratedEntity.REPOSITORY, name, Differs.MISSING, str(e))
                continue
            held = repositories.find(stores.kv, repository_id(name))
            if held is None or held.value.state is not RepositoryState.ACTIVE:
                yield MigrationDifference(name, MigratedEntity.REPOSITORY, name, Differs.MISSING)
                continue
            yield from _Pair(stores, snapshot, found, held.value, contents, progress).differences()
        for repository in repositories.active(stores.kv) if not names else ():
            if repository.id not in seen:
                yield MigrationDifference(repository.id, MigratedEntity.REPOSITORY, repository.id, Differs.SURPLUS)


@dataclass(slots=True)
class _Pair:
    """Repository on both sides."""

    stores: Stores
    snapshot: SourceSnapshot
    there: SourceRepository
    here: RepositoryRecord
    contents: bool
    progress: Progress
    made: dict[str, CommitId] = field(default_factory=dict)
    """Commits in the store, by their id in the source."""
    reading: Indexes = field(init=False)
    metaranges: Metaranges = field(init=False)

    def __post_init__(self) -> None:
        self.reading = for_reading(self.stores, self.here)
        self.metaranges = Metaranges(self.reading.trees)

    def differences(self) -> Iterator[MigrationDifference]:
        for name in ("storage_namespace", "creation_date", "default_branch"):
            yield from self._field_differences(
                MigratedEntity.REPOSITORY, self.here.id, name, getattr(self.there, name), getattr(self.here, name)
            )
        self.made = migrated_commits(self.stores, self.here)
        yield from self._commits()
        missing = first_missing(self.reading.trees.blobs, self.metaranges.files)
        if missing is not None:
            yield self._difference(MigratedEntity.METARANGE, missing, Differs.MISSING, "is not in the namespace")
        kv, named = self.stores.kv, self.here.id
        held = branches.list_branches(kv, self.here), branches.list_tags(kv, self.here)
        yield from self._named(MigratedEntity.BRANCH, self.snapshot.branches(named), branch_of, held[0], self._staged)
        yield from self._named(
            MigratedEntity.TAG, self.snapshot.tags(named), tag_of, held[1], lambda there, here: iter(())
        )

    def _difference(self, entity: MigratedEntity, name: object, how: Differs, why: str = "") -> MigrationDifference:
        return MigrationDifference(self.here.id, entity, str(name), how, why)

    def _field_differences(
        self, entity: MigratedEntity, name: str, what: str, there: object, here: object
    ) -> Iterator[MigrationDifference]:
        if there != here:
            yield self._difference(entity, name, Differs.CHANGED, f"{what} is {here!s}, but {there!s} in the source")

    def _commits(self) -> Iterator[MigrationDifference]:
        waiting: list[SourceCommit] = []
        seen = set[str]()
        for row in self.snapshot.commits(self.here.id):
            self.progress(1)
            try:
                waiting.append(commit_of(row))
                seen.add(row[0])
            except BrokenValueError as e:
                yield self._difference(MigratedEntity.COMMIT, row[0], Differs.MISSING, str(e))
            if len(waiting) == IDS_AT_ONCE:
                yield from self._some_commits(waiting)
                waiting = []
        yield from self._some_commits(waiting)
        ours = {id for origin, id in self.made.items() if origin in seen}
        for id, _ in scan_headers(self.stores.kv, self.here):
            if id not in ours:
                yield self._difference(MigratedEntity.COMMIT, id, Differs.SURPLUS)

    def _some_commits(self, commits: list[SourceCommit]) -> Iterator[MigrationDifference]:
        wanted = [self.made[commit.id] for commit in commits if commit.id in self.made]
        stored = self._stored(wanted)
        for commit in commits:
            here = stored.get(self.made.get(commit.id, CommitId("")))
            if here is None:
                yield self._difference(MigratedEntity.COMMIT, commit.id, Differs.MISSING)
                continue
            yield from self._header(commit, here.header)
            if self.contents:
                yield from self._tree(commit, here)

    def _stored(self, wanted: list[CommitId]) -> dict[CommitId, StoredCommit]:
        """Return those of the commits that exist."""
        folder = keys.commits(self.here)
        found = get_many(self.stores.kv, [(folder.partition, folder.at(id).key) for id in wanted])
        there = [id for id, stored in zip(wanted, found, strict=True) if stored is not None]
        commits = stored_commits(self.stores.kv, keys.history(self.here), there, f"repository {self.here.id}")
        return {commit.id: commit for commit in commits}

    def _header(self, there: SourceCommit, here: Commit) -> Iterator[MigrationDifference]:
        expected: dict[str, Any] = {name: getattr(there, name) for name in _FIELDS}
        expected["metadata"] = {**there.metadata, ORIGIN: there.id}
        expected["parents"] = tuple(self.made.get(parent, CommitId("")) for parent in there.parents)
        for name, value in expected.items():
            yield from self._field_differences(MigratedEntity.COMMIT, there.id, name, value, getattr(here, name))

    def _tree(self, there: SourceCommit, here: StoredCommit) -> Iterator[MigrationDifference]:
        try:
            metarange = metarange_of(there.meta_range_id)
            self.metaranges.check(metarange)
            if next(iter(diff(self.reading, Index(metarange_id=metarange), here.layout.index)), None) is not None:
                why = f"commit {here.id} contains other entries"
                yield self._difference(MigratedEntity.METARANGE, metarange, Differs.CHANGED, why)
        except (BrokenValueError, CorruptData) as e:
            yield self._difference(
                MigratedEntity.METARANGE, there.meta_range_id, Differs.MISSING, f"{e} (commit {there.id})"
            )

    def _named(
        self,
        entity: MigratedEntity,
        rows: Iterator[Row],
        read: Callable[[Row], N],
        held: Iterator[BranchRecord] | Iterator[Tag],
        inside: Callable[[N, Any], Iterator[MigrationDifference]],
    ) -> Iterator[MigrationDifference]:
        """Yield differences of branches or tags, and of what they contain."""
        here = {named.id: named for named in held}
        for row in rows:
            self.progress(1)
            try:
                there = read(row)
            except BrokenValueError as e:
                yield self._difference(entity, row[0], Differs.MISSING, str(e))
                continue
            found = here.pop(there.id, None)
            if found is None:
                yield self._difference(entity, there.id, Differs.MISSING)
                continue
            expected = self.made.get(there.commit_id, there.commit_id)
            yield from self._field_differences(entity, there.id, _LEADS_BY[entity], expected, found.commit_id)
            yield from inside(there, found)
        for name in here:
            yield self._difference(entity, name, Differs.SURPLUS)

    def _staged(self, there: SourceBranch, here: BranchRecord) -> Iterator[MigrationDifference]:
        """Yield differences of the staged records of a branch, read as two sorted streams."""
        broken: list[MigrationDifference] = []

        def note(key: object, rule: str) -> None:
            name = key.decode(errors="backslashreplace") if isinstance(key, bytes) else repr(key)
            broken.append(self._difference(MigratedEntity.STAGED, f"{here.id}/{name}", Differs.MISSING, rule))

        rows = () if there.staging_token is None else self.snapshot.staged(there.staging_token)
        source = _records(entries.tables(rows, self.there.storage_namespace, note))
        if here.compacted_metarange is not None:
            yield self._difference(
                MigratedEntity.BRANCH, here.id, Differs.CHANGED, "its staged changes were compacted since the migration"
            )
        store = _records(stack.scan(self.stores.stack(self.here, stack.layers_of(here))))
        for key, how in _apart(source, store, self.progress):
            yield from broken
            broken.clear()
            yield self._difference(MigratedEntity.STAGED, f"{here.id}/{key.decode()}", how)
        yield from broken


def _records(tables: Iterator[pa.Table]) -> Iterator[tuple[bytes, Mapping[str, Any]]]:
    for table in tables:
        for row in table.to_pylist():
            yield row["key"], row


def _apart(
    source: Iterator[tuple[bytes, Any]], store: Iterator[tuple[bytes, Any]], progress: Progress
) -> Iterator[tuple[bytes, Differs]]:
    """Yield the keys at which two sorted streams differ."""
    left, right = next(source, None), next(store, None)
    while left is not None or right is not None:
        key = min(side[0] for side in (left, right) if side is not None)
        there, here = left is not None and left[0] == key, right is not None and right[0] == key
        if not (there and here) or left != right:
            yield key, _HOW[there, here]
        if there:
            left = next(source, None)
        if here:
            right = next(store, None)
        progress(1)
