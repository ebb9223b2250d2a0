"""Tests of compare-and-swap: it succeeds exactly if its predicate holds, and otherwise changes nothing."""

from __future__ import annotations

from functools import partial

import pytest

from graveler_core.errors import InvalidInput, Kind, PredicateFailed
from graveler_core.kv import bulk
from graveler_core.kv.store import EXISTS, Store
from graveler_core.testing.plain_store import PlainStore
from graveler_core.testing.store_cases.values import predicate_of, refused, value_of


class SwapCases:
    """Tests of `set_if`, `write_and_swap` and `delete_if`."""

    def test_create_if_absent(self, store: Store) -> None:
        store.set_if(b"p", b"k", b"first", None)
        assert value_of(store, b"k") == b"first"
        assert refused(lambda: store.set_if(b"p", b"k", b"second", None))
        assert refused(lambda: store.set_if(b"p", b"k", b"first", None))
        assert value_of(store, b"k") == b"first"
        store.delete(b"p", b"k")
        store.set_if(b"p", b"k", b"third", None)
        assert value_of(store, b"k") == b"third"

    def test_replace_if_present(self, store: Store) -> None:
        assert refused(lambda: store.set_if(b"p", b"k", b"v", EXISTS))
        assert store.get(b"p", b"k") is None
        store.set(b"p", b"k", b"v")
        store.set_if(b"p", b"k", b"w", EXISTS)
        assert value_of(store, b"k") == b"w"

    def test_swap_if_unchanged(self, store: Store) -> None:
        store.set(b"p", b"k", b"one")
        predicate = predicate_of(store, b"k")
        store.set_if(b"p", b"k", b"two", predicate)
        assert value_of(store, b"k") == b"two"
        assert refused(lambda: store.set_if(b"p", b"k", b"three", predicate))
        assert value_of(store, b"k") == b"two"

    def test_swap_of_an_absent_key(self, store: Store) -> None:
        store.set(b"p", b"k", b"one")
        predicate = predicate_of(store, b"k")
        store.delete(b"p", b"k")
        assert refused(lambda: store.set_if(b"p", b"k", b"two", predicate))
        assert store.get(b"p", b"k") is None

    def test_set_returns_the_next_predicate(self, store: Store) -> None:
        predicate = store.set_if(b"p", b"k", b"0", None)
        for number in range(1, 5):
            predicate = store.set_if(b"p", b"k", b"%d" % number, predicate)
        assert value_of(store, b"k") == b"4"
        store.set_if(b"p", b"k", b"5", predicate_of(store, b"k"))

    def test_plain_writes_break_predicates(self, store: Store) -> None:
        predicate = store.set_if(b"p", b"k", b"one", None)
        store.set(b"p", b"k", b"two")
        assert refused(lambda: store.set_if(b"p", b"k", b"three", predicate))
        predicate = predicate_of(store, b"k")
        bulk.set_many(store, [(b"p", b"k", b"four")])
        assert refused(lambda: store.set_if(b"p", b"k", b"five", predicate))
        assert value_of(store, b"k") == b"four"

    def test_write_and_swap(self, store: Store) -> None:
        for target in (store, PlainStore(store)):
            store.set(b"p", b"k", b"one")
            items = [(b"q", b"b", b"2"), (b"q", b"a", b""), (b"r", b"a", b"3")]
            predicate = bulk.write_and_swap(target, items, (b"p", b"k", b"two"), predicate_of(store, b"k"))
            assert [(row.key, row.value) for row in store.scan(b"q")] == [(b"a", b""), (b"b", b"2")]
            assert [(row.key, row.value) for row in store.scan(b"r")] == [(b"a", b"3")]
            bulk.write_and_swap(target, [(b"q", b"b", b"4")], (b"p", b"k", b"three"), predicate)
            assert (value_of(store, b"b", b"q"), value_of(store, b"k")) == (b"4", b"three")
            assert refused(partial(bulk.write_and_swap, target, items, (b"p", b"k", b"four"), predicate))
            assert value_of(store, b"k") == b"three"

    def test_write_and_swap_of_an_absent_or_present_key(self, store: Store) -> None:
        items = [(b"q", b"a", b"1")]
        assert refused(lambda: bulk.write_and_swap(store, items, (b"p", b"k", b"v"), EXISTS))
        assert store.get(b"p", b"k") is None
        predicate = bulk.write_and_swap(store, items, (b"p", b"k", b"v"), None)
        assert (value_of(store, b"a", b"q"), value_of(store, b"k")) == (b"1", b"v")
        assert refused(lambda: bulk.write_and_swap(store, items, (b"p", b"k", b"w"), None))
        assert value_of(store, b"k") == b"v"
        store.set_if(b"p", b"k", b"w", predicate)
        bulk.write_and_swap(store, [(b"q", b"a", b"2")], (b"p", b"k", b"x"), EXISTS)
        assert (value_of(store, b"a", b"q"), value_of(store, b"k")) == (b"2", b"x")

    def test_write_and_swap_checks_before_it_writes(self, store: Store) -> None:
        predicate = store.set_if(b"p", b"k", b"one", None)
        with pytest.raises(InvalidInput):
            bulk.write_and_swap(store, [(b"q", b"a", b"1"), (b"q", b"", b"2")], (b"p", b"k", b"two"), predicate)
        with pytest.raises(InvalidInput):
            bulk.write_and_swap(store, [(b"q", b"a", b"1")], (b"p", b"k", b"x" * 98_305), predicate)
        assert store.get(b"q", b"a") is None
        bulk.write_and_swap(store, [], (b"p", b"k", b"two"), predicate)
        assert value_of(store, b"k") == b"two"

    def test_values_that_look_alike_are_apart(self, store: Store) -> None:
        for value, other in ((b"a", b"A"), (b"a", b"a\x00"), (b"a", b"a "), (b"\xff", b"\xfe"), (b"", b"\x00")):
            store.set(b"p", b"k", value)
            predicate = predicate_of(store, b"k")
            store.set(b"p", b"k", other)
            assert refused(lambda holds=predicate: store.set_if(b"p", b"k", b"new", holds))
            assert refused(lambda holds=predicate: store.delete_if(b"p", b"k", holds))
            assert value_of(store, b"k") == other

    def test_predicates_of_scans_and_bulk_reads(self, store: Store) -> None:
        store.set(b"p", b"k", b"1")
        [row] = store.scan(b"p")
        [found] = bulk.get_many(store, [(b"p", b"k")])
        assert found is not None
        store.set_if(b"p", b"k", b"2", row.predicate)
        assert refused(lambda: store.set_if(b"p", b"k", b"3", found.predicate))
        [found] = bulk.get_many(store, [(b"p", b"k")])
        assert found is not None
        store.set_if(b"p", b"k", b"3", found.predicate)

    def test_large_values_are_compared_whole(self, store: Store) -> None:
        value = b"x" * 98_304
        predicate = store.set_if(b"p", b"k", value, None)
        store.set(b"p", b"k", value[:-1] + b"y")
        assert refused(lambda: store.set_if(b"p", b"k", b"small", predicate))
        store.set(b"p", b"k", value)
        store.set_if(b"p", b"k", b"small", predicate_of(store, b"k"))
        assert value_of(store, b"k") == b"small"

    def test_delete_if_unchanged(self, store: Store) -> None:
        predicate = store.set_if(b"p", b"k", b"one", None)
        store.set(b"p", b"k", b"two")
        assert refused(lambda: store.delete_if(b"p", b"k", predicate))
        assert value_of(store, b"k") == b"two"
        store.delete_if(b"p", b"k", predicate_of(store, b"k"))
        assert store.get(b"p", b"k") is None

    def test_delete_if_of_an_absent_key(self, store: Store) -> None:
        predicate = store.set_if(b"p", b"k", b"one", None)
        store.delete(b"p", b"k")
        assert refused(lambda: store.delete_if(b"p", b"k", predicate))
        assert refused(lambda: store.delete_if(b"p", b"k", EXISTS))

    def test_delete_if_present(self, store: Store) -> None:
        store.set(b"p", b"k", b"v")
        store.delete_if(b"p", b"k", EXISTS)
        assert store.get(b"p", b"k") is None

    def test_swaps_touch_one_key(self, store: Store) -> None:
        for partition, key in ((b"p", b"k"), (b"p", b"l"), (b"q", b"k")):
            store.set(partition, key, b"same")
        store.set_if(b"p", b"k", b"new", predicate_of(store, b"k"))
        store.delete_if(b"p", b"l", predicate_of(store, b"l"))
        assert [(row.key, row.value) for row in store.scan(b"p")] == [(b"k", b"new")]
        assert [(row.key, row.value) for row in store.scan(b"q")] == [(b"k", b"same")]

    def test_a_lost_swap_names_the_key(self, store: Store) -> None:
        store.set(b"p", b"some key", b"v")
        with pytest.raises(PredicateFailed, match="some key") as caught:
            store.set_if(b"p", b"some key", b"w", None)
        assert caught.value.kind is Kind.PredicateFailed
