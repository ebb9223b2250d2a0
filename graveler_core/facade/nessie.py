"""Import of exports of Nessie, and exports in its format. Every method only delegates to `transfer.nessie`.

The modules of `transfer.nessie` are imported on the first call, because they need an extra.
"""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.extras import requires
from graveler_core.facade.dumping import EVERYTHING_READABLE
from graveler_core.facade.handle import Handle
from graveler_core.facade.migration_flows import migration_flows
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.names import repository_id
from graveler_core.model.permission import Action
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget
from graveler_core.transfer.migration.report import MigrationDifference, Progress
from graveler_core.transfer.nessie.report import NessieExported, NessieMigrated, NessiePlan


class MigrationFromNessie:
    """Methods of `Graveler` that import exports of Nessie."""

    _stores: Stores
    _flow_target: FlowTarget

    @operation(
        "migrate from nessie",
        needs.repository(
            Action.CREATE_REPOSITORY,
            Action.CREATE_BRANCH,
            Action.CREATE_TAG,
            Action.CREATE_COMMIT,
            named="name",
        ),
        needs.whole_repository(Action.WRITE_OBJECT, named="name"),
        needs.storage_namespace,
        needs.all_content,
        repository="name",
    )
    def migrate_nessie(  # noqa: PLR0913 - one call, most of it optional
        self,
        name: str,
        source: str,
        storage_namespace: str,
        *,
        default_branch: str | None = None,
        dry_run: bool = False,
        incomplete: bool = False,
        adopt: bool = False,
        progress: Progress = lambda more: None,
    ) -> NessieMigrated:
        """Import an export of Nessie, of version 1, 2 or 3, into a new repository.

        Nobody sees the repository before the import has ended. An interrupted call is completed by a repetition, and a
        repetition of a complete one changes nothing. See `graveler_core.transfer.nessie.migration`.

        Args:
            name: Name of the new repository.
            source: URI of the export: a ZIP archive, or a directory.
            storage_namespace: URI of the directory for what graveler writes.
            default_branch: Name in Nessie of the default branch. Default: the one that the export names.
            dry_run: Read and check the whole export; write nothing.
            incomplete: Write the commits without indexes, and leave the repository incomplete. `complete_migration`
                computes the indexes later. It does not read the export.
            adopt: Take over a namespace that holds objects of another repository, as for `create_repository`.
            progress: Called with the number of commits written since the last call.

        Returns:
            What was done.

        Raises:
            InvalidInput: a location or a name is not valid, or the default branch is not known or another one than that
                of an interrupted call.
            NotUnique: (`RepositoryExists`) the repository exists, and was not imported from this export.
                (`NamespaceInUse`) The namespace is in use, or holds objects of another repository and `adopt` is false.
            NotFound: there is no export.
            CorruptData: (`CorruptDump`) the export is damaged, or has something that graveler cannot keep.
            Conflict: (`RepositoryIncomplete`) an earlier call has left the repository incomplete.
        """
        with requires("nessie"):
            from graveler_core.transfer.nessie.migration import migrate_nessie
        plan = NessiePlan(repository_id(name), storage_namespace, default_branch, dry_run, incomplete, adopt)
        return migrate_nessie(self._stores, source, plan, migration_flows(self._stores), progress)

    @operation(
        "verify against nessie",
        needs.repository(Action.READ_REPOSITORY, named="name"),
        needs.all_content,
        repository="name",
    )
    def verify_nessie(
        self, name: str, source: str, *, progress: Progress = lambda more: None
    ) -> Iterator[MigrationDifference]:
        """Compare an imported repository with the export: branches, tags, and each commit with its header and entries.
        Change nothing.

        Args:
            name: Name of the repository.
            source: URI of the export.
            progress: Called with the number of commits compared since the last call.

        Yields:
            Differences, lazily. What the repository has got since the import is a difference.

        Raises:
            NotFound: the repository or the export does not exist.
            NotUnique: (`RepositoryExists`) the repository was not imported from this export.
            CorruptData: (`CorruptDump`) the export is damaged.
            Conflict: (`RepositoryIncomplete`) the repository is incomplete.
        """
        with requires("nessie"):
            from graveler_core.transfer.nessie.verification import verify_nessie
        yield from verify_nessie(self._stores, source, repository_id(name), progress)


class NessieExports(Handle):
    """Methods of `Repository` that export it in Nessie's format."""

    @operation("export to nessie", *EVERYTHING_READABLE, needs.file(Action.EXPORT_TO_STORAGE))
    def export_nessie(
        self, uri: str, *, directory: bool = False, progress: Progress = lambda more: None
    ) -> NessieExported:
        """Write branches, tags and their commits as an export of Nessie, version 2. Change nothing.

        Contents that came from Nessie are as they were. Other entries are contents that only graveler reads; their
        objects stay where they are. Staged changes are not exported. See `graveler_core.transfer.nessie.writing`.

        Args:
            uri: URI of the new ZIP archive, or of the directory.
            directory: Write the files into a directory, instead of an archive.
            progress: Called with the number of commits written since the last call.

        Returns:
            Numbers of what was exported.

        Raises:
            NotUnique: (`BlobExists`) there is an export already.
            CorruptData: a part of the repository is damaged or missing.
        """
        with requires("nessie"):
            from graveler_core.transfer.nessie.writing import export_nessie
        return export_nessie(self._stores, self._active(), uri, directory=directory, progress=progress)
