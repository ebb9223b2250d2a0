"""Tests of scans: byte order, exact bounds, paging without lost or repeated rows, and current reads during a scan."""

from __future__ import annotations

from itertools import islice, product

import pyarrow as pa
import pytest

from graveler_core.errors import InvalidInput
from graveler_core.kv import bulk
from graveler_core.kv.store import Store
from graveler_core.testing.store_cases.values import value_of

KEYS = tuple(
    sorted(
        {
            b"".join(parts)
            for size in (1, 2, 3)
            for parts in product((b"\x00", b"a", b"\x7f", b"\x80", b"\xff"), repeat=size)
        }
        | {b"A", b"B", b"a b", b"a/b", b"a/b/c", b"a0", "ä".encode(), "a\u0308".encode(), b"10", b"9"}
    )
)
"""Sorted keys. Signed bytes, collations, terminators or numeric comparison would sort them in a different order."""

_BOUNDS = (b"", b"\x00", b"a", b"a\x00", b"a\xff", b"a/", b"\xff", b"\xff\xff", b"\xff\xff\xff", b"zz")
_WITH_A_PREFIX = {b"a": (b"", b"a", b"a\x00", b"a/", b"zz"), b"\xff": (b"a", b"\xff", b"\xff\xff", b"\xff\xff\xff")}
BOUNDS: tuple[tuple[bytes, bytes, bytes | None], ...] = tuple(
    dict.fromkeys(
        (
            *product((b"",), _BOUNDS, (None, *_BOUNDS)),
            *product(_BOUNDS, _BOUNDS, (None,)),
            *product(_BOUNDS, (b"",), _BOUNDS),
            *((prefix, *pair) for prefix, bounds in _WITH_A_PREFIX.items() for pair in product(bounds, bounds)),
        )
    )
)
"""Prefix, start and end of scans: all pairs of two of them, and all three for the prefixes with the most keys."""

MANY = 11_003
"""Number of rows that needs several pages with every page size up to 10,000. The fixture `many` returns it."""


class ScanCases:
    """Tests of `scan`, and of reads during an open scan."""

    def test_order_is_that_of_unsigned_bytes(self, store: Store) -> None:
        put(store, KEYS[::-1])
        assert keys_of(store) == list(KEYS)

    def test_bounds(self, store: Store) -> None:
        keys = tuple(key for key in KEYS if len(key) < 3 or key in _BOUNDS or key[1:] in (b"\x00\x00", b"\xff\xff"))
        put(store, keys)
        for prefix, start, end in BOUNDS:
            expected = [key for key in keys if key.startswith(prefix) and key >= start and (end is None or key < end)]
            found = [row.key for row in store.scan(b"p", prefix=prefix, start=start, end=end)]
            assert found == expected, (prefix, start, end)

    def test_limit(self, store: Store) -> None:
        put(store, KEYS)
        for limit in (0, 1, 2, len(KEYS) - 1, len(KEYS), len(KEYS) + 1):
            assert [row.key for row in store.scan(b"p", limit=limit)] == list(KEYS[:limit])
        after = [row.key for row in store.scan(b"p", prefix=b"a", start=b"a/", limit=3)]
        assert after == [key for key in KEYS if key.startswith(b"a") and key >= b"a/"][:3]

    def test_a_negative_limit_is_refused_at_once(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match="-1"):
            store.scan(b"p", limit=-1)

    def test_an_empty_partition_has_no_rows(self, store: Store) -> None:
        assert list(store.scan(b"p")) == []
        assert list(store.scan(b"p", prefix=b"a", limit=5)) == []

    def test_rows_carry_their_values(self, store: Store) -> None:
        put(store, KEYS)
        assert [(row.key, row.value) for row in store.scan(b"p")] == [(key, b"value of " + key) for key in KEYS]

    def test_many_pages(self, store: Store, many: int) -> None:
        fill(store, many)
        found = keys_of(store)
        assert found == numbered(range(many))
        assert [row.key for row in store.scan(b"p", limit=many - 1)] == found[:-1]
        assert [row.key for row in store.scan(b"p", start=found[5], end=found[-5])] == found[5:-5]

    def test_large_values_fill_pages_early(self, store: Store) -> None:
        values = {b"%03d" % number: bytes([number]) * 98_304 for number in range(90)}
        for key, value in values.items():
            store.set(b"p", key, value)
        assert {row.key: row.value for row in store.scan(b"p")} == values
        assert len(list(store.scan(b"p", limit=80))) == 80

    def test_deletion_during_a_scan_hides_no_other_row(self, store: Store, many: int) -> None:
        fill(store, many)
        rows = store.scan(b"p")
        found = [row.key for row in islice(rows, 50)]
        for key in found:
            store.delete(b"p", key)
        found += [row.key for row in rows]
        assert found == numbered(range(many))

    def test_insertion_during_a_scan_repeats_no_row(self, store: Store, many: int) -> None:
        fill(store, many)
        rows = store.scan(b"p")
        found = [row.key for row in islice(rows, 50)]
        for number in range(50):
            store.set(b"p", b"%08d-new" % number, b"new")
        found += [row.key for row in rows if not row.key.endswith(b"new")]
        assert found == numbered(range(many))

    def test_deletion_of_the_row_a_scan_stands_on(self, store: Store) -> None:
        put(store, KEYS)
        found = []
        for row in store.scan(b"p"):
            found.append(row.key)
            store.delete(b"p", row.key)
        assert found == list(KEYS)
        assert keys_of(store) == []

    def test_get_during_an_open_scan_sees_new_writes(self, store: Store, many: int) -> None:
        fill(store, many)
        key = numbered([many - 1])[0]
        rows = store.scan(b"p")
        next(rows)
        for number in range(3):
            store.set(b"p", key, b"%d" % number)
            assert value_of(store, key) == b"%d" % number
            assert [found and found.value for found in bulk.get_many(store, [(b"p", key)])] == [b"%d" % number]
            assert next(store.scan(b"p", start=key)).value == b"%d" % number
            next(rows)
        store.delete(b"p", key)
        assert store.get(b"p", key) is None
        assert len(list(rows)) >= many - 5

    def test_get_during_an_open_columnar_scan_sees_new_writes(self, store: Store, many: int) -> None:
        fill(store, many)
        key = numbered([many - 1])[0]
        batches = bulk.scan_arrow(store, b"p")
        next(batches)
        store.set(b"p", key, b"new")
        assert value_of(store, key) == b"new"

    def test_swaps_during_an_open_scan(self, store: Store, many: int) -> None:
        fill(store, many)
        for row in islice(store.scan(b"p"), 20):
            predicate = store.set_if(b"p", row.key, b"swapped", row.predicate)
            store.delete_if(b"p", row.key, predicate)
        assert len(keys_of(store)) == many - 20

    def test_abandoned_scans_hold_nothing(self, store: Store, many: int) -> None:
        fill(store, many)
        open_scans = [store.scan(b"p") for _ in range(20)]
        for rows in open_scans:
            next(rows)
        store.set(b"p", b"k", b"v")
        assert value_of(store, b"k") == b"v"
        assert bulk.drop_partition(store, b"p") == many + 1

    def test_scans_side_by_side(self, store: Store) -> None:
        put(store, KEYS)
        pairs = zip(store.scan(b"p"), store.scan(b"p", prefix=b"a"), strict=False)
        assert all(first.key in KEYS and second.key.startswith(b"a") for first, second in pairs)


def put(store: Store, keys: tuple[bytes, ...]) -> None:
    """Write keys to partition `p`, and rows to neighbouring partitions that no scan of `p` may return."""
    items = [(b"p", key, b"value of " + key) for key in keys]
    bulk.set_many(store, [*items, (b"o", b"a", b"other"), (b"p\x00", b"a", b"other"), (b"q", b"a", b"other")])


def fill(store: Store, many: int) -> None:
    """Write a number of numbered keys to partition `p`."""
    keys = numbered(range(many))
    bulk.load(store, b"p", pa.array(keys, pa.binary()), pa.array([b"v"] * many, pa.binary()))


def numbered(numbers: range | list[int]) -> list[bytes]:
    """Return keys that sort like their numbers."""
    return [b"%08d" % number for number in numbers]


def keys_of(store: Store) -> list[bytes]:
    """Return the keys that a scan of partition `p` returns."""
    return [row.key for row in store.scan(b"p")]
