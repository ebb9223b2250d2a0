"""What stores can do, besides what the memory store does: each profile is a wrapper around the store of a process.

`plain` does one key at a time, and has the defaults of all other methods, like a first plug-in. `partly` writes and
deletes many rows in small steps, and few rows together, like DynamoDB and etcd. With `short pages`, a page has one row
although there may be more to come, as a page of DynamoDB ends at 1 MB.

A step of a profile is a call that may fail or be overtaken, so a bulk write of `partly` can end half done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from graveler_core.kv.columns import batches_of_rows
from graveler_core.kv.paging import KeyBounds
from graveler_core.kv.store import Expected, Item, KeyValue, Store, Stored, predicate_failed
from graveler_core.kv.wrappers.passing import Passing
from graveler_core.testing.plain_store import PlainStore

AT_ONCE: Final = 2
"""Rows of one step of a bulk write or read."""
TOGETHER: Final = 3
"""Rows and conditions of one atomic deletion. The engine asks for few rows, besides the branch and the repository."""


class PartlyAtomic(PlainStore):
    """A store whose bulk calls are several requests, and whose transactions are small."""

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        chunks = (keys[first : first + AT_ONCE] for first in range(0, len(keys), AT_ONCE))
        return [found for chunk in chunks for found in self.inner.get_many(chunk)]

    def set_many(self, items: Sequence[Item]) -> None:
        last = list({(partition, key): (partition, key, value) for partition, key, value in items}.values())
        for first in range(0, len(last), AT_ONCE):
            self.inner.set_many(last[first : first + AT_ONCE])

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        if len(rows) + len(unchanged) > TOGETHER:
            raise predicate_failed(*rows[0])
        self.inner.delete_together(rows, unchanged)

    def deletes_together(self) -> bool:
        return True


class ShortPages(Passing):
    """A store whose pages have one row."""

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        at, left = max(prefix, start), limit
        while left is None or left > 0:
            page = list(self.inner.scan(partition, prefix=prefix, start=at, end=end, limit=1))
            yield from page
            if not page:
                return
            at = page[0].key + b"\0"
            left = None if left is None else left - 1

    def scan_arrow(self, partition: bytes, keys: KeyBounds) -> Iterator[pa.RecordBatch]:
        for row in self.scan(partition, start=keys.lower, end=keys.upper):
            yield from batches_of_rows(iter([(row.key, row.value)]))


PROFILES: Final[dict[str, Callable[[Store], Store]]] = {
    "plain": PlainStore,
    "partly": PartlyAtomic,
    "short pages": ShortPages,
}
