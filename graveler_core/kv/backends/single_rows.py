"""Base class of stores whose database decides about one row at a time: bulk writes are requests with many rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from graveler_core.kv.backends.paged import PagedStore
from graveler_core.kv.backends.parallel import in_parallel
from graveler_core.kv.paging import CHUNK_ROWS, split_rows
from graveler_core.kv.store import Expected, Item, Store


class BatchLimits(NamedTuple):
    """Limits of a request that writes."""

    rows: int
    """Maximum number of rows."""
    size: int
    """Maximum number of bytes of the rows, unless there is only one."""
    one_partition: bool = False
    """True if all rows must belong to one partition."""
    threads: int = 1
    """Number of requests that a bulk load sends at once."""


class SingleRowStore(PagedStore):
    """Store that changes rows one by one. `set_many` is not atomic, and `delete_together` is refused."""

    def set_many(self, items: Sequence[Item]) -> None:
        last = {(partition, key): value for partition, key, value in items}
        for batch in self._batches((*place, last[place]) for place in sorted(last)):
            self._put_all(batch)

    def sets_atomically(self) -> bool:
        return False

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        Store.delete_together(self, rows, unchanged)

    def deletes_together(self) -> bool:
        return False

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        def rows() -> Iterator[Item]:
            for offset in range(0, len(keys), CHUNK_ROWS):
                chunk = slice(offset, offset + CHUNK_ROWS)
                for key, value in zip(keys[chunk].to_pylist(), values[chunk].to_pylist(), strict=True):
                    yield partition, key, value

        in_parallel(self._put_all, self._batches(rows()), self._limits().threads)

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        keys = [key for page in self._key_pages(partition) for key in page]
        return [keys[row] for row in split_rows(len(keys), pieces)]

    @abstractmethod
    def _limits(self) -> BatchLimits:
        """Return the limits of a request that writes."""

    @abstractmethod
    def _put_all(self, rows: Sequence[Item]) -> None:
        """Write distinct rows by one request. They are within the limits of a request."""

    @abstractmethod
    def _keys_from(self, partition: bytes, lower: bytes, rows: int) -> list[bytes]:
        """Return at most `rows` keys of a partition, from a lower bound on, without their values."""

    def _key_pages(self, partition: bytes) -> Iterator[list[bytes]]:
        """Yield all keys of a partition, in pages."""
        lower = b""
        while page := self._keys_from(partition, lower, CHUNK_ROWS):
            yield page
            lower = page[-1] + b"\x00"

    def _batches(self, rows: Iterable[Item]) -> Iterator[list[Item]]:
        """Yield distinct rows, divided into requests."""
        limits = self._limits()
        batch: list[Item] = []
        size = 0
        for row in rows:
            more = sum(map(len, row))
            full = len(batch) == limits.rows or size + more > limits.size
            if batch and (full or (limits.one_partition and row[0] != batch[0][0])):
                yield batch
                batch, size = [], 0
            batch.append(row)
            size += more
        if batch:
            yield batch
