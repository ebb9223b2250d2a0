"""The etcd store: what it sends, its limits, and what other keys of the cluster mean to it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

from graveler_core.errors import Kind, PredicateFailed, Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.backends.etcd.client import EtcdClient, parse_url
from graveler_core.kv.backends.etcd.mark import prepare
from graveler_core.kv.backends.etcd.store import EtcdStore, open_etcd
from graveler_core.kv.store import EXISTS, Expected
from tests.servers.process import ServerProcess


@pytest.fixture
def store(etcd_url: str) -> Iterator[EtcdStore]:
    with closing(open_etcd(etcd_url)) as opened:
        assert isinstance(opened, EtcdStore)
        yield opened


@pytest.fixture
def sent(store: EtcdStore, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What the store sends."""
    requests: list[tuple[str, dict[str, Any]]] = []
    plain = EtcdClient._authenticated

    def noted(self: EtcdClient, path: str, body: dict[str, Any], *, writing: bool) -> dict[str, Any]:
        requests.append((path, body))
        return plain(self, path, body, writing=writing)

    monkeypatch.setattr(EtcdClient, "_authenticated", noted)
    return requests


def rows(count: int, value: bytes = b"v") -> list[tuple[bytes, bytes, bytes]]:
    return [(b"p", b"%05d" % number, value) for number in range(count)]


def columns(count: int, value: bytes) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    return pa.array([key for _, key, _ in rows(count)], pa.binary()), pa.array([value] * count, pa.binary())


@pytest.mark.parametrize(("count", "transactions"), [(1, 1), (128, 1), (129, 2), (256, 2), (257, 3)])
def test_many_rows_take_few_transactions(
    store: EtcdStore, sent: list[tuple[str, dict[str, Any]]], count: int, transactions: int
) -> None:
    bulk.set_many(store, rows(count))
    assert [path for path, _ in sent] == ["kv/txn"] * transactions
    sent.clear()
    found = bulk.get_many(store, [(partition, key) for partition, key, _ in rows(count)])
    assert [answer and answer.value for answer in found] == [b"v"] * count
    assert [path for path, _ in sent] == ["kv/txn"] * transactions
    sent.clear()
    bulk.load(store, b"p", *columns(count, b"w"))
    assert len(sent) == transactions
    assert {row.value for row in store.scan(b"p")} == {b"w"}


def test_a_transaction_is_limited_by_its_size(store: EtcdStore, sent: list[tuple[str, dict[str, Any]]]) -> None:
    bulk.set_many(store, rows(30, b"x" * 90_000))
    assert [len(body["success"]) for _, body in sent] == [11, 11, 8]
    assert len(list(store.scan(b"p"))) == 30


@pytest.mark.parametrize(("deleted", "unchanged", "done"), [(100, 28, True), (100, 29, False), (129, 0, False)])
def test_deletions_together_have_a_limit(store: EtcdStore, deleted: int, unchanged: int, done: bool) -> None:
    bulk.set_many(store, rows(deleted + unchanged))
    expected: list[Expected] = [(partition, key, EXISTS) for partition, key, _ in rows(deleted + unchanged)]
    try:
        bulk.delete_together(store, expected[:deleted], expected[deleted:])
    except PredicateFailed:
        assert not done
    else:
        assert done
    assert bulk.about_rows(store, b"p") == (unchanged if done else deleted + unchanged)


def test_large_predicates_are_not_sent_together(store: EtcdStore, sent: list[tuple[str, dict[str, Any]]]) -> None:
    bulk.set_many(store, rows(20, b"x" * 90_000))
    found = [(b"p", row.key, row.predicate) for row in store.scan(b"p")]
    sent.clear()
    with pytest.raises(PredicateFailed):
        bulk.delete_together(store, found, [])
    assert not sent
    bulk.delete_together(store, found[:11], [])
    assert bulk.about_rows(store, b"p") == 9


def test_pages_grow_with_small_rows_and_stay_small_with_large_ones(
    store: EtcdStore, sent: list[tuple[str, dict[str, Any]]]
) -> None:
    bulk.set_many(store, rows(1_000))
    sent.clear()
    assert len(list(store.scan(b"p"))) == 1_000
    assert [body["limit"] for _, body in sent] == [40, 160, 640, 160]
    bulk.set_many(store, rows(100, b"x" * 90_000))
    sent.clear()
    assert len(list(store.scan(b"p", limit=100))) == 100
    assert [body["limit"] for _, body in sent] == [40, 6, 1, 40, 6, 1, 6]


def test_a_large_partition_is_dropped_in_steps(store: EtcdStore, sent: list[tuple[str, dict[str, Any]]]) -> None:
    bulk.load(store, b"p", *columns(5_001, b"v"))
    bulk.load(store, b"p\x00", *columns(3, b"v"))
    sent.clear()
    assert bulk.drop_partition(store, b"p") == 5_001
    assert [path for path, _ in sent] == ["kv/range", "kv/deleterange"] * 2 + ["kv/range"]
    assert bulk.about_rows(store, b"p\x00") == 3


def test_prefixes_are_apart(etcd: ServerProcess, etcd_url: str) -> None:
    with closing(open_etcd(etcd_url)) as store, closing(open_etcd(f"{etcd_url}/below")) as below:
        store.set(b"p", b"k", b"1")
        assert below.get(b"p", b"k") is None
        below.set(b"p", b"k", b"2")
        assert [row.value for row in store.scan(b"p")] == [b"1"]
        bulk.drop_partition(store, b"p")
        assert [row.value for row in below.scan(b"p")] == [b"2"]


def test_keys_of_others(etcd_url: str) -> None:
    target = parse_url(etcd_url)
    client = EtcdClient(target)
    name = target.key_space.name(b"p", b"k")
    client.write("kv/put", key=b64encode(name).decode(), value="AA==")
    with pytest.raises(Unavailable, match="other keys") as caught:
        open_etcd(etcd_url)
    assert caught.value.kind is Kind.NotAGravelerStore
    client.close()


@pytest.mark.parametrize(
    ("mark", "kind"), [(b"2", Kind.NewerSchema), (b"0", Kind.NotAGravelerStore), (b"x", Kind.NotAGravelerStore)]
)
def test_marks_of_others(etcd_url: str, mark: bytes, kind: Kind) -> None:
    target = parse_url(etcd_url)
    client = EtcdClient(target)
    client.write("kv/put", key=b64encode(target.key_space.mark).decode(), value=b64encode(mark).decode())
    with pytest.raises(Unavailable) as caught:
        prepare(client)
    assert caught.value.kind is kind
    client.close()


def test_a_description(store: EtcdStore) -> None:
    store.set(b"p", b"k", b"v")
    told = store.describe()
    assert (told["backend"], told["members"], told["alarms"], told["durability"]) == ("etcd", 1, "", "power")
    assert str(told["version"]).startswith("3.")
    assert isinstance(told["revision"], int)
    assert told["revision"] > 0
    assert abs(float(told["clock_ahead"] or 0)) < 60


def test_a_compaction_is_seen(store: EtcdStore) -> None:
    store.set(b"p", b"k", b"v")
    revision = store.describe()["revision"]
    store._client.write("kv/compaction", revision=str(revision))
    assert store.describe()["compacted"]
