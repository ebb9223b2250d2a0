"""The MongoDB store: what it sends, what it makes of refusals, and which deployments and collections it accepts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest
from pymongo import MongoClient
from pymongo.monitoring import CommandStartedEvent

from graveler_core.errors import Kind, OutcomeUnknown, PredicateFailed, SlowDown, Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.backends import backing_off
from graveler_core.kv.backends.mongodb.client import MongoDBClient, _SentWrites
from graveler_core.kv.backends.mongodb.mark import prepare
from graveler_core.kv.backends.mongodb.store import MongoDBStore, open_mongodb
from graveler_core.kv.backends.mongodb.url import parse_url
from graveler_core.kv.store import EXISTS
from tests.servers.mongodb import fresh_collection, mongodb_server
from tests.servers.process import ServerProcess

Commands = list[dict[str, Any]]


@pytest.fixture
def store(mongodb_url: str) -> Iterator[MongoDBStore]:
    with closing(open_mongodb(mongodb_url)) as opened:
        assert isinstance(opened, MongoDBStore)
        yield opened


@pytest.fixture
def sent(store: MongoDBStore, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """The commands that the driver sends, whoever has asked for them."""
    del store
    commands: Commands = []
    plain = _SentWrites.started

    def noted(self: _SentWrites, event: CommandStartedEvent) -> None:
        commands.append(dict(event.command))
        plain(self, event)

    monkeypatch.setattr(_SentWrites, "started", noted)
    return commands


@pytest.fixture
def administrator(mongodb: ServerProcess) -> Iterator[Any]:
    with closing(MongoClient("127.0.0.1", mongodb.port, directConnection=True)) as client:
        yield client
        client.admin.command("configureFailPoint", "failCommand", mode="off")


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backing_off, "_PAUSE", 0)


def fail(administrator: Any, times: int, *commands: str, **data: Any) -> None:
    """Let the next commands with these names fail."""
    point = {"failCommands": list(commands), **data}
    administrator.admin.command("configureFailPoint", "failCommand", mode={"times": times}, data=point)


def rows(count: int, value: bytes = b"v") -> list[tuple[bytes, bytes, bytes]]:
    return [(b"p", b"%05d" % number, value) for number in range(count)]


def columns(count: int, value: bytes) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    return pa.array([key for _, key, _ in rows(count)], pa.binary()), pa.array([value] * count, pa.binary())


def names(commands: Commands) -> list[str]:
    return [next(iter(command)) for command in commands]


def test_every_command_has_the_concerns_of_the_promises(store: MongoDBStore, sent: Commands) -> None:
    predicate = store.set_if(b"p", b"k", b"1", None)
    store.set_if(b"p", b"k", b"2", predicate)
    store.set_if(b"p", b"k", b"3", EXISTS)
    store.set(b"p", b"l", b"1")
    store.delete_if(b"p", b"k", EXISTS)
    store.delete(b"p", b"l")
    bulk.set_many(store, rows(3))
    bulk.load(store, b"p", *columns(3, b"w"))
    writes = list(sent)
    assert names(writes) == ["insert", "update", "update", "update", "delete", "delete", "update", "update"]
    for command in writes:
        concern = command["writeConcern"]
        assert (concern["w"], concern["j"], 0 < concern["wtimeout"] < 20_000) == ("majority", True, True)
    sent.clear()
    store.get(b"p", b"k")
    bulk.get_many(store, [(b"p", b"k"), (b"q", b"k")])
    list(store.scan(b"p"))
    bulk.about_rows(store, b"p")
    bulk.split_points(store, b"p", 2)
    assert names(sent) == ["find", "find", "find", "count", "find", "find"]
    for command in sent:
        assert command["readConcern"] == {"level": "linearizable"}
        assert 0 < command["maxTimeMS"] < 20_000
        assert command.get("singleBatch", True)
    sent.clear()
    assert bulk.drop_partition(store, b"p") == 3
    assert names(sent) == ["find", "delete", "find"]
    assert sent[1]["writeConcern"]["w"] == "majority"


@pytest.mark.parametrize(("count", "commands"), [(1, 1), (1_000, 1), (1_001, 2)])
def test_many_rows_take_few_commands(store: MongoDBStore, sent: Commands, count: int, commands: int) -> None:
    bulk.set_many(store, rows(count))
    assert names(sent) == ["update"] * commands
    sent.clear()
    keys = [(partition, key) for partition, key, _ in rows(min(count, 201))]
    found = bulk.get_many(store, [*keys, (b"p", b"never"), keys[0]])
    assert [answer and answer.value for answer in found] == [*[b"v"] * len(keys), None, b"v"]
    assert names(sent) == ["find"] * (1 if count == 1 else 3)
    sent.clear()
    bulk.load(store, b"p", *columns(count, b"w"))
    assert len(sent) == commands
    assert {row.value for row in store.scan(b"p")} == {b"w"}


def test_a_command_is_limited_by_its_size(store: MongoDBStore, sent: Commands) -> None:
    bulk.set_many(store, rows(100, b"x" * 90_000))
    assert [len(command["updates"]) for command in sent] == [46, 46, 8]
    sent.clear()
    assert len(list(store.scan(b"p", limit=100))) == 100
    assert [command["limit"] for command in sent] == [40, 6, 1, 40, 6, 1, 6]


def test_a_large_partition_is_dropped_in_steps(store: MongoDBStore, sent: Commands) -> None:
    bulk.load(store, b"p", *columns(5_001, b"v"))
    store.set(b"p\x00", b"k", b"v")
    sent.clear()
    assert bulk.drop_partition(store, b"p") == 5_001
    assert names(sent) == ["find", "delete"] * 2 + ["find"]
    assert bulk.about_rows(store, b"p\x00") == 1


def test_deletions_together_are_refused(store: MongoDBStore, sent: Commands) -> None:
    store.set(b"p", b"k", b"v")
    sent.clear()
    with pytest.raises(PredicateFailed):
        bulk.delete_together(store, [(b"p", b"k", EXISTS)], [])
    assert not store.deletes_together()
    assert not sent


@pytest.mark.usefixtures("_at_once")
def test_a_refused_write_is_repeated(store: MongoDBStore, sent: Commands, administrator: Any) -> None:
    fail(administrator, 2, "update", errorCode=10_107)
    store.set(b"p", b"k", b"v")
    assert names(sent) == ["update"] * 3
    sent.clear()
    fail(administrator, 99, "insert", "find", errorCode=112)
    for work in (lambda: store.set_if(b"p", b"l", b"v", None), lambda: store.get(b"p", b"l")):
        with pytest.raises(SlowDown):
            work()
        assert len(sent) == backing_off.ATTEMPTS
        sent.clear()


def test_an_unclear_write_is_not_repeated(store: MongoDBStore, sent: Commands, administrator: Any) -> None:
    """Neither by the store nor by the driver, which would repeat these by itself."""
    predicate = store.set_if(b"p", b"k", b"1", None)
    for code in (189, 999_999):
        for work in (
            lambda: store.set_if(b"p", b"k", b"2", predicate),
            lambda: store.delete_if(b"p", b"k", predicate),
            lambda: store.set_if(b"p", b"l", b"2", None),
            lambda: bulk.set_many(store, rows(2)),
        ):
            fail(administrator, 1, "update", "insert", "delete", errorCode=code, errorLabels=["RetryableWriteError"])
            sent.clear()
            with pytest.raises(OutcomeUnknown):
                work()
            assert len(sent) == 1


def test_a_write_that_the_other_members_do_not_confirm(store: MongoDBStore, administrator: Any) -> None:
    """It is there, and may be undone. So may the row that made a condition fail."""
    predicate = store.set_if(b"p", b"k", b"1", None)
    for code in (64, 91, 10_107):
        fail(administrator, 1, "update", writeConcernError={"code": code, "errmsg": "waiting"})
        with pytest.raises(OutcomeUnknown):
            store.set(b"p", b"k", b"2")
        fail(administrator, 1, "update", writeConcernError={"code": code, "errmsg": "waiting"})
        with pytest.raises(OutcomeUnknown):
            store.set_if(b"p", b"k", b"3", predicate)
        fail(administrator, 1, "insert", writeConcernError={"code": code, "errmsg": "waiting"})
        with pytest.raises(OutcomeUnknown):
            store.set_if(b"p", b"k", b"3", None)
    found = store.get(b"p", b"k")
    assert found is not None
    assert found.value == b"2"


@pytest.mark.usefixtures("_at_once")
def test_refused_rows_of_a_bulk_write_are_sent_again_alone(
    store: MongoDBStore, sent: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were written are not, because others may have changed them since."""
    plain = MongoDBClient._confirmed
    told = [(11_000, 1)]

    def refusing(self: MongoDBClient, command: dict[str, Any]) -> dict[str, Any]:
        answer = plain(self, command)
        if not told:
            return answer
        code, index = told.pop()
        return {**answer, "writeErrors": [{"index": index, "code": code, "errmsg": "busy"}]}

    monkeypatch.setattr(MongoDBClient, "_confirmed", refusing)
    bulk.set_many(store, rows(4))
    wanted = [[update["q"]["_id"][-1] for update in command["updates"]] for command in sent]
    assert wanted == [["0", "1", "2", "3"], ["1"]]
    told[:] = [(121, 0)]
    with pytest.raises(Unavailable, match="refuses"):
        bulk.set_many(store, rows(4))
    told[:] = [(11_602, 0)]
    with pytest.raises(OutcomeUnknown):
        bulk.set_many(store, rows(4))
    told[:] = [(112, 0)] * backing_off.ATTEMPTS
    with pytest.raises(SlowDown):
        bulk.set_many(store, rows(4))


def test_deployments_that_the_url_does_not_name(mongodb: ServerProcess) -> None:
    with pytest.raises(Unavailable, match="not of the kind standalone, but replica-set: leave") as caught:
        open_mongodb(fresh_collection(mongodb.port, "&deployment=standalone"))
    assert caught.value.kind is Kind.StoreNotDurable


@pytest.mark.ci
@pytest.mark.parametrize(("kind", "level"), [("standalone", "local"), ("sharded", "linearizable")])
def test_other_deployments(kind: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are refused unless the URL names them."""
    with mongodb_server(kind) as server:
        with pytest.raises(Unavailable, match=f"deployment={kind}") as caught:
            open_mongodb(fresh_collection(server.port))
        assert caught.value.kind is Kind.StoreNotDurable
        levels = []
        plain = MongoDBClient.ask

        def noted(self: MongoDBClient, command: dict[str, Any], database: str | None = None) -> dict[str, Any]:
            levels.extend([command["readConcern"]["level"]] if "readConcern" in command else [])
            return plain(self, command, database)

        monkeypatch.setattr(MongoDBClient, "ask", noted)
        with closing(open_mongodb(fresh_collection(server.port, f"&deployment={kind}"))) as store:
            store.set(b"p", b"k", b"v")
            assert [row.value for row in store.scan(b"p")] == [b"v"]
            assert store.describe()["deployment"] == kind
        assert set(levels) == {level}


def test_collections_are_apart(mongodb: ServerProcess) -> None:
    one, other = (open_mongodb(fresh_collection(mongodb.port)) for _ in range(2))
    one.set(b"p", b"k", b"1")
    assert other.get(b"p", b"k") is None
    one.close()
    other.close()


def test_documents_of_others(mongodb_url: str, administrator: Any) -> None:
    target = parse_url(mongodb_url)
    administrator[target.database][target.collection].insert_one({"_id": 7, "name": "ada"})
    with pytest.raises(Unavailable, match="other documents") as caught:
        open_mongodb(mongodb_url)
    assert caught.value.kind is Kind.NotAGravelerStore


@pytest.mark.parametrize(
    ("mark", "kind"),
    [(b"2", Kind.NewerSchema), (b"0", Kind.NotAGravelerStore), ("1", Kind.NotAGravelerStore)],
)
def test_marks_of_others(mongodb_url: str, administrator: Any, mark: object, kind: Kind) -> None:
    target = parse_url(mongodb_url)
    administrator[target.database][target.collection].insert_one({"_id": "schema_version", "v": mark})
    with pytest.raises(Unavailable) as caught:
        open_mongodb(mongodb_url)
    assert caught.value.kind is kind


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"options": {"collation": {"locale": "de"}}}, "collation"),
        ({"options": {"capped": True, "size": 4_096}}, "capped"),
        ({"type": "view"}, "view"),
        ({"type": "timeseries", "options": {"timeseries": {"timeField": "t"}}}, "timeseries"),
    ],
)
def test_collections_with_other_options(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch, found: dict[str, Any], told: str
) -> None:
    """The fake has no such collections: the answer of the server is another one."""
    client = MongoDBClient(parse_url(mongodb_url))
    plain = MongoDBClient.ask

    def changed(self: MongoDBClient, command: dict[str, Any], database: str | None = None) -> dict[str, Any]:
        if "listCollections" in command:
            return {"cursor": {"firstBatch": [{"name": "lake", "options": {}, **found}]}}
        return plain(self, command, database)

    monkeypatch.setattr(MongoDBClient, "ask", changed)
    with closing(client), pytest.raises(Unavailable, match=told) as caught:
        prepare(client)
    assert caught.value.kind is Kind.NotAGravelerStore


def test_a_description(store: MongoDBStore) -> None:
    store.set(b"p", b"k", b"v")
    told = store.describe()
    assert (told["backend"], told["deployment"], told["members"]) == ("mongodb", "replica-set", 1)
    assert (told["durability"], told["storage_engine"], told["majority_is_journaled"]) == ("unknown", None, None)
    assert (told["replica_set"], told["database"]) == ("fake", "test")
    assert isinstance(told["size"], int)
    assert isinstance(told["clock_ahead"], float)
    assert abs(told["clock_ahead"]) < 60


@pytest.mark.parametrize(
    ("engine", "journaled", "durability"), [(True, True, "power"), (True, False, "none"), (False, True, "none")]
)
def test_the_durability_of_a_real_server(
    store: MongoDBStore, monkeypatch: pytest.MonkeyPatch, engine: bool, journaled: bool, durability: str
) -> None:
    """The fake does not tell: the answers are those of another server."""
    answers = {
        "serverStatus": {"storageEngine": {"name": "wiredTiger", "persistent": engine}},
        "replSetGetConfig": {"config": {"writeConcernMajorityJournalDefault": journaled}},
    }
    plain = MongoDBClient.ask

    def changed(self: MongoDBClient, command: dict[str, Any], database: str | None = None) -> dict[str, Any]:
        return answers.get(next(iter(command))) or plain(self, command, database)

    monkeypatch.setattr(MongoDBClient, "ask", changed)
    told = store.describe()
    assert (told["durability"], told["majority_is_journaled"], told["engine_persists"]) == (
        durability,
        journaled,
        engine,
    )


@pytest.mark.ci
def test_a_server_that_is_away() -> None:
    """Nothing is sent, so no outcome is unknown."""
    with mongodb_server() as server:
        url = fresh_collection(server.port, "&timeout=0.5")
        store = open_mongodb(url)
        predicate = store.set_if(b"p", b"k", b"old", None)
    with closing(store):
        with pytest.raises(Unavailable):
            store.get(b"p", b"k")
        with pytest.raises(Unavailable):
            store.set_if(b"p", b"k", b"new", predicate)
        with pytest.raises(Unavailable):
            open_mongodb(url)
