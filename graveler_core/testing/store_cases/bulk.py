"""Tests of the methods for many keys: an overridden method behaves like the default method."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest

from graveler_core.errors import InvalidInput, LimitExceeded
from graveler_core.kv import bulk
from graveler_core.kv.columns import ROW_SCHEMA
from graveler_core.kv.store import Store
from graveler_core.testing.plain_store import PlainStore
from graveler_core.testing.store_cases.scans import KEYS, fill, keys_of, numbered, put
from graveler_core.testing.store_cases.values import value_of


class BulkCases:
    """Tests of `get_many`, `set_many`, `load`, `scan_arrow`, `drop_partition`, `split_points` and `about_rows`."""

    def test_get_many_keeps_order_and_places(self, store: Store) -> None:
        put(store, KEYS)
        wanted = [(b"p", b"a"), (b"never", b"a"), (b"q", b"a"), (b"p", b"a"), (b"p", b"never"), (b"p", b"\xff")]
        found = bulk.get_many(store, wanted)
        assert found == bulk.get_many(PlainStore(store), wanted)
        values = [answer and answer.value for answer in found]
        assert values == [b"value of a", None, b"other", b"value of a", None, b"value of \xff"]
        assert bulk.get_many(store, []) == []

    def test_get_many_of_many(self, store: Store, many: int) -> None:
        fill(store, many)
        wanted = [(b"p", key) for key in numbered(list(range(many + 500, 0, -7)))]
        found = bulk.get_many(store, wanted)
        assert [answer is not None for answer in found] == [int(key) < many for _, key in wanted]

    def test_get_many_knows_empty_values(self, store: Store) -> None:
        store.set(b"p", b"k", b"")
        [found, absent] = bulk.get_many(store, [(b"p", b"k"), (b"p", b"l")])
        assert found is not None
        assert found.value == b""
        assert absent is None

    def test_set_many(self, store: Store) -> None:
        items = [
            (b"p", b"a", b"1"),
            (b"q", b"a", b"2"),
            (b"p", b"b", b""),
            (b"p", b"\x00\xff", b"3"),
            (b"p", b"a", b"4"),
        ]
        for target, partition in ((store, b"p"), (PlainStore(store), b"r")):
            bulk.set_many(target, [(partition if owner == b"p" else owner, key, value) for owner, key, value in items])
            rows = [(row.key, row.value) for row in store.scan(partition)]
            assert rows == [(b"\x00\xff", b"3"), (b"a", b"4"), (b"b", b"")]
        assert [(row.key, row.value) for row in store.scan(b"q")] == [(b"a", b"2")]
        bulk.set_many(store, [])

    def test_set_many_checks_before_it_writes(self, store: Store) -> None:
        with pytest.raises(InvalidInput):
            bulk.set_many(store, [(b"p", b"a", b"1"), (b"p", b"", b"2")])
        with pytest.raises(LimitExceeded):
            bulk.set_many(store, [(b"p", b"a", b"1"), (b"p", b"b", b"x" * 98_305)])
        assert keys_of(store) == []

    def test_load(self, store: Store, many: int) -> None:
        keys = numbered(range(many))[::-1]
        store.set(b"p", keys[3], b"old")
        store.set(b"p", b"kept", b"kept")
        values = [b"" if number % 5 == 0 else b"%d" % number for number in range(many)]
        bulk.load(store, b"p", pa.array(keys, pa.binary()), pa.array(values, pa.binary()))
        rows = [(row.key, row.value) for row in store.scan(b"p")]
        assert rows == [*zip(keys[::-1], values[::-1], strict=True), (b"kept", b"kept")]

    def test_load_equals_the_default(self, store: Store) -> None:
        keys = pa.array(KEYS[::-1], pa.binary())
        values = pa.array([key * 2 for key in KEYS[::-1]], pa.binary())
        bulk.load(store, b"p", keys, values)
        bulk.load(PlainStore(store), b"q", keys, values)
        assert [(row.key, row.value) for row in store.scan(b"p")] == [(row.key, row.value) for row in store.scan(b"q")]
        bulk.load(store, b"p", keys[3:6], values[3:6])
        bulk.load(store, b"p", keys[:0], values[:0])
        assert keys_of(store) == list(KEYS)

    def test_load_checks_before_it_writes(self, store: Store) -> None:
        def load(keys: list[bytes | None], values: list[bytes | None]) -> None:
            bulk.load(store, b"p", pa.array(keys, pa.binary()), pa.array(values, pa.binary()))

        for keys, values in (([b"a", b"a"], [b"1", b"2"]), ([b"a"], []), ([b"a", None], [b"1", b"2"]), ([b""], [b"1"])):
            with pytest.raises(InvalidInput):
                load([*keys], [*values])
        with pytest.raises(InvalidInput):
            load([b"a"], [None])
        for key, value in ((b"a" * 1_025, b"1"), (b"a", b"1" * 98_305)):
            with pytest.raises(LimitExceeded):
                load([b"0", key], [b"0", value])
        assert keys_of(store) == []

    def test_scan_arrow_equals_scan(self, store: Store) -> None:
        put(store, KEYS)
        for prefix, start, end in ((b"", b"", None), (b"a", b"a/", None), (b"a", b"", b"a\xff"), (b"z", b"", None)):
            expected = [(row.key, row.value) for row in store.scan(b"p", prefix=prefix, start=start, end=end)]
            for source in (store, PlainStore(store)):
                batches = list(bulk.scan_arrow(source, b"p", prefix=prefix, start=start, end=end))
                table = pa.Table.from_batches(batches, ROW_SCHEMA)
                assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == expected
                assert all(batch.num_rows for batch in batches)

    def test_scan_arrow_pages(self, store: Store, many: int) -> None:
        fill(store, many)
        for source in (store, PlainStore(store)):
            batches = list(bulk.scan_arrow(source, b"p"))
            assert max(batch.num_rows for batch in batches) <= 10_000
            assert [key for batch in batches for key in batch.column("key").to_pylist()] == numbered(range(many))

    def test_drop_partition(self, store: Store, many: int) -> None:
        fill(store, many)
        put(store, (b"extra",))
        assert bulk.drop_partition(store, b"p") == many + 1
        assert keys_of(store) == []
        assert all(len(list(store.scan(other))) == 1 for other in (b"o", b"p\x00", b"q"))
        assert bulk.drop_partition(store, b"p") == 0

    def test_drop_partition_by_default(self, store: Store) -> None:
        put(store, KEYS)
        assert bulk.drop_partition(PlainStore(store), b"p") == len(KEYS)
        assert keys_of(store) == []
        assert all(len(list(store.scan(other))) == 1 for other in (b"o", b"p\x00", b"q"))

    def test_a_dropped_partition_can_be_used_again(self, store: Store) -> None:
        put(store, KEYS)
        bulk.drop_partition(store, b"p")
        store.set_if(b"p", b"a", b"again", None)
        assert value_of(store, b"a") == b"again"

    def test_split_points_cut_evenly(self, store: Store, many: int) -> None:
        fill(store, many)
        for source in (store, PlainStore(store)):
            for ranges in (1, 2, 3, 7):
                points = bulk.split_points(source, b"p", ranges)
                bounds = [0, *(int(point) for point in points), many]
                sizes = [end - start for start, end in pairwise(bounds)]
                assert len(sizes) == ranges
                assert min(sizes) >= many // ranges // 2
                assert max(sizes) <= many // ranges * 2

    def test_split_points_of_few_rows(self, store: Store) -> None:
        assert bulk.split_points(store, b"p", 4) == []
        put(store, (b"a", b"\xff"))
        for source in (store, PlainStore(store)):
            points = bulk.split_points(source, b"p", 4)
            assert points == sorted(set(points))
            assert set(points) <= {b"\xff"}
            with pytest.raises(InvalidInput):
                bulk.split_points(source, b"p", 0)

    def test_about_rows(self, store: Store, many: int) -> None:
        fill(store, many)
        put(store, (b"extra",))
        for source in (store, PlainStore(store)):
            assert many // 2 <= bulk.about_rows(source, b"p") <= many * 2
            assert bulk.about_rows(source, b"never") == 0
            assert bulk.about_rows(source, b"q") in (1, 2)

    def test_about_rows_of_a_partition_that_shrinks(self, store: Store) -> None:
        """Deleted rows do not count, so that a commit of few rows is not mistaken for a large one."""
        keys = numbered(range(50))
        put(store, tuple(keys))
        for key in keys[3:]:
            store.delete(b"p", key)
        for source in (store, PlainStore(store)):
            assert 1 <= bulk.about_rows(source, b"p") <= 6
        bulk.drop_partition(store, b"p")
        assert bulk.about_rows(store, b"p") == 0
