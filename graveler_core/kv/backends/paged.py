"""Base class of the stores of this package: scans in pages, and atomic bulk writes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa

from graveler_core.kv.columns import batch_of_columns
from graveler_core.kv.limits import check_partition
from graveler_core.kv.paging import FIRST_PAGE_ROWS, PAGE_ROWS, KeyBounds, RowPage, check_limit, interval, pages
from graveler_core.kv.store import KeyValue, Predicate, Store


class PagedStore(Store):
    """Store that reads rows in pages. Subclasses implement `set_many` and `delete_together` as atomic methods."""

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        check_partition(partition)
        check_limit(limit)
        found = pages(self._reader(partition), interval(prefix, start, end), limit, FIRST_PAGE_ROWS)
        return (
            KeyValue(key, value, Predicate(value))
            for page in found
            for key, value in zip(page.keys, page.values, strict=True)
        )

    def scan_arrow(self, partition: bytes, keys: KeyBounds) -> Iterator[pa.RecordBatch]:
        found = pages(self._reader(partition), keys, None, PAGE_ROWS)
        return (batch_of_columns(page.keys, page.values) for page in found)

    def sets_atomically(self) -> bool:
        return True

    def deletes_together(self) -> bool:
        return True

    @abstractmethod
    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        """Read at most `rows` rows in key order, or fewer if their values reach `PAGE_BYTES`."""

    def _reader(self, partition: bytes) -> Callable[[KeyBounds, int], RowPage]:
        """Return the function that reads the pages of one scan. Subclasses override it if pages share a state."""
        return partial(self._page, partition)
