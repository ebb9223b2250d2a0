"""Dropped partitions of stores that delete row by row: no read passes the rows that the same call has deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from graveler_core.errors import Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.backends.bigtable.requests import BigtableRequests, FoundRows, RowMutations
from graveler_core.kv.backends.bigtable.store import BigtableStore
from graveler_core.kv.backends.cassandra.client import CassandraClient, Request
from graveler_core.kv.backends.cassandra.store import CassandraStore
from graveler_core.kv.backends.key_space import KeySpace
from graveler_core.kv.paging import CHUNK_ROWS, KeyBounds
from graveler_core.kv.store import Store

ROWS = 4 * CHUNK_ROWS + 5
MOST_DELETED = CHUNK_ROWS
"""Number of deleted rows above which a read fails."""


class Rows:
    """Rows that leave tombstones, and the lower bounds of the reads."""

    def __init__(self) -> None:
        self.alive = {b"%06d" % number: True for number in range(ROWS)}
        self.lower: list[bytes] = []

    def read(self, lower: bytes, limit: int) -> list[bytes]:
        self.lower.append(lower)
        found: list[bytes] = []
        deleted = 0
        for key in (key for key in self.alive if key >= lower):
            if self.alive[key]:
                found.append(key)
            else:
                deleted += 1
            if deleted > MOST_DELETED:
                raise Unavailable("too many tombstones")
            if len(found) == limit:
                break
        return found

    def delete(self, key: bytes) -> None:
        self.alive[key] = False


def cassandra(rows: Rows) -> Store:
    class Client:
        def read(self, text: str, partition: bytes, lower: bytes, limit: int) -> list[tuple[bytes]]:
            return [(key,) for key in rows.read(lower, limit)]

        def write(self, partition: bytes, *changes: Request) -> bool:
            for _, (_, key) in changes:
                rows.delete(key)
            return True

    return CassandraStore(cast(CassandraClient, Client()))


def bigtable(rows: Rows) -> Store:
    space = KeySpace()

    class Requests:
        def read_range(self, bounds: KeyBounds, limit: int, only: Any) -> FoundRows:
            found = rows.read(space.key(b"p", bounds.lower), limit)
            return FoundRows([(space.name(b"p", key), {}) for key in found], complete=True)

        def mutate_all(self, changed: list[RowMutations]) -> None:
            for row in changed:
                rows.delete(space.key(b"p", row.name))

    return BigtableStore(cast(BigtableRequests, Requests()))


@pytest.mark.parametrize("opened", [cassandra, bigtable])
def test_a_partition_of_any_size_is_dropped(opened: Callable[[Rows], Store]) -> None:
    rows = Rows()
    assert bulk.drop_partition(opened(rows), b"p") == ROWS
    assert not any(rows.alive.values())
    assert rows.lower == sorted(set(rows.lower))
