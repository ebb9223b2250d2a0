"""Base of the parts of `Access`."""

from __future__ import annotations

from graveler_core.iam import last_administrator
from graveler_core.iam.change_guard import ChangeGuard
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget


class AccessHandle:
    """State that the operations of access control share."""

    _flow_target: FlowTarget = ("", "")

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    @property
    def _parts(self) -> tuple[Store, Clock, IdSource]:
        return self._stores.kv, self._stores.clock, self._stores.ids

    @property
    def _guard(self) -> ChangeGuard:
        return last_administrator.guard(*self._parts)
