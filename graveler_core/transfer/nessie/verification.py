"""Comparison of an imported repository with the export. It changes nothing.

Every commit is compared: its header, the number and digest of its changes, and the entries at the paths that its
operations name. A commit that has the right entries at these paths, and differs from its first parent at no other path,
has the right content if its parent has the right content. By induction, all commits have the right content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.committed.diff import KEYS
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.index.operations import operations_between
from graveler_core.errors import Kind, NotFound
from graveler_core.model.entities import Commit
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import CommitId, RepositoryId
from graveler_core.objects.commits import StoredCommit, read_commit
from graveler_core.refs import repositories
from graveler_core.refs.branches import list_branches, list_tags
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Stores
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.indexing import EMPTY_INDEX
from graveler_core.transfer.kv_copy_compare import Differs
from graveler_core.transfer.migrated import migrated_commits, migrated_repository
from graveler_core.transfer.migration.report import MigratedEntity, MigrationDifference, Progress
from graveler_core.transfer.nessie.commits import NessieCommit
from graveler_core.transfer.nessie.contents import NessieContents
from graveler_core.transfer.nessie.export import NessieExport, open_export
from graveler_core.transfer.nessie.migration import changes_of

_FIELDS = ("committer", "message", "creation_date", "metadata")
_IDENTITY = "identity"


def verify_nessie(
    stores: Stores,
    uri: str,
    name: RepositoryId,
    progress: Progress = lambda more: None,
) -> Iterator[MigrationDifference]:
    """Yield the differences between an export and the repository that was imported from it.

    Args:
        stores: The stores.
        uri: URI of the export.
        name: Name of the repository.
        progress: Called with the number of commits compared since the last call.

    Raises:
        NotFound: There is no such repository or export.
        NotUnique: The repository was not imported from this export (`RepositoryExists`).
        CorruptData: The export is damaged.
        Conflict: The repository is incomplete (`RepositoryIncomplete`).
    """
    with open_export(stores.blobs, uri) as export:
        held = migrated_repository(stores, name, export.digest, uri)
        if held is None:
            raise NotFound(f"repository {name!r} does not exist", kind=Kind.RepositoryNotFound, repository=name)
        made = migrated_commits(stores, repositories.usable(name, held))
        yield from _Verification(stores, export, stores.indexes(held.value), made, progress).all()


@dataclass(frozen=True, slots=True)
class _Verification:
    stores: Stores
    export: NessieExport
    indexes: Indexes
    made: Mapping[str, CommitId]
    progress: Progress

    def all(self) -> Iterator[MigrationDifference]:
        """Yield all differences."""
        export = self.export
        contents = NessieContents(export.version, export.own)
        for id in export.order:
            if id not in self.made:
                yield self._difference(MigratedEntity.COMMIT, id, Differs.MISSING)
                continue
            try:
                there = export.commits.read(id)
                changes = changes_of(there, contents)
            except BrokenValueError as e:
                raise export.broken(e) from e
            yield from self._commit(there, changes)
            self.progress(1)
        kv, repo = self.stores.kv, self.indexes.objects.repository
        yield from self._named(
            MigratedEntity.BRANCH,
            {export.branch_names[name]: id for name, id in export.branches.items()},
            {branch.id: branch.commit_id for branch in list_branches(kv, repo)},
        )
        yield from self._named(
            MigratedEntity.TAG,
            {export.tag_names[name]: id for name, id in export.tags.items()},
            {tag.id: tag.commit_id for tag in list_tags(kv, repo)},
        )

    def _commit(self, there: NessieCommit, changes: pa.Table) -> Iterator[MigrationDifference]:
        here = self._stored(self.made[there.id])
        yield from self._header(there, here.header)
        parents = here.header.parents
        before = self._stored(parents[0]).layout.index if parents else EMPTY_INDEX
        if operations_between(self.indexes, before, here.layout.index) != here.header.operations:
            yield self._changed(there, "its changes do not match the digest in its header")
        wanted = changes.column(KEY).combine_chunks()
        for found in diff(self.indexes, before, here.layout.index, wanted=KEYS):
            surplus = found.keys.filter(pc.invert(pc.is_in(found.keys, value_set=wanted)))
            if len(surplus):
                yield self._changed(there, f"changes {_path(surplus[0])}, which the export does not")
        puts = changes.filter(pc.invert(changes.column(TOMBSTONE)))
        expected = dict(zip(puts.column(KEY).to_pylist(), puts.column(_IDENTITY).to_pylist(), strict=True))
        entries = lookup_many(self.indexes, here.layout.index, wanted.to_pylist())
        now = dict(zip(entries.column(KEY).to_pylist(), entries.column(_IDENTITY).to_pylist(), strict=True))
        if now != expected:
            key = min(key for key in expected.keys() | now.keys() if expected.get(key) != now.get(key))
            yield self._changed(there, f"the entry of {_path(key)} differs")

    def _header(self, there: NessieCommit, here: Commit) -> Iterator[MigrationDifference]:
        expected: dict[str, Any] = {name: getattr(there.foreign, name) for name in _FIELDS}
        expected["parents"] = tuple(self.made.get(parent, CommitId("")) for parent in there.foreign.parents)
        for name, value in expected.items():
            found = getattr(here, name)
            if found != value:
                yield self._changed(there, f"{name} is {found!s}, but {value!s} in the export")

    def _named(
        self, entity: MigratedEntity, there: Mapping[str, str], here: Mapping[Any, CommitId]
    ) -> Iterator[MigrationDifference]:
        found = dict(here)
        for name, id in sorted(there.items()):
            now = found.pop(name, None)
            if now is None:
                yield self._difference(entity, name, Differs.MISSING)
            elif now != self.made.get(id):
                why = f"commit is {now}, but {self.made.get(id, id)} in the export"
                yield self._difference(entity, name, Differs.CHANGED, why)
        for surplus in found:
            yield self._difference(entity, surplus, Differs.SURPLUS)

    def _stored(self, id: CommitId) -> StoredCommit:
        return read_commit(self.stores.kv, self.stores.commits, self.indexes.objects.repository, id)

    def _changed(self, there: NessieCommit, why: str) -> MigrationDifference:
        return self._difference(MigratedEntity.COMMIT, there.id, Differs.CHANGED, why)

    def _difference(self, entity: MigratedEntity, name: str, how: Differs, why: str = "") -> MigrationDifference:
        return MigrationDifference(self.indexes.objects.repository.id, entity, name, how, why)


def _path(key: Any) -> str:
    data: bytes = key if isinstance(key, bytes) else key.as_py()
    return data.decode(errors="backslashreplace")
