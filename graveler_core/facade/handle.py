"""What all parts of a repository's handle share."""

from __future__ import annotations

from graveler_core.engine import snapshot
from graveler_core.facade.place import Place
from graveler_core.model.entities import Repository as RepositoryRecord
from graveler_core.model.ids import RepositoryId
from graveler_core.stores import Stores
from graveler_core.telemetry import Said


class Handle:
    """A repository by name, as it was when it was asked for."""

    def __init__(self, stores: Stores, record: RepositoryRecord) -> None:
        self._stores = stores
        self._record = record
        self._said: Said = (record.id, "")

    @property
    def id(self) -> RepositoryId:
        """The repository's name."""
        return self._record.id

    @property
    def _place(self) -> Place:
        return Place(self.id)

    def _active(self) -> RepositoryRecord:
        return snapshot.readable(self._stores, self.id)
