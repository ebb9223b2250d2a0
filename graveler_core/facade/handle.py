"""Base class of a repository's handle."""

from __future__ import annotations

from graveler_core.engine.reading import snapshot
from graveler_core.guard.scope import Scope
from graveler_core.model.entities import Repository as RepositoryRecord
from graveler_core.model.ids import RepositoryId
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget


class Handle:
    """Name and record of a repository, as they were when the repository was opened."""

    def __init__(self, stores: Stores, record: RepositoryRecord) -> None:
        self._stores = stores
        self._record = record
        self._flow_target: FlowTarget = (record.id, "")

    @property
    def id(self) -> RepositoryId:
        """The repository's name."""
        return self._record.id

    @property
    def _scope(self) -> Scope:
        return Scope(self.id)

    def _active(self) -> RepositoryRecord:
        return snapshot.readable(self._stores, self.id)
