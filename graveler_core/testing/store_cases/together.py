"""Tests of conditional deletions of several keys in one atomic step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from graveler_core.errors import InvalidInput
from graveler_core.kv import bulk
from graveler_core.kv.store import EXISTS, Predicate, Store
from graveler_core.testing.plain_store import PlainStore
from graveler_core.testing.store_cases.scans import keys_of
from graveler_core.testing.store_cases.threads import together
from graveler_core.testing.store_cases.values import predicate_of, refused, value_of

ROUNDS = 12


class TogetherCases:
    """Tests of `delete_together`. A store without support for it refuses and changes nothing."""

    def test_delete_together_removes_all_where_all_holds(self, store: Store) -> None:
        rows, unchanged = _kept(store)
        store.set(b"p", b"other", b"other")
        able = store.deletes_together()
        assert refused(lambda: bulk.delete_together(store, rows, unchanged)) is not able
        assert keys_of(store) == ([b"other"] if able else [b"a", b"b", b"other"])
        assert [value_of(store, key, b"q") for key in (b"x", b"y")] == [b"", b"y"]

    def test_delete_together_removes_nothing_where_one_has_changed(self, store: Store) -> None:
        for partition, key in ((b"p", b"a"), (b"p", b"b"), (b"q", b"x"), (b"q", b"y")):
            for change in (b"changed", None):
                rows, unchanged = _kept(store)
                store.delete(partition, key)
                if change is not None:
                    store.set(partition, key, change)
                left = [list(store.scan(each)) for each in (b"p", b"q")]
                assert refused(partial(bulk.delete_together, store, rows, unchanged))
                assert [list(store.scan(each)) for each in (b"p", b"q")] == left

    def test_delete_together_of_whatever_exists(self, store: Store) -> None:
        able = store.deletes_together()
        rows, unchanged = _kept(store)
        absent = [(b"p", b"never", EXISTS)]
        assert refused(lambda: bulk.delete_together(store, rows, absent))
        assert refused(lambda: bulk.delete_together(store, [*rows, *absent], unchanged))
        anything = [(partition, key, EXISTS) for partition, key, _ in unchanged]
        assert refused(lambda: bulk.delete_together(store, [(b"p", b"a", EXISTS)], anything)) is not able
        assert refused(lambda: bulk.delete_together(store, [(b"p", b"b", EXISTS)], [])) is not able
        assert keys_of(store) == ([] if able else [b"a", b"b"])

    def test_delete_together_of_nothing(self, store: Store) -> None:
        bulk.delete_together(store, [], [(b"p", b"never", EXISTS)])
        with pytest.raises(InvalidInput):
            bulk.delete_together(store, [(b"p", b"", EXISTS)], [])

    def test_delete_together_is_refused_by_default(self, store: Store) -> None:
        rows, unchanged = _kept(store)
        plain = PlainStore(store)
        assert not plain.deletes_together()
        assert refused(lambda: bulk.delete_together(plain, rows, unchanged))
        assert keys_of(store) == [b"a", b"b"]

    def test_nothing_is_deleted_once_a_condition_is_gone(self, store: Store) -> None:
        """Half of the threads change a condition and then read a key. If they find the key, it is not deleted later."""

        def work(number: int, deletion: Callable[[], None]) -> bytes | None:
            if number % 2:
                refused(deletion)
                return None
            store.set(b"q", b"x", b"%d" % number)
            return value_of(store, b"b")

        for _ in range(ROUNDS):
            deletion = partial(bulk.delete_together, store, *_kept(store))
            found = together(partial(work, deletion=deletion))
            assert value_of(store, b"b") == b"2" or found == [None] * len(found)


def _kept(store: Store) -> tuple[list[tuple[bytes, bytes, Predicate]], list[tuple[bytes, bytes, Predicate]]]:
    """Write four keys, and return the rows to delete and the rows that must stay unchanged, with predicates."""
    for partition, key, value in ((b"p", b"a", b"1"), (b"p", b"b", b"2"), (b"q", b"x", b""), (b"q", b"y", b"y")):
        store.set(partition, key, value)
    rows = [(b"p", key, predicate_of(store, key)) for key in (b"a", b"b")]
    return rows, [(b"q", key, predicate_of(store, key, b"q")) for key in (b"x", b"y")]
