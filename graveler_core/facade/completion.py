"""Completion of repositories that were imported without indexes. The method only delegates to `transfer.completion`."""

from __future__ import annotations

from graveler_core.facade.migration_flows import migration_flows
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.names import repository_id
from graveler_core.model.permission import Action
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget
from graveler_core.transfer.completion import WORKERS, MigrationCompleted, complete_migration
from graveler_core.transfer.migration.report import Progress


class MigrationCompletion:
    """Methods of `Graveler` that complete imports."""

    _stores: Stores
    _flow_target: FlowTarget

    @operation(
        "complete migration",
        needs.repository(Action.CREATE_BRANCH, Action.CREATE_TAG, Action.CREATE_COMMIT, named="name"),
        needs.whole_repository(Action.WRITE_OBJECT, named="name"),
        repository="name",
    )
    def complete_migration(
        self, name: str, *, workers: int = WORKERS, progress: Progress = lambda more: None
    ) -> MigrationCompleted:
        """Complete a repository that was imported without indexes: compute indexes and ids of its commits, and make it
        active.

        An interrupted call is completed by a repetition. Other processes may complete the same repository at the same
        time. Ids are those of an import at once. See `graveler_core.transfer.completion`.

        Args:
            name: Name of the repository. Nothing is done if it is complete.
            workers: Number of lines of history to complete at the same time.
            progress: Called with the number of commits completed since the last call.

        Returns:
            Numbers of commits.

        Raises:
            InvalidInput: `workers` is less than 1.
            NotFound: the repository does not exist, or was deleted in the meantime.
            CorruptData: a record of the repository is damaged or missing.
        """
        leave = migration_flows(self._stores).leave
        return complete_migration(self._stores, repository_id(name), leave, workers=workers, progress=progress)
