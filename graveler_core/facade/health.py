"""Diagnosis of a store. Every method only delegates to `diagnostics`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from graveler_core.diagnostics.archive import Archived, archive
from graveler_core.diagnostics.budget import SECONDS
from graveler_core.diagnostics.collecting import collect
from graveler_core.diagnostics.doctor.diagnosis import Examined
from graveler_core.diagnostics.doctor.examining import examine
from graveler_core.diagnostics.plan import DiagnosticsPlan, DoctorPlan
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.permission import Action
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget


class Health:
    """Read-only diagnosis methods of `Graveler`."""

    _stores: Stores
    _flow_target: FlowTarget

    @operation("diagnostics", needs.optional_repository(Action.CHECK_REPOSITORY, Action.LIST_BRANCHES), needs.user_data)
    def diagnostics(
        self,
        path: str | PathLike[str],
        *,
        budget: float = SECONDS,
        repository: str | None = None,
        user_data: bool = False,
        settings: Mapping[str, object] | None = None,
    ) -> Archived:
        """Write an archive that describes the store, to help find the cause of a problem.

        The archive is a new .zip file with counts, states, layers and pressure by branch, versions, settings and
        response times. It contains the names of repositories and branches, but no secrets and no user data. The
        store is only read.

        Args:
            path: Path of the new file.
            budget: Maximum duration in seconds. Each part says whether it is complete.
            repository: Name of the only repository to describe. `None` means all.
            user_data: Include messages and committers of heads, and prefixes that were removed or restored.
            settings: Settings of the process, to be shown in the archive.

        Returns:
            The path of the archive, and what it contains.

        Raises:
            NotUnique: (`BlobExists`) the file already exists.
            InvalidInput: no file can have this path.
            OSError: the file cannot be written.
        """
        plan = DiagnosticsPlan(budget, repository, user_data, settings or {})
        return archive(collect(self._stores, plan), Path(path), user_data=user_data)

    @operation("doctor", needs.optional_repository(Action.CHECK_REPOSITORY, Action.LIST_BRANCHES))
    def doctor(self, *, budget: float = SECONDS, repository: str | None = None, deep: bool = False) -> Examined:
        """Find problems of the store, and the commands that solve them. Change nothing.

        Args:
            budget: Maximum duration in seconds.
            repository: Name of the only repository to examine. `None` means all.
            deep: Read all stored data, as `Repository.fsck` does, and count staged records.

        Returns:
            The problems that were found.

        Raises:
            NotFound: the repository has never existed.
            Unavailable, SlowDown: the store cannot be read.
        """
        return examine(self._stores, DoctorPlan(budget, repository, deep))
