"""Base class of a repository's handle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graveler_core.engine.reading import snapshot
from graveler_core.guard.scope import Scope
from graveler_core.model.entities import RepositoryRecord, RepositoryState
from graveler_core.model.ids import RepositoryId
from graveler_core.refs import repositories
from graveler_core.stores import Reopening, Stores, portable
from graveler_core.telemetry import FlowTarget


class Handle:
    """Name and record of a repository, as they were when the repository was opened."""

    def __init__(self, stores: Stores, record: RepositoryRecord) -> None:
        self._stores = stores
        self._record = record
        self._flow_target: FlowTarget = (record.id, "")

    def __reduce__(self) -> tuple[Any, ...]:
        return reopened, (portable(self._stores.opening), type(self), (self._record,))

    @property
    def id(self) -> RepositoryId:
        """The repository's name."""
        return self._record.id

    @property
    def state(self) -> RepositoryState:
        """`active`, or `incomplete` if it was imported without indexes, as it was when the repository was opened."""
        return self._record.state

    @property
    def _scope(self) -> Scope:
        return Scope(self.id)

    def _active(self) -> RepositoryRecord:
        return snapshot.readable(self._stores, self.id)

    def _existing(self) -> RepositoryRecord:
        """Return the current record, even if the repository is incomplete."""
        return repositories.opened(self._stores.kv, self._stores.clock, self._stores.ids, self.id)


def reopened(opened: Reopening, handle: Callable[..., object], arguments: tuple[object, ...]) -> object:
    """Return a handle of a pickle, on stores that all of them share in this process.

    Args:
        opened: How the stores were opened.
        handle: Class of the handle.
        arguments: Its arguments behind the stores.
    """
    return handle(opened.reopen(opened, False)._stores, *arguments)
