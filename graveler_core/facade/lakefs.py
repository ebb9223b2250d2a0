"""Migration of repositories from lakeFS. Every method only delegates to `transfer.lakefs`.

The modules of `transfer.lakefs` are imported on the first call, because they need an extra.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from graveler_core.engine.references import branching, reset, tagging
from graveler_core.engine.staging.bulk import stage_records
from graveler_core.extras import requires
from graveler_core.facade.migration_flows import migration_flows
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.entities import Tag
from graveler_core.model.ids import BranchId, CommitId, RepositoryId, TagId
from graveler_core.model.names import repository_id
from graveler_core.model.permission import Action
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget
from graveler_core.transfer.lakefs.plan import LakefsFlows, LakefsPlan, ReferenceFlows
from graveler_core.transfer.migration.report import MigrationDifference, Progress

if TYPE_CHECKING:
    from graveler_core.transfer.lakefs.report import LakefsMigrated
    from graveler_core.transfer.lakefs.source import LakefsSource


class MigrationFromLakefs:
    """Methods of `Graveler` that migrate repositories from lakeFS."""

    _stores: Stores
    _flow_target: FlowTarget

    @operation(
        "migrate from lakefs",
        needs.repository(
            Action.CREATE_REPOSITORY,
            Action.READ_REPOSITORY,
            Action.CREATE_BRANCH,
            Action.CREATE_TAG,
            Action.CREATE_COMMIT,
            named="name",
        ),
        needs.whole_repository(Action.WRITE_OBJECT, Action.DELETE_OBJECT, named="name"),
        needs.storage_namespace,
        needs.all_content,
        repository="name",
    )
    def migrate_lakefs(  # noqa: PLR0913 - one call, all of it optional
        self,
        name: str,
        source: str,
        storage_namespace: str,
        *,
        objects: str | None = None,
        manifest: str | None = None,
        default_branch: str | None = None,
        uncommitted: bool = False,
        dry_run: bool = False,
        adopt: bool = False,
        progress: Progress = lambda more: None,
    ) -> LakefsMigrated:
        """Migrate a repository of lakeFS, or bring what is new since the last call. No object is copied.

        lakeFS goes on working, and nothing of it is changed. A branch follows lakeFS until it has commits or
        uncommitted changes of its own. An interrupted call is completed by a repetition. See
        `graveler_core.transfer.lakefs.migration`.

        Args:
            name: Name of the repository in this store.
            source: URI of the storage namespace in lakeFS, with a dump of references, or the URL of a running server:
            `lakefs+https://key:secret@host:port/repository`.
            storage_namespace: URI of the directory for what graveler itself writes. It must not overlap that of lakeFS.
            objects: URI of the storage namespace in lakeFS, if the one that the server states is not reachable from
            here, such as `local://…`.
            manifest: URI of the file with the output of `lakectl refs-dump`. Default: `_lakefs/refs_manifest.json` in
            the storage namespace.
            default_branch: Name of the default branch of a new repository. Default: what the server states, else `main`
            or `master`.
            uncommitted: Stage uncommitted changes, too, on the branches without changes here. Requires a server.
            dry_run: Read the references and count the commits; write nothing.
            adopt: Take over a namespace that holds objects of another repository, as for `create_repository`.
            progress: Called with the number of commits written since the last call.

        Returns:
            What was done.

        Raises:
            InvalidInput: a location is not valid, the namespaces overlap, or the default branch is not known or another
                one than that of an interrupted call.
            NotUnique: (`RepositoryExists`) the repository exists, and was not migrated from this source.
                (`NamespaceInUse`) The namespace is in use, or holds objects of another repository and `adopt` is false.
            NotFound: there is no dump, or the server has no such repository.
            CorruptData: a file of lakeFS is missing or damaged, or has something that graveler cannot keep.
            Unavailable: the server cannot be reached.
        """
        with requires("lakefs"):
            from graveler_core.transfer.lakefs.migration import migrate_lakefs
        opened = self._lakefs(source, objects, manifest)
        plan = LakefsPlan(repository_id(name), storage_namespace, default_branch, uncommitted, dry_run, adopt)
        return migrate_lakefs(self._stores, opened, plan, _flows(self._stores), progress)

    @operation(
        "verify against lakefs",
        needs.repository(Action.READ_REPOSITORY, named="name"),
        needs.all_content,
        repository="name",
    )
    def verify_lakefs(
        self,
        name: str,
        source: str,
        *,
        objects: str | None = None,
        manifest: str | None = None,
        progress: Progress = lambda more: None,
    ) -> Iterator[MigrationDifference]:
        """Compare a migrated repository with lakeFS: branches, tags, and each commit with its header and entries.
        Change nothing.

        Args:
            name: Name of the repository in this store.
            source: Source of the migration, as for `migrate_lakefs`.
            objects: As for `migrate_lakefs`.
            manifest: As for `migrate_lakefs`.
            progress: Called with the number of commits compared since the last call.

        Yields:
            Differences, lazily. What lakeFS has got since the migration is a difference.

        Raises:
            NotFound: the repository or the dump does not exist.
            NotUnique: (`RepositoryExists`) the repository was not migrated from this source.
            CorruptData: a file of lakeFS is missing or damaged.
            Unavailable: the server cannot be reached.
        """
        with requires("lakefs"):
            from graveler_core.transfer.lakefs.verification import verify_lakefs
        opened = self._lakefs(source, objects, manifest)
        yield from verify_lakefs(self._stores, opened, repository_id(name), progress)

    def _lakefs(self, source: str, objects: str | None, manifest: str | None) -> LakefsSource:
        with requires("lakefs"):
            from graveler_core.transfer.lakefs.source import LakefsLocation, open_source
        return open_source(self._stores.blobs, LakefsLocation(source, objects, manifest), self._stores.clock.sleep)


def _flows(stores: Stores) -> LakefsFlows:
    """Return the flows of the engine that a migration calls."""

    def move_branch(repo: RepositoryId, branch: BranchId, commit: CommitId, expected: CommitId) -> object:
        return reset.hard_reset(stores, repo, branch, commit, expected)

    def create_tag(repo: RepositoryId, tag: TagId, commit: CommitId) -> object:
        return tagging.create_tag(stores, repo, Tag(id=tag, commit_id=commit), commit)

    def move_tag(repo: RepositoryId, tag: TagId, commit: CommitId, expected: CommitId) -> object:
        return tagging.assign_tag(stores, repo, Tag(id=tag, commit_id=commit), commit, expected)

    references = ReferenceFlows(
        create_branch=partial(branching.create_branch, stores),
        move_branch=move_branch,
        create_tag=create_tag,
        move_tag=move_tag,
        stage=partial(stage_records, stores),
    )
    return LakefsFlows(migration_flows(stores), references)
