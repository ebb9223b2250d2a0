"""Import of an export of Nessie into a new repository. Nobody sees it before it is complete.

1. Read and check the export (`export`), and convert all of its commits. 2. Begin the repository, in the state
`initial`, with the digest of the export, or continue with the one that an interrupted run has begun from the same
export. 3. Write the commits that no earlier run has written, each with a record of its id in Nessie. 4. Write the
metadata of the repository. 5. Create branches and tags, and make the repository active ✓.

A commit is built on the index of its first parent from its operations. Operations that change nothing leave no trace.
The id of a commit covers values that only graveler computes, so it is new; the id in Nessie is in its metadata. A
repetition gives the same ids.

An incomplete import computes neither indexes nor ids. Step 3 writes each commit as a record with its operations, by its
id in Nessie. The branches and tags refer to commits by these ids, too. Step 5 makes the repository incomplete ✓. Its
completion (`transfer.completion`) does not need the export.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import pyarrow as pa

from graveler_core.codec.elements import ElementAction, encode_elements
from graveler_core.committed.index.layer import as_elements
from graveler_core.errors import GravelerError
from graveler_core.model.entities import RepositoryRecord, RepositoryState
from graveler_core.model.ids import BranchId, CommitId, Nonce, TagId
from graveler_core.model.repository_metadata import RepositoryMetadata, repository_metadata
from graveler_core.objects.incomplete_commits import (
    CommitChanges,
    incomplete_names,
    incomplete_writes,
    remove_incomplete,
)
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.stores import Stores
from graveler_core.transfer.begun import BegunRepository, RepositoryFlows
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.created_references import WantedReferences, create_all
from graveler_core.transfer.indexing import CommitIndexer
from graveler_core.transfer.migrated import Batches, CommitBatches, migrated_commits, migrated_repository
from graveler_core.transfer.migration.holding import Holding
from graveler_core.transfer.migration.report import Progress
from graveler_core.transfer.nessie.commits import NessieCommit
from graveler_core.transfer.nessie.contents import NessieContents
from graveler_core.transfer.nessie.export import NessieExport, open_export
from graveler_core.transfer.nessie.names import kept_names
from graveler_core.transfer.nessie.report import NessieMigrated, NessiePlan


def migrate_nessie(
    stores: Stores,
    uri: str,
    plan: NessiePlan,
    flows: RepositoryFlows,
    progress: Progress = lambda more: None,
) -> NessieMigrated:
    """Import an export into a new repository.

    Memory holds about 1,000 bytes for each commit, the operations of one commit, and the caches of the handle.

    Args:
        stores: The stores.
        uri: URI of a ZIP archive, or of a directory.
        plan: Options of the import.
        flows: Functions of the engine.
        progress: Called with the number of commits written since the last call.

    Returns:
        The result of the import.

    Raises:
        InvalidInput: The URI or a name is invalid, or the default branch is unknown.
        NotFound: There is no export.
        NotUnique: The repository exists, and was not imported from this export (`RepositoryExists`), or the storage
            namespace is in use (`NamespaceInUse`).
        CorruptData: The export is damaged, or has something that graveler cannot keep.
        Conflict: An earlier run has left the repository incomplete, and this one must not (`RepositoryIncomplete`).
        Unavailable: A store or the local disk cannot be used.
    """
    with open_export(stores.blobs, uri) as export:
        return _Import(stores, export, plan, flows, progress).run()


@dataclass(frozen=True, slots=True)
class _Import:
    stores: Stores
    export: NessieExport
    plan: NessiePlan
    flows: RepositoryFlows
    progress: Progress

    def run(self) -> NessieMigrated:
        export, name = self.export, self.plan.repository
        default = export.default(self.plan.default_branch)
        standing = migrated_repository(self.stores, name, export.digest, export.uri)
        state = RepositoryState.INITIAL if standing is None else standing.value.state
        made = {} if standing is None else migrated_commits(self.stores, standing.value)
        written: Set[str] = made.keys()
        if standing is None:
            repository_metadata(self._values())
            require_convertible(export)
        elif self.plan.incomplete:
            written = written | incomplete_names(self.stores.kv, standing.value)
        elif state is RepositoryState.INCOMPLETE:
            repositories.usable(name, standing)
        new = sum(id not in written for id in export.order)
        if not self.plan.dry_run and state is RepositoryState.INITIAL:
            self._created(default, made, written)
        renamed = {**export.branch_names, **export.tag_names}
        return NessieMigrated(
            name,
            export.version,
            new,
            len(export.order) - new,
            tuple(sorted(export.branch_names.values())),
            tuple(sorted(export.tag_names.values())),
            {name: now for name, now in sorted(renamed.items()) if name != now},
            export.objects,
            self.plan.dry_run,
            self.plan.incomplete and state is not RepositoryState.ACTIVE,
        )

    def _created(self, default: BranchId, made: dict[str, CommitId], written: Set[str]) -> None:
        export, plan = self.export, self.plan
        begun = BegunRepository(
            plan.repository, plan.storage_namespace, default, export.created, export.digest, plan.adopt
        )
        holding = Holding(self.stores, self.flows.begin(begun))
        try:
            if plan.incomplete:
                self._without_indexes(holding, written)
            else:
                self._commits(holding, made)
            self._metadata(holding.repository)
            named = {id: CommitId(id) for id in export.order} if plan.incomplete else made
            create_all(
                holding,
                WantedReferences(
                    {BranchId(export.branch_names[name]): named[id] for name, id in export.branches.items()},
                    {TagId(export.tag_names[name]): named[id] for name, id in export.tags.items()},
                ),
            )
            if plan.incomplete:
                holding.end(RepositoryState.INCOMPLETE)
            else:
                remove_incomplete(self.stores.kv, holding.repository)  # of an interrupted run
                holding.end()
        except BrokenValueError as e:
            raise export.broken(e) from e
        except GravelerError:
            self.flows.leave(holding.repository)
            raise

    def _commits(self, holding: Holding, made: dict[str, CommitId]) -> None:
        batches = CommitBatches(self.stores, holding.repository, holding.require, self.progress)
        indexer = CommitIndexer(self.stores, holding.repository, made, batches)
        contents = contents_of(self.stores, holding.repository, self.export)
        for id in self.export.order:
            if id not in made:
                commit = self.export.commits.read(id)
                indexer.write(commit.foreign, changes_of(commit, contents))
        batches.flush()

    def _without_indexes(self, holding: Holding, written: Set[str]) -> None:
        """Write the commits as records, by their ids in Nessie."""
        batches = Batches(self.stores, holding.repository, holding.require, self.progress)
        contents = contents_of(self.stores, holding.repository, self.export)
        for id in self.export.order:
            if id not in written:
                commit = self.export.commits.read(id)
                changes = as_elements(changes_of(commit, contents), ElementAction.ADD, ElementAction.REMOVE)
                said = CommitChanges(commit.foreign, encode_elements(changes))
                batches.put(*incomplete_writes(holding.repository, said))
        batches.flush()

    def _metadata(self, repo: RepositoryRecord) -> None:
        values = self._values()
        if values:
            record = RepositoryMetadata(values=repository_metadata(values), nonce=Nonce(self.stores.ids.fresh()))
            access.write_if_absent(self.stores.kv, keys.repository_metadata(repo), record)

    def _values(self) -> dict[str, str]:
        export = self.export
        return {**export.properties, **kept_names(export.branch_names, export.tag_names)}


def require_convertible(export: NessieExport) -> None:
    """Convert all commits of an export, so that nothing is written if one of them is broken.

    Raises:
        CorruptData: A commit has something that graveler cannot keep (`CorruptDump`).
    """
    contents = NessieContents(export.version, export.own)
    try:
        for id in export.order:
            changes_of(export.commits.read(id), contents)
    except BrokenValueError as e:
        raise export.broken(e) from e


def changes_of(commit: NessieCommit, contents: NessieContents) -> pa.Table:
    """Return the operations of a commit as records, sorted by key. Raises `BrokenValueError` if one is broken."""
    try:
        return contents.changes(commit.operations)
    except BrokenValueError as e:
        raise BrokenValueError(f"commit {commit.id}: {e}") from e


def contents_of(stores: Stores, repo: RepositoryRecord, export: NessieExport) -> NessieContents:
    """Return the conversion of the contents of an export to entries of a repository."""
    return NessieContents(export.version, export.own, stores.blobs.at(repo.storage_namespace))
