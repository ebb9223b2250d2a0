"""The Bigtable store: what it sends, what it makes of refusals, and which tables and app profiles it accepts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.api_core import exceptions
from google.cloud.bigtable_v2 import BigtableClient
from google.cloud.bigtable_v2.services.bigtable.transports import BigtableGrpcTransport
from google.cloud.bigtable_v2.types import MutateRowsResponse
from grpc import StatusCode

from graveler_core.errors import (
    CorruptData,
    InvalidInput,
    Kind,
    OutcomeUnknown,
    PermissionDenied,
    PredicateFailed,
    SlowDown,
    Unavailable,
)
from graveler_core.kv import bulk
from graveler_core.kv.backends import backing_off
from graveler_core.kv.backends.bigtable.requests import BigtableRequests, RowMutations
from graveler_core.kv.backends.bigtable.rows import HASH, VALUE, cells_set
from graveler_core.kv.backends.bigtable.store import BigtableStore, open_bigtable
from graveler_core.kv.backends.bigtable.url import parse_url
from graveler_core.kv.backends.key_space import KeySpace
from graveler_core.kv.store import EXISTS
from tests.servers.bigtable import bigtable_server, fresh_table
from tests.servers.process import ServerProcess

Sent = list[tuple[str, Any, dict[str, Any]]]
METHODS = ("read_rows", "mutate_row", "check_and_mutate_row", "mutate_rows")


@pytest.fixture
def store(bigtable_url: str) -> Iterator[BigtableStore]:
    with closing(open_bigtable(bigtable_url)) as opened:
        assert isinstance(opened, BigtableStore)
        yield opened


@pytest.fixture
def sent(store: BigtableStore, monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The name of each request, the request, and how it is sent."""
    del store
    requests: Sent = []
    for method in METHODS:
        monkeypatch.setattr(BigtableClient, method, noting(method, getattr(BigtableClient, method), requests))
    return requests


def noting(method: str, plain: Callable[..., Any], requests: Sent) -> Callable[..., Any]:
    def noted(self: BigtableClient, request: Any, **how: Any) -> Any:
        requests.append((method, request, how))
        return plain(self, request=request, **how)

    return noted


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backing_off, "_PAUSE", 0)


def failing(monkeypatch: pytest.MonkeyPatch, method: str, times: int, code: StatusCode, *, done: bool = False) -> None:
    """Let the next requests of a method fail, after they were executed if they are done."""
    plain = getattr(BigtableClient, method)
    left = [times]

    def failed(self: BigtableClient, request: Any, **how: Any) -> Any:
        if not left[0]:
            return plain(self, request=request, **how)
        left[0] -= 1
        if done:
            answer = plain(self, request=request, **how)
            if method == "mutate_rows":
                list(answer)
        raise exceptions.from_grpc_status(code, "as it happens")

    monkeypatch.setattr(BigtableClient, method, failed)


def rows(count: int, value: bytes = b"v") -> list[tuple[bytes, bytes, bytes]]:
    return [(b"p", b"%05d" % number, value) for number in range(count)]


def columns(count: int, value: bytes) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    return pa.array([key for _, key, _ in rows(count)], pa.binary()), pa.array([value] * count, pa.binary())


def names(sent: Sent) -> list[str]:
    return [method for method, _, _ in sent]


def test_every_request_is_sent_once_and_names_the_app_profile(bigtable: ServerProcess, sent: Sent) -> None:
    with closing(open_bigtable(fresh_table(bigtable.port, "&app_profile=lake&timeout=7"))) as store:
        predicate = store.set_if(b"p", b"k", b"1", None)
        store.set_if(b"p", b"k", b"2", predicate)
        store.set(b"p", b"l", b"1")
        store.delete_if(b"p", b"k", EXISTS)
        store.delete(b"p", b"l")
        bulk.set_many(store, rows(3))
        bulk.load(store, b"p", *columns(3, b"w"))
        store.get(b"p", b"k")
        bulk.get_many(store, [(b"p", b"k"), (b"q", b"k")])
        list(store.scan(b"p"))
        assert bulk.about_rows(store, b"p") == bulk.drop_partition(store, b"p") == 3
    assert set(names(sent)) == set(METHODS)
    for _, request, how in sent:
        assert request.app_profile_id == "lake"
        assert how == {"retry": None, "timeout": 7.0}


@pytest.mark.parametrize(("count", "requests"), [(1, 1), (1_000, 1), (1_001, 2)])
def test_many_rows_take_few_requests(store: BigtableStore, sent: Sent, count: int, requests: int) -> None:
    bulk.set_many(store, rows(count))
    assert names(sent) == ["mutate_rows"] * requests
    sent.clear()
    keys = [(partition, key) for partition, key, _ in rows(count)]
    found = bulk.get_many(store, [*keys[1:], keys[0], keys[0]])
    assert [answer and answer.value for answer in found] == [b"v"] * (count + 1)
    assert names(sent) == ["read_rows"] * requests
    sent.clear()
    bulk.load(store, b"p", *columns(count, b"w"))
    assert len(sent) == requests
    assert {row.value for row in store.scan(b"p")} == {b"w"}


def test_a_request_is_limited_by_its_size(store: BigtableStore, sent: Sent) -> None:
    bulk.set_many(store, rows(100, b"x" * 90_000))
    assert [len(request.entries) for _, request, _ in sent] == [46, 46, 8]
    sent.clear()
    assert len(list(store.scan(b"p"))) == 100
    assert len(sent) == 3
    sent.clear()
    found = bulk.get_many(store, [(partition, key) for partition, key, _ in rows(101)])
    assert [answer is None for answer in found] == [False] * 100 + [True]
    assert len(sent) == 3


def test_a_large_partition_is_read_and_dropped_in_steps(store: BigtableStore, sent: Sent) -> None:
    bulk.load(store, b"p", *columns(5_001, b"v" * 300))
    store.set(b"p\x00", b"k", b"v")
    sent.clear()
    assert bulk.about_rows(store, b"p") == 5_001
    assert bulk.split_points(store, b"p", 3) == [b"01667", b"03334"]
    assert names(sent) == ["read_rows"] * 6
    sent.clear()
    assert bulk.drop_partition(store, b"p") == 5_001
    assert sorted(names(sent)) == ["mutate_rows"] * 6 + ["read_rows"] * 3
    assert bulk.about_rows(store, b"p\x00") == 1


def test_deletions_together_are_refused(store: BigtableStore, sent: Sent) -> None:
    store.set(b"p", b"k", b"v")
    sent.clear()
    with pytest.raises(PredicateFailed):
        bulk.delete_together(store, [(b"p", b"k", EXISTS)], [])
    assert not store.deletes_together()
    assert not sent


WRITES = {
    "mutate_row": lambda store: store.set(b"p", b"k", b"new"),
    "check_and_mutate_row": lambda store: store.set_if(b"p", b"k", b"new", EXISTS),
    "mutate_rows": lambda store: bulk.set_many(store, [(b"p", b"k", b"new"), (b"p", b"l", b"new")]),
}


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("method", WRITES)
def test_a_refused_write_is_repeated(
    store: BigtableStore, sent: Sent, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    store.set(b"p", b"k", b"old")
    sent.clear()
    failing(monkeypatch, method, 2, StatusCode.RESOURCE_EXHAUSTED)
    WRITES[method](store)
    assert names(sent) == [method]
    failing(monkeypatch, method, 99, StatusCode.RESOURCE_EXHAUSTED)
    with pytest.raises(SlowDown):
        WRITES[method](store)


@pytest.mark.parametrize("method", WRITES)
def test_an_unclear_write_is_not_repeated(
    store: BigtableStore, sent: Sent, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    for code in (StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED, StatusCode.ABORTED, StatusCode.INTERNAL):
        store.set(b"p", b"k", b"old")
        sent.clear()
        with monkeypatch.context() as patch:
            failing(patch, method, 9, code, done=True)
            with pytest.raises(OutcomeUnknown):
                WRITES[method](store)
        assert names(sent) == [method]
        assert [row.value for row in store.scan(b"p", prefix=b"k")] == [b"new"]


@pytest.mark.usefixtures("_at_once")
def test_a_read_is_repeated(store: BigtableStore, sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only once if the service did not answer in time, or if there was no connection."""
    store.set(b"p", b"k", b"v")
    sent.clear()
    for code in (StatusCode.UNAVAILABLE, StatusCode.ABORTED, StatusCode.INTERNAL, StatusCode.RESOURCE_EXHAUSTED):
        failing(monkeypatch, "read_rows", backing_off.ATTEMPTS - 1, code)
        assert store.get(b"p", b"k") is not None
    assert names(sent) == ["read_rows"] * 4
    with monkeypatch.context() as patch:
        failing(patch, "read_rows", backing_off.ATTEMPTS, StatusCode.UNAVAILABLE)
        with pytest.raises(SlowDown):
            store.get(b"p", b"k")
    with monkeypatch.context() as patch:
        failing(patch, "read_rows", 1, StatusCode.DEADLINE_EXCEEDED)
        assert store.get(b"p", b"k") is not None
    failing(monkeypatch, "read_rows", 2, StatusCode.DEADLINE_EXCEEDED)
    with pytest.raises(Unavailable):
        store.get(b"p", b"k")


@pytest.mark.usefixtures("_at_once")
def test_refused_rows_of_a_bulk_write_are_sent_again_alone(
    store: BigtableStore, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were written are not, because others may have changed them since."""
    plain = BigtableClient.mutate_rows
    told: list[dict[int, StatusCode]] = []
    missing: list[int] = []

    def refusing(self: BigtableClient, request: Any, **how: Any) -> Any:
        answers = [each for answer in plain(self, request=request, **how) for each in answer.entries]
        for index, code in (told.pop() if told else {}).items():
            answers[index].status.code = code.value[0]
        kept = [each for each in answers if each.index not in missing]
        return iter([MutateRowsResponse(entries=kept[:1]), MutateRowsResponse(entries=kept[1:])])

    monkeypatch.setattr(BigtableClient, "mutate_rows", refusing)
    busy = StatusCode.RESOURCE_EXHAUSTED
    told[:] = [{0: busy}, {1: busy, 3: busy}]
    bulk.set_many(store, rows(4))
    wanted = [[entry.row_key[-1:] for entry in request.entries] for _, request, _ in sent]
    assert wanted == [[b"0", b"1", b"2", b"3"], [b"1", b"3"], [b"1"]]
    told[:] = [{0: busy, 2: StatusCode.PERMISSION_DENIED}]
    with pytest.raises(PermissionDenied):
        bulk.set_many(store, rows(4))
    told[:] = [{0: busy}] * backing_off.ATTEMPTS
    with pytest.raises(SlowDown):
        bulk.set_many(store, rows(4))
    missing.append(2)
    with pytest.raises(OutcomeUnknown):
        bulk.set_many(store, rows(4))


def test_an_app_profile_without_conditional_writes(bigtable_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulator allows them always: the answer of the service is another one."""
    failing(monkeypatch, "check_and_mutate_row", 1, StatusCode.FAILED_PRECONDITION)
    with pytest.raises(Unavailable, match="single-cluster routing") as caught:
        open_bigtable(bigtable_url)
    assert caught.value.kind is Kind.StoreNotDurable
    open_bigtable(bigtable_url).close()
    failing(monkeypatch, "check_and_mutate_row", 1, StatusCode.FAILED_PRECONDITION)
    with pytest.raises(Unavailable, match="single-cluster routing"):
        open_bigtable(bigtable_url)


def test_another_app_profile(bigtable_url: str) -> None:
    """It may route to another cluster, which accepts writes without knowing of the others."""
    open_bigtable(f"{bigtable_url}&app_profile=west").close()
    open_bigtable(f"{bigtable_url}&app_profile=west").close()
    for url, told in ((f"{bigtable_url}&app_profile=east", "'east'"), (bigtable_url, "'default'")):
        with pytest.raises(InvalidInput, match=f"app profile 'west', not {told}"):
            open_bigtable(url)


def test_tables_are_apart(bigtable: ServerProcess) -> None:
    one, other = (open_bigtable(fresh_table(bigtable.port)) for _ in range(2))
    one.set(b"p", b"k", b"1")
    assert other.get(b"p", b"k") is None
    one.close()
    other.close()


def table(url: str) -> BigtableRequests:
    """An empty table."""
    requests = BigtableRequests(parse_url(url))
    requests.create_table()
    return requests


def test_rows_of_others(bigtable_url: str) -> None:
    with closing(table(bigtable_url)) as requests:
        requests.mutate(RowMutations(KeySpace().name(b"p", b"k"), cells_set({VALUE: b"v"})))
    with pytest.raises(Unavailable, match="other rows") as caught:
        open_bigtable(bigtable_url)
    assert caught.value.kind is Kind.NotAGravelerStore


@pytest.mark.parametrize(
    ("mark", "kind"), [(b"2", Kind.NewerSchema), (b"0", Kind.NotAGravelerStore), (b"x", Kind.NotAGravelerStore)]
)
def test_marks_of_others(bigtable_url: str, mark: bytes, kind: Kind) -> None:
    with closing(table(bigtable_url)) as requests:
        requests.mutate(RowMutations(KeySpace().mark, cells_set({VALUE: mark})))
    with pytest.raises(Unavailable) as caught:
        open_bigtable(bigtable_url)
    assert caught.value.kind is kind


def test_a_row_without_a_value(store: BigtableStore) -> None:
    name = KeySpace().name(b"p", b"k")
    store._requests.mutate(RowMutations(name, cells_set({HASH: b""})))
    assert store.get(b"p", b"k") is None
    store.set_if(b"p", b"k", b"v", None)
    assert [row.value for row in store.scan(b"p")] == [b"v"]


def test_cells_that_are_no_value(store: BigtableStore) -> None:
    with pytest.raises(CorruptData, match="no value"):
        store._value({HASH: b""})


def test_a_write_leaves_no_older_version(store: BigtableStore) -> None:
    for number in range(3):
        store.set(b"p", b"k", b"%d" % number)
    client = store._requests._connected()
    request = {"table_name": store._requests.target.table_name, "rows": {"row_keys": [KeySpace().name(b"p", b"k")]}}
    chunks = [chunk for answer in client.read_rows(request=request) for chunk in answer.chunks]
    assert len(chunks) == 2


def test_a_description(store: BigtableStore) -> None:
    told = store.describe()
    assert (told["backend"], told["project"], told["instance"]) == ("bigtable", "project", "instance")
    assert (told["durability"], told["app_profile"]) == ("none", "default")
    assert str(told["emulator"]).startswith("127.0.0.1:")


def test_a_store_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its channel is encrypted, and gRPC repeats nothing. Nothing is sent here."""
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    with pytest.raises(PermissionDenied):
        open_bigtable("bigtable://p/i/t")
    made: list[tuple[str, dict[str, Any]]] = []
    plain = BigtableGrpcTransport.create_channel

    def noted(host: str, **options: Any) -> Any:
        made.append((host, dict(options["options"])))
        return plain(host, **options)

    monkeypatch.setattr(BigtableGrpcTransport, "create_channel", noted)
    key = rsa.generate_private_key(65_537, 2_048)
    forms = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    account = {"type": "service_account", "client_email": "a@b", "token_uri": "https://127.0.0.1:1/token"}
    file = tmp_path / "key.json"
    file.write_text(json.dumps({**account, "private_key": key.private_bytes(*forms).decode()}))
    with closing(BigtableRequests(parse_url(f"bigtable://p/i/t?credentials={file}"))) as requests:
        requests._connected()
    ((host, options),) = made
    assert host.startswith("bigtable.googleapis.com")
    assert (options["grpc.enable_retries"], options["grpc.service_config_disable_resolution"]) == (0, 1)
    file.write_text("no credentials")
    with pytest.raises(PermissionDenied):
        open_bigtable(f"bigtable://p/i/t?credentials={file}")


def test_a_store_that_is_closed_during_a_call(store: BigtableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread closes it between the choice of the connection and the request."""
    plain = BigtableRequests._connected

    def closed_then(self: BigtableRequests) -> Any:
        client = plain(self)
        self.close()
        return client

    monkeypatch.setattr(BigtableRequests, "_connected", closed_then)
    with pytest.raises(Unavailable, match="was closed"):
        store.get(b"p", b"k")
    with pytest.raises(Unavailable, match="was closed"):
        store.set(b"p", b"k", b"v")


def test_a_server_that_is_away() -> None:
    """Nothing is sent, so no outcome is unknown."""
    with bigtable_server() as server:
        url = fresh_table(server.port, "&timeout=2")
        store = open_bigtable(url)
        predicate = store.set_if(b"p", b"k", b"old", None)
        server.kill()
        with closing(store):
            with pytest.raises(Unavailable):
                store.get(b"p", b"k")
            with pytest.raises(Unavailable):
                store.set_if(b"p", b"k", b"new", predicate)
            with pytest.raises(Unavailable):
                open_bigtable(url)
        server.start()
