"""Tests of single reads and writes: values are returned unchanged, and partitions are separate."""

from __future__ import annotations

import pickle
import random

from graveler_core.errors import PredicateFailed
from graveler_core.kv import bulk
from graveler_core.kv.store import EXISTS, Predicate, Store

PARTITIONS = (b"p", b"p\x00", b"p\xff", b"P", b"pp", b"\x00", b"\xff", b"repo-1/main:0", "größe".encode())
"""Partitions that an implementation could mix up by separators, collations or prefixes."""


class ValueCases:
    """Tests of `get`, `set` and `delete`."""

    def test_absent_key(self, store: Store) -> None:
        assert store.get(b"p", b"k") is None
        store.set(b"p", b"kk", b"v")
        store.set(b"p", b"k\x00", b"v")
        store.set(b"q", b"k", b"v")
        assert store.get(b"p", b"k") is None

    def test_set_and_get(self, store: Store) -> None:
        store.set(b"p", b"k", b"first")
        assert value_of(store, b"k") == b"first"
        store.set(b"p", b"k", b"second")
        assert value_of(store, b"k") == b"second"

    def test_empty_value_is_a_value(self, store: Store) -> None:
        store.set(b"p", b"k", b"")
        found = store.get(b"p", b"k")
        assert found is not None
        assert found.value == b""
        assert [(row.key, row.value) for row in store.scan(b"p")] == [(b"k", b"")]
        store.set(b"p", b"full", b"v")
        store.set(b"p", b"full", b"")
        assert value_of(store, b"full") == b""

    def test_empty_value_can_be_swapped(self, store: Store) -> None:
        store.set_if(b"p", b"k", b"", None)
        assert refused(lambda: store.set_if(b"p", b"k", b"again", None))
        predicate = store.set_if(b"p", b"k", b"", EXISTS)
        predicate = store.set_if(b"p", b"k", b"v", predicate)
        store.set_if(b"p", b"k", b"", predicate)
        found = store.get(b"p", b"k")
        assert found is not None
        store.delete_if(b"p", b"k", found.predicate)
        assert store.get(b"p", b"k") is None

    def test_every_byte_of_keys_and_values(self, store: Store) -> None:
        every = bytes(range(256))
        for number in range(256):
            key = bytes([number])
            store.set(b"p", key, key + every)
        for number in range(256):
            key = bytes([number])
            assert value_of(store, key) == key + every
        store.set(b"p", every, every[::-1])
        assert value_of(store, every) == every[::-1]

    def test_values_come_back_as_bytes(self, store: Store) -> None:
        store.set(b"p", b"k", b"123")
        found = store.get(b"p", b"k")
        assert found is not None
        assert type(found.value) is bytes
        [row] = store.scan(b"p")
        assert (type(row.key), type(row.value)) == (bytes, bytes)

    def test_partitions_are_apart(self, store: Store) -> None:
        for partition in PARTITIONS:
            store.set(partition, b"k", b"of " + partition)
        for partition in PARTITIONS:
            found = store.get(partition, b"k")
            assert found is not None
            assert found.value == b"of " + partition
            assert [row.value for row in store.scan(partition)] == [b"of " + partition]
        store.delete(b"p", b"k")
        assert [p for p in PARTITIONS if store.get(p, b"k") is None] == [b"p"]

    def test_partition_and_key_do_not_run_together(self, store: Store) -> None:
        store.set(b"a", b"bc", b"1")
        store.set(b"ab", b"c", b"2")
        assert [row.key for row in store.scan(b"a")] == [b"bc"]
        assert [row.key for row in store.scan(b"ab")] == [b"c"]

    def test_delete(self, store: Store) -> None:
        store.set(b"p", b"k", b"v")
        store.set(b"p", b"kept", b"v")
        store.delete(b"p", b"k")
        store.delete(b"p", b"k")
        store.delete(b"p", b"never")
        store.delete(b"never", b"k")
        assert store.get(b"p", b"k") is None
        assert [row.key for row in store.scan(b"p")] == [b"kept"]
        store.set(b"p", b"k", b"again")
        assert value_of(store, b"k") == b"again"

    def test_answers_can_be_pickled(self, store: Store) -> None:
        store.set(b"p", b"k", b"v")
        found = store.get(b"p", b"k")
        assert found is not None
        copy = pickle.loads(pickle.dumps(found))  # noqa: S301 (our own bytes)
        assert copy == found
        store.set_if(b"p", b"k", b"w", copy.predicate)
        assert pickle.loads(pickle.dumps(EXISTS)) == EXISTS  # noqa: S301 (our own bytes)

    def test_behaves_as_a_dictionary(self, store: Store) -> None:
        draw = random.Random(3)  # noqa: S311 (a repeatable draw, no secret)
        model: dict[tuple[bytes, bytes], bytes] = {}
        for _ in range(150):
            place = (draw.choice(PARTITIONS[:3]), draw.choice((b"\x00", b"a", b"a\x00", b"b", b"\xff", b"\xff\xff")))
            value = draw.choice((b"", b"\x00", b"x", b"y" * 3000))
            self._step(store, model, place, value, draw.randrange(5))
            assert [found and found.value for found in bulk.get_many(store, [place])] == [model.get(place)]
        for partition in PARTITIONS[:3]:
            expected = sorted((key, value) for (owner, key), value in model.items() if owner == partition)
            assert [(row.key, row.value) for row in store.scan(partition)] == expected

    def _step(
        self, store: Store, model: dict[tuple[bytes, bytes], bytes], place: tuple[bytes, bytes], value: bytes, verb: int
    ) -> None:
        found = store.get(*place)
        if verb == 0:
            store.delete(*place)
            model.pop(place, None)
        elif verb == 1 and found is not None:
            store.delete_if(*place, found.predicate)
            del model[place]
        elif verb == 2:
            store.set_if(*place, value, found.predicate if found else None)
            model[place] = value
        else:
            store.set(*place, value)
            model[place] = value


def value_of(store: Store, key: bytes, partition: bytes = b"p") -> bytes | None:
    """Return the value of a key, or `None` if it is absent."""
    found = store.get(partition, key)
    return None if found is None else found.value


def predicate_of(store: Store, key: bytes, partition: bytes = b"p") -> Predicate:
    """Return the predicate of a present key."""
    found = store.get(partition, key)
    assert found is not None
    return found.predicate


def refused(swap: object) -> bool:
    """Return true if a compare-and-swap raises PredicateFailed."""
    assert callable(swap)
    try:
        swap()
    except PredicateFailed:
        return True
    return False
