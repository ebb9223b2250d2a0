"""The DynamoDB store: its URL, the table that it makes or refuses, and what it sends."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

from graveler_core.errors import InvalidInput, Kind, PermissionDenied, PredicateFailed, Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.backends.dynamodb.requests import Requests
from graveler_core.kv.backends.dynamodb.store import DynamoDBStore, open_dynamodb
from graveler_core.kv.backends.dynamodb.table import parse_url, prepare
from graveler_core.kv.store import EXISTS, Expected
from tests.servers.process import free_port

SECRET = "hunter22"


@pytest.fixture
def store(dynamodb_url: str) -> Iterator[DynamoDBStore]:
    with closing(open_dynamodb(dynamodb_url)) as opened:
        assert isinstance(opened, DynamoDBStore)
        yield opened


@pytest.fixture
def sent(store: DynamoDBStore, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What the store sends."""
    noted: list[tuple[str, dict[str, Any]]] = []
    plain = Requests._send

    def send(self: Requests, operation: str, request: dict[str, Any], *, writing: bool) -> dict[str, Any]:
        noted.append((operation, request))
        return plain(self, operation, request, writing=writing)

    monkeypatch.setattr(Requests, "_send", send)
    return noted


def rows(count: int, value: bytes = b"v") -> list[tuple[bytes, bytes, bytes]]:
    return [(b"p", b"%05d" % number, value) for number in range(count)]


def test_urls() -> None:
    plain = parse_url("dynamodb://table")
    assert (plain.table, plain.region, plain.endpoint, plain.access_key_id) == ("table", None, None, None)
    full = parse_url(f"dynamodb://key:{SECRET}%2F@my.table-1?region=eu-central-1&endpoint=http://host:8000&timeout=2")
    assert (full.table, full.region, full.endpoint) == ("my.table-1", "eu-central-1", "http://host:8000")
    assert (full.access_key_id, full.secret_access_key, full.timeout) == ("key", f"{SECRET}/", 2.0)
    assert SECRET not in repr(full) + full.shown
    assert parse_url("dynamodb://table?profile=team").profile == "team"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("dynamodb://", "name of a table"),
        ("dynamodb://ab", "name of a table"),
        ("dynamodb://" + "a" * 256, "name of a table"),
        ("dynamodb://table/prefix", "name of a table"),
        ("dynamodb://größe", "name of a table"),
        ("dynamodb://key@table", "credentials"),
        (f"dynamodb://:{SECRET}@table", "credentials"),
        ("dynamodb://table?endpoint=host:8000", "endpoint"),
        ("dynamodb://table?endpoint=http://", "endpoint"),
        ("dynamodb://table?endpoint=http://host:port", "endpoint"),
        ("dynamodb://table?endpoint=ftp://host", "endpoint"),
        (f"dynamodb://table?endpoint=http://ann:{SECRET}@host", "endpoint"),
        ("dynamodb://table?timeout=-1", "timeout"),
        (f"dynamodb://table?aws_secret_access_key={SECRET}", "'aws_secret_access_key'"),
        ("dynamodb://table?region=", "'region'"),
    ],
)
def test_urls_that_are_refused(url: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        parse_url(url)
    assert caught.value.kind is Kind.InvalidUrl
    assert SECRET not in repr(caught.value) + str(caught.value.details)


def test_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    where = f"region=eu-central-1&endpoint=http://127.0.0.1:{free_port()}"
    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        open_dynamodb(f"dynamodb://key:{SECRET}@table?{where}")
    assert SECRET not in repr(caught.value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    with pytest.raises(PermissionDenied, match="credentials"):
        open_dynamodb(f"dynamodb://table?{where}")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(Unavailable, match="region"):
        open_dynamodb("dynamodb://key:secret@table")
    with pytest.raises(Unavailable, match="profile"):
        open_dynamodb(f"dynamodb://table?{where}&profile=nobody")


def test_a_table_is_made_for_on_demand_billing(dynamodb_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(open_dynamodb, [dynamodb_url] * 4))
    told = stores[0].describe()
    assert (told["backend"], told["billing"], told["status"]) == ("dynamodb", "PAY_PER_REQUEST", "ACTIVE")
    assert (told["replicas"], told["durability"]) == (0, "none")
    assert abs(float(told["clock_ahead"] or 0)) < 60
    stores[0].set(b"p", b"k", b"v")
    for store in stores:
        found = store.get(b"p", b"k")
        assert found is not None
        store.close()


def test_a_table_with_other_keys(dynamodb_url: str) -> None:
    requests = Requests(parse_url(dynamodb_url))
    requests.write(
        "create_table",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "B"}],
        BillingMode="PAY_PER_REQUEST",
    )
    with pytest.raises(Unavailable, match="its keys") as caught:
        prepare(requests)
    assert caught.value.kind is Kind.NotAGravelerStore


def test_a_table_with_other_items(dynamodb_url: str) -> None:
    requests = Requests(parse_url(dynamodb_url))
    prepare(requests)
    [mark] = requests.read("scan")["Items"]
    requests.write("put_item", Item={"p": {"B": b"theirs"}, "k": {"B": b"k"}})
    prepare(requests)
    requests.write("delete_item", Key={"p": mark["p"], "k": mark["k"]})
    with pytest.raises(Unavailable, match="other items") as caught:
        prepare(requests)
    assert caught.value.kind is Kind.NotAGravelerStore


@pytest.mark.parametrize(
    ("mark", "kind"), [(b"2", Kind.NewerSchema), (b"", Kind.NotAGravelerStore), (b"x", Kind.NotAGravelerStore)]
)
def test_marks_of_others(dynamodb_url: str, mark: bytes, kind: Kind) -> None:
    requests = Requests(parse_url(dynamodb_url))
    prepare(requests)
    [item] = requests.read("scan")["Items"]
    requests.write("put_item", Item={**item, "v": {"B": mark}})
    with pytest.raises(Unavailable) as caught:
        prepare(requests)
    assert caught.value.kind is kind


def test_a_table_that_is_gone(store: DynamoDBStore) -> None:
    store._requests.write("delete_table")
    with pytest.raises(Unavailable) as caught:
        store.get(b"p", b"k")
    assert caught.value.kind is Kind.NotAGravelerStore


@pytest.mark.parametrize(("count", "writes", "reads"), [(25, 1, 1), (26, 2, 1), (100, 4, 1), (101, 5, 2)])
def test_many_rows_take_few_requests(
    store: DynamoDBStore, sent: list[tuple[str, dict[str, Any]]], count: int, writes: int, reads: int
) -> None:
    bulk.set_many(store, rows(count))
    assert [operation for operation, _ in sent] == ["batch_write_item"] * writes
    sent.clear()
    found = bulk.get_many(store, [(partition, key) for partition, key, _ in rows(count)])
    assert [answer and answer.value for answer in found] == [b"v"] * count
    assert [operation for operation, _ in sent] == ["batch_get_item"] * reads
    sent.clear()
    keys = pa.array([key for _, key, _ in rows(count)], pa.binary())
    bulk.load(store, b"p", keys, pa.array([b"w"] * count, pa.binary()))
    assert len(sent) == writes
    assert {row.value for row in store.scan(b"p")} == {b"w"}


@pytest.mark.parametrize(("deleted", "unchanged", "done"), [(60, 40, True), (60, 41, False)])
def test_deletions_together_have_a_limit(store: DynamoDBStore, deleted: int, unchanged: int, done: bool) -> None:
    bulk.set_many(store, rows(deleted + unchanged))
    expected: list[Expected] = [(partition, key, EXISTS) for partition, key, _ in rows(deleted + unchanged)]
    try:
        bulk.delete_together(store, expected[:deleted], expected[deleted:])
    except PredicateFailed:
        assert not done
    else:
        assert done
    assert bulk.about_rows(store, b"p") == (unchanged if done else deleted + unchanged)


def test_deletions_of_large_rows_together_have_a_limit(store: DynamoDBStore) -> None:
    """The service refuses transactions of more than 4 MB."""
    bulk.set_many(store, rows(60, bytes(72 << 10)))
    found: list[Expected] = [(b"p", row.key, row.predicate) for row in store.scan(b"p")]
    with pytest.raises(PredicateFailed):
        bulk.delete_together(store, found, [])
    assert bulk.about_rows(store, b"p") == 60
    bulk.delete_together(store, found[:40], [])
    assert bulk.about_rows(store, b"p") == 20


def test_all_reads_are_consistent(store: DynamoDBStore, sent: list[tuple[str, dict[str, Any]]]) -> None:
    store.set(b"p", b"k", b"v")
    sent.clear()
    store.get(b"p", b"k")
    list(store.scan(b"p", start=b"a", end=b"z"))
    bulk.about_rows(store, b"p")
    bulk.drop_partition(store, b"p")
    reads = [request for operation, request in sent if operation in ("get_item", "query")]
    assert len(reads) == 4
    assert all(request["ConsistentRead"] for request in reads)
