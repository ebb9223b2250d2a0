"""`graveler doctor` on stores that are servers: alarms, kept history, and services that are for tests."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from redis import Redis

from graveler_core.diagnostics.doctor import of_store
from graveler_core.diagnostics.doctor.diagnosis import Ailment
from graveler_core.errors import OutcomeUnknown
from graveler_core.kv import bulk, open_store
from graveler_core.kv.backends.dynamodb import description as dynamodb_description
from graveler_core.kv.backends.dynamodb import store as dynamodb
from graveler_core.kv.backends.mongodb.client import MongoDBClient
from graveler_core.kv.store import Description
from tests.integration.command_line import Cli
from tests.integration.doctoring import gone, ill
from tests.servers.etcd import etcd_server
from tests.servers.process import ServerProcess


def test_a_cluster_that_is_full(here: object, cli: Cli) -> None:
    """Its quota is used up for real; the store says so, and reads go on."""
    del here
    with etcd_server(("--quota-backend-bytes", str(1_024 * 1_024))) as server:
        url = f"etcd://127.0.0.1:{server.port}/full"
        store = open_store(url)
        with pytest.raises(OutcomeUnknown, match="the quota is used up"):
            bulk.set_many(store, [(b"p", b"%d" % number, b"x" * 90_000) for number in range(100)])
        assert store.get(b"p", b"0") is not None
        store.close()
        row = ill(cli, Ailment.STORE_ALARM, "--store", url)
        assert (row["severity"], "NOSPACE" in row["what"]) == ("critical", True)


def test_a_cluster_that_keeps_its_history(cli: Cli, etcd_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_store, "MANY_REVISIONS", 2)
    store = open_store(etcd_url)
    told = store.describe()
    monkeypatch.setattr(type(store), "describe", lambda self: {**told, "revision": 3, "compacted": False})
    store.close()
    row = ill(cli, Ailment.STORE_KEEPS_HISTORY, "--store", etcd_url)
    assert row["command"] == ["etcdctl", "compact", "3"]
    monkeypatch.setattr(type(store), "describe", lambda self: {**told, "revision": 3, "compacted": True})
    gone(cli, Ailment.STORE_KEEPS_HISTORY, "--store", etcd_url)


def test_a_service_for_tests(cli: Cli, dynamodb_url: str) -> None:
    row = ill(cli, Ailment.STORE_NOT_DURABLE, "--store", dynamodb_url)
    assert (row["severity"], "DynamoDB Local" in row["what"]) == ("critical", True)
    assert "secret" not in repr(row)


def test_an_emulator(cli: Cli, bigtable_url: str) -> None:
    row = ill(cli, Ailment.STORE_NOT_DURABLE, "--store", bigtable_url)
    assert (row["severity"], "emulator of Bigtable" in row["what"]) == ("critical", True)


def test_a_table_with_replicas(cli: Cli, dynamodb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """DynamoDB Local has none: the answer of the service is another one."""

    def replicated(answer: dict[str, Any], before: float, after: float) -> Description:
        table = {**answer["Table"], "Replicas": [{"RegionName": "eu-west-1"}]}
        return dynamodb_description.described({**answer, "Table": table}, before, after)

    monkeypatch.setattr(dynamodb, "described", replicated)
    row = ill(cli, Ailment.STORE_NOT_CONSISTENT, "--store", dynamodb_url)
    assert "other regions: 1" in row["what"]
    monkeypatch.setattr(dynamodb, "described", dynamodb_description.described)
    gone(cli, Ailment.STORE_NOT_CONSISTENT, "--store", dynamodb_url)


def test_a_majority_without_journals(cli: Cli, mongodb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake of MongoDB has no configuration of a replica set: the answer of the server is another one."""
    plain, journaled = MongoDBClient.ask, False

    def configured(self: MongoDBClient, command: dict[str, Any], database: str | None = None) -> dict[str, Any]:
        if "replSetGetConfig" in command:
            return {"config": {"writeConcernMajorityJournalDefault": journaled}}
        return plain(self, command, database)

    monkeypatch.setattr(MongoDBClient, "ask", configured)
    row = ill(cli, Ailment.STORE_NOT_DURABLE, "--store", mongodb_url)
    assert (row["severity"], "writeConcernMajorityJournalDefault" in row["what"]) == ("critical", True)
    journaled = True
    gone(cli, Ailment.STORE_NOT_DURABLE, "--store", mongodb_url)


def test_a_server_that_deletes_rows(cli: Cli, redis: ServerProcess, redis_url: str) -> None:
    url = f"{redis_url}&durability=none"
    with closing(Redis(port=redis.port)) as client:
        before = {name: client.config_get(name)[name] for name in ("maxmemory", "maxmemory-policy")}
        try:
            client.config_set("maxmemory", "1gb")
            client.config_set("maxmemory-policy", "allkeys-lru")
            row = ill(cli, Ailment.STORE_EVICTS, "--store", url)
            assert (row["severity"], row["command"][:3]) == ("critical", ["redis-cli", "CONFIG", "SET"])
            client.config_set(*row["command"][3:])
            gone(cli, Ailment.STORE_EVICTS, "--store", url)
        finally:
            for name, value in before.items():
                client.config_set(name, value)
