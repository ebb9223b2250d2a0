"""What is going on in a store, and what is wrong with it. Thin, as `graveler`."""

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
from graveler_core.facade import needs
from graveler_core.facade.operation import operation
from graveler_core.model.permission import Action
from graveler_core.stores import Stores
from graveler_core.telemetry import Said


class Health:
    """The part of a handle that looks, and changes nothing."""

    _stores: Stores
    _said: Said

    @operation("diagnostics", needs.chosen(Action.CHECK_REPOSITORY, Action.LIST_BRANCHES), needs.written)
    def diagnostics(
        self,
        path: str | PathLike[str],
        *,
        budget: float = SECONDS,
        repository: str | None = None,
        user_data: bool = False,
        settings: Mapping[str, object] | None = None,
    ) -> Archived:
        """Write an archive of what the store looks like, for people who look for what is wrong: a new .zip file.

        Counts, states, layers and pressure by branch, versions, settings, how the store answers. No secret is in it,
        nor what users wrote; names of repositories and branches are. Reads only.

        Args:
            budget: Seconds for all of it; each part says whether it is complete.
            repository: Only this one.
            user_data: Also messages and committers of heads, and prefixes that were removed or restored.
            settings: What the process was set up with, as the archive is to show it.

        Raises:
            NotUnique: (`BlobExists`) the file is there already.
            OSError: it cannot be written.
        """
        plan = DiagnosticsPlan(budget, repository, user_data, settings or {})
        return archive(collect(self._stores, plan), Path(path), user_data=user_data)

    @operation("doctor", needs.chosen(Action.CHECK_REPOSITORY, Action.LIST_BRANCHES))
    def doctor(self, *, budget: float = SECONDS, repository: str | None = None, deep: bool = False) -> Examined:
        """What is wrong, and the commands that mend it. Changes nothing by itself.

        Args:
            budget: Seconds for all of it.
            repository: Only this one, and the store.
            deep: Read all that is stored, as `Repository.fsck`, and count what is staged.

        Raises:
            NotFound: there is no such repository, nor was there.
            Unavailable, SlowDown: the store cannot be read.
        """
        return examine(self._stores, DoctorPlan(budget, repository, deep))
