"""The Cassandra store: what it sends, and which clusters, keyspaces and tables it accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cassandra import ConsistencyLevel, InvalidRequest, WriteTimeout, WriteType
from cassandra import Unavailable as TooFewReplicas
from cassandra.cluster import Session
from cassandra.protocol import BatchMessage

from graveler_core.errors import Kind, OutcomeUnknown, PermissionDenied, PredicateFailed, SlowDown, Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.backends import backing_off
from graveler_core.kv.backends.cassandra.client import CassandraClient
from graveler_core.kv.backends.cassandra.mark import prepare
from graveler_core.kv.backends.cassandra.store import CassandraStore, open_cassandra
from graveler_core.kv.backends.cassandra.url import parse_url
from graveler_core.kv.backends.partition_queues import QUEUES
from graveler_core.kv.store import EXISTS
from tests.servers.appenders import append_during
from tests.servers.cassandra import KEYSPACE, administer, cassandra_server, fresh_table
from tests.servers.certificates import make_certificates
from tests.servers.process import ServerProcess

pytestmark = pytest.mark.slow
SECRET = "hunter22"
Sent = list[Any]


@pytest.fixture
def store(cassandra_url: str) -> Iterator[CassandraStore]:
    with closing(open_cassandra(cassandra_url)) as opened:
        assert isinstance(opened, CassandraStore)
        yield opened


@pytest.fixture
def sent(store: CassandraStore, monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The messages that the driver sends to execute statements."""
    del store
    messages: Sent = []
    plain = Session.execute_async

    def noted(self: Session, *arguments: Any, **options: Any) -> Any:
        answer = plain(self, *arguments, **options)
        messages.append(answer.message)
        return answer

    monkeypatch.setattr(Session, "execute_async", noted)
    return messages


def columns(count: int, value: bytes) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    return pa.array([key for _, key, _ in rows(count)], pa.binary()), pa.array([value] * count, pa.binary())


def rows(count: int, value: bytes = b"v") -> list[tuple[bytes, bytes, bytes]]:
    return [(b"p", b"%05d" % number, value) for number in range(count)]


def execute(url: str, text: str) -> None:
    """Send a statement of an administrator."""
    with closing(CassandraClient(parse_url(url))) as client:
        client.change_schema(text)


def sizes(messages: Sent) -> list[int]:
    """Number of statements in each message."""
    return [len(message.queries) if isinstance(message, BatchMessage) else 1 for message in messages]


def test_every_request_has_the_consistency_of_the_promises(store: CassandraStore, sent: Sent) -> None:
    predicate = store.set_if(b"p", b"k", b"1", None)
    store.set_if(b"p", b"k", b"2", predicate)
    store.set_if(b"p", b"k", b"3", EXISTS)
    store.set(b"p", b"l", b"1")
    store.delete_if(b"p", b"k", EXISTS)
    store.delete(b"p", b"l")
    bulk.set_many(store, rows(3))
    bulk.load(store, b"p", *columns(3, b"w"))
    assert sizes(sent) == [1, 1, 1, 1, 1, 1, 3, 3]
    for message in sent:
        assert message.consistency_level == ConsistencyLevel.QUORUM
        assert message.serial_consistency_level == ConsistencyLevel.SERIAL
        assert message.timestamp is None
    sent.clear()
    store.get(b"p", b"k")
    bulk.get_many(store, [(b"p", b"k"), (b"q", b"k"), (b"p", b"l")])
    list(store.scan(b"p"))
    bulk.about_rows(store, b"p")
    bulk.split_points(store, b"p", 2)
    assert len(sent) == 1 + 2 + 1 + 1 + 2
    assert {message.consistency_level for message in sent} == {ConsistencyLevel.SERIAL}
    sent.clear()
    assert bulk.drop_partition(store, b"p") == 3
    assert sizes(sent) == [1, 3, 1]
    assert sent[1].serial_consistency_level == ConsistencyLevel.SERIAL


@pytest.mark.parametrize(("count", "batches"), [(100, [100]), (201, [100, 100, 1])])
def test_many_rows_take_few_batches(store: CassandraStore, sent: Sent, count: int, batches: list[int]) -> None:
    bulk.set_many(store, [*rows(count), (b"q", b"k", b"v")])
    assert sizes(sent) == [*batches, 1]
    sent.clear()
    keys = [(partition, key) for partition, key, _ in rows(count)]
    found = bulk.get_many(store, [*keys, (b"q", b"never"), keys[0]])
    assert [answer and answer.value for answer in found] == [*[b"v"] * count, None, b"v"]
    assert len(sent) == len(batches) + 1
    sent.clear()
    bulk.load(store, b"p", *columns(count, b"w"))
    assert sizes(sent) == batches
    assert {row.value for row in store.scan(b"p")} == {b"w"}


def test_many_partitions_are_read_in_groups(store: CassandraStore, sent: Sent) -> None:
    bulk.set_many(store, [(b"%02d" % number, b"k", b"v") for number in range(33)])
    sent.clear()
    found = bulk.get_many(store, [(b"%02d" % number, b"k") for number in range(34)])
    assert [answer is None for answer in found] == [*[False] * 33, True]
    assert len(sent) == 34


def test_a_batch_is_limited_by_its_size(store: CassandraStore, sent: Sent) -> None:
    bulk.set_many(store, [*rows(9, b"x" * 9_000), (b"p", b"large", b"x" * 98_304)])
    assert sizes(sent) == [4, 4, 1, 1]
    sent.clear()
    assert len(list(store.scan(b"p"))) == 10
    assert len(sent) == 1


def test_a_large_partition_is_dropped_in_steps(store: CassandraStore, sent: Sent) -> None:
    bulk.load(store, b"p", *columns(5_001, b"v"))
    store.set(b"p\x00", b"k", b"v")
    sent.clear()
    assert bulk.drop_partition(store, b"p") == 5_001
    assert sizes(sent) == [1, *[100] * 50, 1, 1, 1]
    assert bulk.about_rows(store, b"p\x00") == 1


def test_deletions_together_are_refused(store: CassandraStore, sent: Sent) -> None:
    store.set(b"p", b"k", b"v")
    sent.clear()
    with pytest.raises(PredicateFailed):
        bulk.delete_together(store, [(b"p", b"k", EXISTS)], [])
    assert not store.deletes_together()
    assert not sent


def test_writers_of_a_partition_do_not_disturb_each_other(cassandra_url: str) -> None:
    """Without their queue, so many of them are given up with an unknown outcome, with `paxos_variant: v1`."""
    with closing(open_cassandra(cassandra_url)) as one, closing(open_cassandra(cassandra_url)) as two:

        def write(number: int) -> None:
            for step in range(4):
                (one, two)[number % 2].set(b"p", b"%d" % number, b"%d" % step)

        with ThreadPoolExecutor(64) as pool:
            list(pool.map(write, range(64)))
        assert {row.value for row in one.scan(b"p")} == {b"3"}
        assert bulk.about_rows(two, b"p") == 64


def test_a_writer_does_not_wait_for_ever(cassandra_url: str) -> None:
    open_cassandra(cassandra_url).close()  # creates the table, which may take longer than the time limit below
    with closing(open_cassandra(f"{cassandra_url}&timeout=1")) as store:
        place = (parse_url(cassandra_url).shown, b"p")
        with QUEUES.turn(place, 1), pytest.raises(SlowDown, match="other writers"):
            store.set(b"p", b"k", b"v")
        assert store.get(b"p", b"k") is None


def test_an_unclear_write_is_not_repeated(store: CassandraStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused ones are."""
    predicate = store.set_if(b"p", b"k", b"1", None)
    asked: list[object] = []
    contended = WriteTimeout("late", WriteType.CAS, consistency=ConsistencyLevel.SERIAL)
    refused = TooFewReplicas("down", ConsistencyLevel.SERIAL, 2, 1)
    works: list[Callable[[], object]] = [
        lambda: store.set_if(b"p", b"k", b"2", predicate),
        lambda: store.delete_if(b"p", b"k", predicate),
        lambda: store.set_if(b"p", b"l", b"2", None),
        lambda: bulk.set_many(store, rows(2)),
    ]
    monkeypatch.setattr(backing_off, "_PAUSE", 0)
    for answer, told, attempts in ((contended, OutcomeUnknown, 1), (refused, SlowDown, backing_off.ATTEMPTS)):

        def answered(*statement: object, answer: Exception = answer) -> None:
            asked.append(statement)
            raise answer

        monkeypatch.setattr(Session, "execute", answered)
        for work in works:
            asked.clear()
            with pytest.raises(told):
                work()
            assert len(asked) == attempts


def test_a_keyspace_that_does_not_exist(cassandra: ServerProcess) -> None:
    with pytest.raises(Unavailable, match="CREATE KEYSPACE nowhere WITH replication"):
        open_cassandra(f"cassandra://127.0.0.1:{cassandra.port}/nowhere")


@pytest.mark.parametrize(
    "table",
    [
        "(p blob, k blob, v blob, never int, PRIMARY KEY (p, k))",
        "(p blob, k blob, v blob, never int, PRIMARY KEY (p, k)) WITH CLUSTERING ORDER BY (k DESC) AND {comment}",
        "(p blob, k blob, v text, never int, PRIMARY KEY (p, k)) WITH {comment}",
        "(p blob, k blob, v blob, never int, more int, PRIMARY KEY (p, k)) WITH {comment}",
        "(id int PRIMARY KEY)",
    ],
)
def test_other_tables_are_refused(cassandra: ServerProcess, table: str) -> None:
    url = fresh_table(cassandra.port)
    execute(url, f"CREATE TABLE {parse_url(url).name} " + table.format(comment="comment='graveler schema_version 1'"))
    with pytest.raises(Unavailable, match="is not a graveler store") as caught:
        open_cassandra(url)
    assert caught.value.kind is Kind.NotAGravelerStore


def test_a_store_of_a_newer_version_is_refused(store: CassandraStore, cassandra_url: str) -> None:
    del store
    execute(cassandra_url, f"ALTER TABLE {parse_url(cassandra_url).name} WITH comment='graveler schema_version 99'")
    with pytest.raises(Unavailable) as caught:
        open_cassandra(cassandra_url)
    assert caught.value.kind is Kind.NewerSchema


@pytest.mark.parametrize(("version", "accepted"), [("3.11.19", False), ("4.0.0", True), ("10.1-rc1", True)])
def test_versions(cassandra_url: str, monkeypatch: pytest.MonkeyPatch, version: str, accepted: bool) -> None:
    """Older ones are refused, unless it is ScyllaDB, which says that it is version 3 and has a table of its own."""
    plain, scylladb = CassandraClient.look, False

    def looked(self: CassandraClient, text: str, *parameters: Any) -> list[Any]:
        if "release_version" in text:
            return [(version,)]
        return [("scylla_tables",)] if scylladb and "scylla_tables" in text else plain(self, text, *parameters)

    monkeypatch.setattr(CassandraClient, "look", looked)
    with closing(CassandraClient(parse_url(cassandra_url))) as client:
        if accepted:
            prepare(client)
        else:
            with pytest.raises(Unavailable, match="4 or newer"):
                prepare(client)
        scylladb = True
        prepare(client)


def test_description(store: CassandraStore) -> None:
    told = store.describe()
    assert (told["backend"], told["version"], told["durability"]) == ("cassandra", "5.0.5", "power")
    assert (told["keyspace"], told["nodes"], told["replicas"], told["durable_writes"]) == (KEYSPACE, 1, 1, True)
    assert told["replication"] == "class: SimpleStrategy, replication_factor: 1"
    assert (told["commitlog_sync"], told["paxos_variant"], told["gc_grace_seconds"]) == ("batch", "v2", 864_000)
    assert told["clock_ahead"] == 0.0


@pytest.mark.parametrize(
    ("synced", "keyspace", "expected"),
    [
        ("group", ({"class": "SimpleStrategy", "replication_factor": "1"}, True), "power"),
        ("periodic", ({"class": "NetworkTopologyStrategy", "datacenter1": "2"}, True), "none"),
        ("periodic", ({"class": "NetworkTopologyStrategy", "datacenter1": "3"}, True), "replicas"),
        ("batch", ({"class": "SimpleStrategy", "replication_factor": "1"}, False), "none"),
        (None, ({"class": "SimpleStrategy", "replication_factor": "1"}, True), "unknown"),
    ],
)
def test_durability(
    store: CassandraStore,
    monkeypatch: pytest.MonkeyPatch,
    synced: str | None,
    keyspace: tuple[dict[str, Any], bool],
    expected: str,
) -> None:
    """Replication and settings of others, in the form in which the server tells them."""
    plain = CassandraClient.look

    def looked(self: CassandraClient, text: str, *parameters: Any) -> list[Any]:
        if "durable_writes" in text:
            return [keyspace]
        if "settings" in text:
            if synced is None:
                raise Unavailable("no such table") from InvalidRequest("unconfigured table settings")
            return [("commitlog_sync", synced)]
        return plain(self, text, *parameters)

    monkeypatch.setattr(CassandraClient, "look", looked)
    assert store.describe()["durability"] == expected


def test_a_closed_store(cassandra_url: str) -> None:
    store = open_cassandra(cassandra_url)
    store.close()
    store.close()
    for work in (lambda: store.get(b"p", b"k"), lambda: store.set(b"p", b"k", b"v"), store.describe):
        with pytest.raises(Unavailable, match="was closed"):
            work()


def test_the_older_paxos_and_a_server_that_is_killed() -> None:
    """Acknowledged swaps are there once, also those of four threads during two restarts."""
    with cassandra_server("v1") as server:
        url = fresh_table(server.port)
        test_writers_of_a_partition_do_not_disturb_each_other(url)

        def restart() -> None:
            server.kill()
            server.start()

        with closing(open_cassandra(url)) as store:
            append_during(store, [restart, restart])
            server.kill()
            with pytest.raises(Unavailable):
                store.get(b"p", b"list")
            with pytest.raises(Unavailable):
                store.set(b"p", b"list", b"")
            with pytest.raises(Unavailable):
                open_cassandra(url)


def test_users_and_encryption(tmp_path: Path) -> None:
    """A user needs what the documentation says, and no more. Settings that it may not see are unknown."""
    make_certificates(tmp_path)
    (tmp_path / "chain.pem").write_bytes((tmp_path / "key.pem").read_bytes() + (tmp_path / "cert.pem").read_bytes())
    with cassandra_server(certificates=tmp_path) as server:
        for statement in (
            f"CREATE ROLE ann WITH PASSWORD = '{SECRET}' AND LOGIN = true",
            f"GRANT CREATE ON KEYSPACE {KEYSPACE} TO ann",
            "CREATE ROLE bob WITH PASSWORD = 'bob' AND LOGIN = true",
        ):
            administer(server.port, statement, with_password=True)
        place = f"127.0.0.1:{server.port}/{KEYSPACE}"
        trusted = f"tls=true&ca={tmp_path}/ca.pem&cert={tmp_path}/cert.pem&key={tmp_path}/key.pem"
        with closing(open_cassandra(f"cassandra://ann:{SECRET}@{place}?{trusted}")) as store:
            store.set_if(b"p", b"k", b"v", None)
            assert [row.key for row in store.scan(b"p")] == [b"k"]
            told = store.describe()
            assert SECRET not in str(told)
            assert told["durability"] in ("power", "unknown")
        for login in ("", "ann:wrong@", "bob:bob@"):
            url = f"cassandra://{login}{place}?{trusted}"
            with pytest.raises(PermissionDenied) as caught, closing(open_cassandra(url)) as denied:
                denied.set(b"p", b"k", b"v")
            assert SECRET not in repr(caught.value)
        with pytest.raises(Unavailable):
            open_cassandra(f"cassandra://ann:{SECRET}@{place}?tls=true")
