"""Rows of a commit in a store: its runs before the layout that names them, unless all are written in one step."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graveler_core.engine.protocol.swap import record_writes
from graveler_core.kv import bulk
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import Item
from graveler_core.records import layout as keys
from graveler_core.testing.counting_store import Counting
from graveler_core.testing.plain_store import PlainStore
from tests.unit.engine.world import World

RUN = (b"repo-1-ab", keys.OBJECTS + b"ab", b"run")
HEADER = (b"repo-1", b"commits/c", b"header")
LAYOUT = (b"repo-1", b"layouts/c", b"layout")
BRANCH = (b"repo-1", b"branches/main", b"branch")


class Steps(PlainStore):
    """A store that writes rows in several steps. It notes the requests for several rows."""

    def __init__(self) -> None:
        super().__init__(open_memory("memory://"))
        self.requests: list[list[Item]] = []

    def set_many(self, items: Sequence[Item]) -> None:
        self.requests.append(list(items))
        super().set_many(items)


@pytest.mark.parametrize(
    ("rows", "requests"),
    [
        ([HEADER, RUN, LAYOUT], [[RUN], [HEADER, LAYOUT]]),
        ([HEADER, LAYOUT], [[HEADER, LAYOUT]]),
        ([RUN], [[RUN]]),
    ],
)
def test_runs_come_first(rows: list[Item], requests: list[list[Item]]) -> None:
    store = Steps()
    record_writes(World().stores(store), rows)
    assert store.requests == requests
    store.requests.clear()
    bulk.write_and_swap(store, rows, BRANCH, None)
    assert store.requests == requests
    assert all(store.get(partition, key) is not None for partition, key, _ in [*rows, BRANCH])


def test_one_step_is_one_request() -> None:
    store = Counting(open_memory("memory://"))
    record_writes(World().stores(store), [HEADER, RUN, LAYOUT])
    bulk.write_and_swap(store, [HEADER, RUN, LAYOUT], BRANCH, None)
    assert dict(store.counts) == {"set_many": 1, "write_and_swap": 1}
