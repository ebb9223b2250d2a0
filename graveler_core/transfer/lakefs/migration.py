"""Migration of one repository of lakeFS. A repetition migrates only what is new.

1. Read the references of lakeFS, and order its commits. 2. Find the repository in the store. A new one, or one whose
migration was interrupted, is in the state `initial`, so nobody sees it (`engine.repositories.migration`). An active one
must have been migrated from the same storage namespace. 3. Write the commits that no earlier run has written, each with
a record of its id in lakeFS (`commits`). 4. A new repository gets its branches and tags, and becomes active ✓. In an
active one, the flows for users create and move branches and tags, one by one, each ✓ (`following`). 5. On request,
stage the uncommitted changes, branch by branch, each ✓.

Nothing of lakeFS is changed, and no object is copied: entries refer to the objects where they are. lakeFS can still be
used. The storage namespace of the repository must not overlap that of lakeFS, so that neither of them deletes files of
the other.

A branch follows lakeFS as long as it has no changes of its own: its head is a commit of lakeFS, and nothing is
uncommitted. Otherwise it is left as it is, and reported. Names that no longer exist in lakeFS are kept too.

A crash in step 3 leaves commits that no branch reaches. They are complete, and the next run finds their records. A run
that finds a commit without its record writes it again, with the same id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa

from graveler_core.errors import Conflict, CorruptData, GravelerError, InvalidInput, Kind
from graveler_core.model.address import namespace
from graveler_core.model.entities import RepositoryRecord, RepositoryState
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.refs import repositories
from graveler_core.refs.branches import get_branch
from graveler_core.staging.stack import is_dirty, layers_of
from graveler_core.stores import Stores
from graveler_core.transfer.begun import BegunRepository
from graveler_core.transfer.created_references import WantedReferences, create_all
from graveler_core.transfer.lakefs.addresses import LakefsAddresses
from graveler_core.transfer.lakefs.commits import PAGE_ENTRIES, CommitWriter
from graveler_core.transfer.lakefs.entries import records
from graveler_core.transfer.lakefs.following import Following
from graveler_core.transfer.lakefs.plan import LakefsFlows, LakefsPlan
from graveler_core.transfer.lakefs.references import LakefsReferences
from graveler_core.transfer.lakefs.report import LakefsMigrated, MigratedReferences
from graveler_core.transfer.lakefs.source import LakefsSource, identity
from graveler_core.transfer.migrated import CommitBatches, migrated_commits, migrated_repository
from graveler_core.transfer.migration.holding import Holding
from graveler_core.transfer.migration.lineage import ordered
from graveler_core.transfer.migration.report import Progress


def migrate_lakefs(
    stores: Stores,
    source: LakefsSource,
    plan: LakefsPlan,
    flows: LakefsFlows,
    progress: Progress = lambda more: None,
) -> LakefsMigrated:
    """Migrate a repository of lakeFS, or what is new since the last run.

    Memory holds about 1,500 bytes for each commit, the entries of some ranges (`metaranges`), and the uncommitted
    changes of one branch.

    Args:
        stores: The stores.
        source: The repository of lakeFS.
        plan: Options of the migration.
        flows: Functions of the engine.
        progress: Called with the number of commits written since the last call.

    Returns:
        The result of the run.

    Raises:
        InvalidInput: The storage namespace overlaps that of lakeFS, or the default branch is unknown.
        NotUnique: The repository exists, and was not migrated from this source (`RepositoryExists`), or the storage
            namespace is in use (`NamespaceInUse`).
        CorruptData: A file of lakeFS is missing or damaged, or has something that graveler cannot keep.
        PermissionDenied: The repository is read-only.
        Unavailable: The source or the store cannot be reached.
    """
    return _Migration(stores, source, plan, flows, progress).run()


@dataclass(frozen=True, slots=True)
class _Migration:
    stores: Stores
    source: LakefsSource
    plan: LakefsPlan
    flows: LakefsFlows
    progress: Progress

    def run(self) -> LakefsMigrated:
        self._require_apart()
        if self.plan.uncommitted:
            self.source.require_uncommitted()
        place = self.source.place
        standing = migrated_repository(self.stores, self.plan.repository, identity(place), place.uri)
        references = self.source.references()
        order = commit_order(references)
        made = {} if standing is None else migrated_commits(self.stores, standing.value)
        new = [id for id in order if id not in made]
        done = LakefsMigrated(self.plan.repository, len(new), len(order) - len(new), dry_run=self.plan.dry_run)
        if self.plan.dry_run:
            return done
        if standing is None or standing.value.state is RepositoryState.INITIAL:
            branches, tags = self._created(references, new, made)
        else:
            branches, tags = self._followed(standing.value, references, new, made)
        staged = self._staged(branches) if self.plan.uncommitted else 0
        return replace(done, branches=branches, tags=tags, staged=staged)

    def _require_apart(self) -> None:
        """Refuse a storage namespace that overlaps that of lakeFS."""
        ours, theirs = namespace(self.plan.storage_namespace), self.source.place
        if ours.contains(theirs) or theirs.contains(ours):
            raise InvalidInput(
                f"storage namespace {ours.uri!r}: overlaps {theirs.uri!r}, which belongs to lakeFS; choose another one",
                kind=Kind.NamespaceInUse,
                namespace=theirs.uri,
            )

    def _created(
        self, references: LakefsReferences, new: list[str], made: dict[str, CommitId]
    ) -> tuple[MigratedReferences, MigratedReferences]:
        default, created = self.source.properties(references, self.plan.default_branch)
        plan = self.plan
        digest = identity(self.source.place)
        begun = BegunRepository(plan.repository, plan.storage_namespace, default, created, digest, plan.adopt)
        holding = Holding(self.stores, self.flows.repositories.begin(begun))
        try:
            self._commits(holding.repository, references, new, made, holding.require)
            wanted = _wanted(references, made)
            create_all(holding, wanted)
            holding.end()
        except GravelerError:
            self.flows.repositories.leave(holding.repository)
            raise
        return MigratedReferences(created=(*sorted(wanted.branches),)), MigratedReferences(
            created=(*sorted(wanted.tags),)
        )

    def _followed(
        self, repo: RepositoryRecord, references: LakefsReferences, new: list[str], made: dict[str, CommitId]
    ) -> tuple[MigratedReferences, MigratedReferences]:
        def require() -> None:
            now = repositories.get(self.stores.kv, self.stores.clock, self.stores.ids, repo.id)
            repositories.require_changeable(now)
            if now.uid != repo.uid:
                raise Conflict(f"repository {repo.id!r}: was deleted", kind=Kind.LostRace, repository=repo.id)

        require()
        self._commits(repo, references, new, made, require)
        following = Following(self.stores, repo, self.flows.references, frozenset(made.values()))
        wanted = _wanted(references, made)
        return following.branches(wanted.branches), following.tags(wanted.tags)

    def _commits(
        self,
        repo: RepositoryRecord,
        references: LakefsReferences,
        new: list[str],
        made: dict[str, CommitId],
        require: Callable[[], object],
    ) -> None:
        writer = CommitWriter(
            self.stores,
            self.stores.indexes(repo),
            self.source.metaranges,
            LakefsAddresses(self.source.place),
            references.commits,
            made,
            CommitBatches(self.stores, repo, require),
        )
        for _ in writer.write(references.commits[id] for id in new):
            self.progress(1)

    def _staged(self, branches: MigratedReferences) -> int:
        """Stage the uncommitted changes of the branches that have none here. Return their number.

        Those of a branch are staged together. After a part of them, the next run would leave the branch as it is.
        """
        count = 0
        for name in (*branches.created, *branches.moved, *branches.unchanged):
            branch = BranchId(name)
            if not self._is_dirty(branch):
                tables = list(self._uncommitted(branch))
                if tables:
                    self.flows.references.stage(self.plan.repository, branch, pa.concat_tables(tables))
                count += sum(table.num_rows for table in tables)
        return count

    def _is_dirty(self, branch: BranchId) -> bool:
        repo = repositories.get(self.stores.kv, self.stores.clock, self.stores.ids, self.plan.repository)
        record = get_branch(self.stores.kv, repo, branch).value
        return record.compacted_metarange is not None or is_dirty(self.stores.stack(repo, layers_of(record)))

    def _uncommitted(self, branch: BranchId) -> Iterator[pa.Table]:
        def broken(key: object, rule: str) -> None:
            raise CorruptData(f"uncommitted entry {key!r} of branch {branch} of lakeFS: {rule}", kind=Kind.CorruptRange)

        waiting = self.source.uncommitted(branch)
        while rows := list(islice(waiting, PAGE_ENTRIES)):
            table = records(rows, broken)
            assert table is not None  # noqa: S101 - broken() raises
            yield table


def _wanted(references: LakefsReferences, made: dict[str, CommitId]) -> WantedReferences:
    return WantedReferences(
        {name: made[commit] for name, commit in references.branches.items()},
        {name: made[commit] for name, commit in references.tags.items()},
    )


def commit_order(references: LakefsReferences) -> list[str]:
    """Return the ids of all commits, parents before children."""

    def broken(id: str, why: str) -> None:
        raise CorruptData(f"commit {id} of lakeFS: {why}", kind=Kind.CorruptDump, commit=id)

    return ordered({id: commit.parents for id, commit in references.commits.items()}, references.commits, broken)
