"""Tests of the size limits: every store accepts sizes up to the limit, and refuses larger ones without any change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.errors import GravelerError, InvalidInput, LimitExceeded
from graveler_core.kv import bulk
from graveler_core.kv.limits import MAX_KEY, MAX_PARTITION, MAX_VALUE
from graveler_core.kv.store import EXISTS, Store
from graveler_core.testing.store_cases.values import value_of

Verb = Callable[[Store, bytes, bytes], object]

VERBS: tuple[Verb, ...] = (
    lambda store, partition, key: store.get(partition, key),
    lambda store, partition, key: store.set(partition, key, b"v"),
    lambda store, partition, key: store.set_if(partition, key, b"v", None),
    lambda store, partition, key: store.delete(partition, key),
    lambda store, partition, key: store.delete_if(partition, key, EXISTS),
    lambda store, partition, key: bulk.get_many(store, [(partition, key)]),
    lambda store, partition, key: bulk.set_many(store, [(partition, key, b"v")]),
)
PARTITION_VERBS: tuple[Callable[[Store, bytes], object], ...] = (
    lambda store, partition: store.scan(partition),
    bulk.scan_arrow,
    bulk.drop_partition,
    lambda store, partition: bulk.split_points(store, partition, 2),
    bulk.about_rows,
)


class LimitCases:
    """Tests of the sizes of partitions, keys and values."""

    def test_the_largest_of_everything_is_accepted(self, store: Store) -> None:
        partition, value = b"\xff" * MAX_PARTITION, bytes(range(256)) * (MAX_VALUE // 256)
        keys = [bytes([number]) * MAX_KEY for number in (0, 0x61, 0xFF)]
        assert len(value) == MAX_VALUE
        for key in keys:
            predicate = store.set_if(partition, key, value, None)
            store.set_if(partition, key, value[::-1], predicate)
            store.set(partition, key, value)
        assert [(row.key, row.value) for row in store.scan(partition)] == [(key, value) for key in keys]
        assert [row.key for row in store.scan(partition, start=keys[1], end=keys[2])] == [keys[1]]
        assert [row.key for row in store.scan(partition, prefix=keys[2])] == [keys[2]]

    def test_longer_keys_and_partitions_are_refused(self, store: Store) -> None:
        for verb in VERBS:
            with pytest.raises(LimitExceeded):
                verb(store, b"p", b"k" * (MAX_KEY + 1))
            with pytest.raises(LimitExceeded):
                verb(store, b"p" * (MAX_PARTITION + 1), b"k")
        for scan in PARTITION_VERBS:
            with pytest.raises(LimitExceeded):
                scan(store, b"p" * (MAX_PARTITION + 1))

    def test_empty_keys_and_partitions_are_refused(self, store: Store) -> None:
        for verb in VERBS:
            with pytest.raises(InvalidInput):
                verb(store, b"p", b"")
            with pytest.raises(InvalidInput):
                verb(store, b"", b"k")
        for scan in PARTITION_VERBS:
            with pytest.raises(InvalidInput):
                scan(store, b"")
        assert list(store.scan(b"p")) == []

    def test_larger_values_are_refused(self, store: Store) -> None:
        store.set(b"p", b"k", b"old")
        value = b"v" * (MAX_VALUE + 1)
        writes: tuple[Callable[[], object], ...] = (
            lambda: store.set(b"p", b"k", value),
            lambda: store.set_if(b"p", b"k", value, EXISTS),
            lambda: store.set_if(b"p", b"new", value, None),
            lambda: bulk.set_many(store, [(b"p", b"k", value)]),
        )
        for write in writes:
            with pytest.raises(LimitExceeded) as caught:
                write()
            assert isinstance(caught.value, GravelerError)
            assert str(MAX_VALUE + 1) in caught.value.message.replace(",", "")
        assert value_of(store, b"k") == b"old"
        assert store.get(b"p", b"new") is None
