"""Hands tests to the workers of pytest-xdist, by module.

What a module makes once for all its tests, and what it caches, is then made in one worker. `loadgroup` hands tests out
one by one, so each worker makes all of it. It also counts everything that a worker has done after each test: a third
of a minute of processor time in a run of every day.
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler.loadgroup import LoadGroupScheduling

SINGLE = 0.15
"""Share of the tests at the end of a run that are handed out one by one, so that the workers end together."""


class WorkUnits(LoadGroupScheduling):
    """Hands out whole groups, then the tests of whole modules, and single tests near the end."""

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Note that a test has ended, and forget its unit if that was the last test of it."""
        scope = self._split_scope(self.registered_collections[node][item_index])
        super().mark_test_complete(node, item_index, duration)
        assigned = self.assigned_work[node]
        if all(assigned[scope].values()):
            del assigned[scope]

    def _assign_work_unit(self, node: Any) -> None:
        """Assign the next unit to a worker, and what follows it in the same module."""
        assert self.collection is not None
        module = _module(next(iter(self.workqueue)))
        super()._assign_work_unit(node)
        while len(self.workqueue) > SINGLE * len(self.collection) and _module(next(iter(self.workqueue))) == module:
            super()._assign_work_unit(node)


def _module(scope: str) -> str:
    """Return the module of a test, or a group."""
    return scope.partition("::")[0]
