"""Tests of many large values: no call grows with the size of a partition, and bounds may be longer than any key."""

from __future__ import annotations

from itertools import chain
from typing import Final

import pyarrow as pa

from graveler_core.kv import bulk
from graveler_core.kv.limits import MAX_KEY, MAX_VALUE
from graveler_core.kv.paging import PAGE_BYTES
from graveler_core.kv.store import Store
from graveler_core.testing.store_cases.scans import keys_of, numbered

ROWS: Final = 120
"""Number of rows. Together, their values have more than twice the size of a page."""


class LargeCases:
    """Tests of rows of the largest size, and of bounds that are longer than the largest key."""

    def test_a_bound_may_be_longer_than_any_key(self, store: Store) -> None:
        """`after(key)` of a key of the largest size is such a bound: each page of a scan begins with one."""
        keys = [b"k" * (MAX_KEY - 1) + last for last in (b"a", b"b", b"c")]
        for key in (b"a", *keys, b"z"):
            store.set(b"p", key, key[-1:])
        for beyond in (b"\x00", b"\xff", b"\x00" * 100):
            assert keys_of(store) == [b"a", *keys, b"z"]
            first, second = keys[0] + beyond, keys[1] + beyond
            assert [row.key for row in store.scan(b"p", start=first)] == [*keys[1:], b"z"]
            assert [row.key for row in store.scan(b"p", end=second)] == [b"a", *keys[:2]]
            assert [row.key for row in store.scan(b"p", start=first, end=second)] == [keys[1]]
            assert [row.key for row in store.scan(b"p", start=second, end=first)] == []
            assert [row.key for row in store.scan(b"p", prefix=first)] == []
            batches = list(bulk.scan_arrow(store, b"p", start=first, end=second))
            assert [key for batch in batches for key in batch.column("key").to_pylist()] == [keys[1]]

    def test_pages_end_where_their_values_are_large(self, store: Store) -> None:
        keys, values = _large()
        bulk.load(store, b"p", pa.array(keys, pa.binary()), pa.array(values, pa.binary()))
        batches = list(bulk.scan_arrow(store, b"p"))
        assert list(chain.from_iterable(batch.column("value").to_pylist() for batch in batches)) == values
        assert max(sum(map(len, batch.column("value").to_pylist())) for batch in batches) <= PAGE_BYTES * 2
        assert [(row.key, row.value) for row in store.scan(b"p")] == list(zip(keys, values, strict=True))
        assert [row.key for row in store.scan(b"p", start=keys[3], limit=ROWS - 7)] == keys[3:-4]
        assert bulk.drop_partition(store, b"p") == ROWS

    def test_many_large_values_at_once(self, store: Store) -> None:
        """However many messages the store needs for them."""
        keys, values = _large()
        bulk.set_many(store, [(b"p", key, value) for key, value in zip(keys, values, strict=True)])
        found = bulk.get_many(store, [(b"p", key) for key in reversed(keys)])
        assert [answer and answer.value for answer in found] == values[::-1]


def _large() -> tuple[list[bytes], list[bytes]]:
    """Return keys and values: each value differs from the others in its first bytes."""
    keys = numbered(range(ROWS))
    return keys, [key + bytes(range(256)) * ((MAX_VALUE - len(key)) // 256) for key in keys]
