"""Problems of the key-value store itself, according to its own description."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from urllib.parse import quote

from graveler_core.diagnostics.doctor.diagnosis import Ailment
from graveler_core.diagnostics.doctor.examination import OFF_BY, Examination
from graveler_core.kv.store import Description

_TO_WAL: Final = (
    "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('PRAGMA journal_mode=WAL').fetchone()[0])"
)
_MYSQL_REMEDY: Final = "set it to 1, also in the configuration of the server, which is read at its start"

MANY_REVISIONS: Final = 100_000
"""Number of revisions above which an etcd cluster should have removed old ones."""


def examine_store(of: Examination) -> None:
    """Read the description of the store and examine it."""
    with of.looking("the key-value store"):
        of.budget.tick()
        judge(of, of.stores.kv.describe())


def judge(of: Examination, told: Description) -> None:
    """Examine a description."""
    if told["backend"] == "sqlite":
        _sqlite(of, told)
    elif told["backend"] == "postgresql":
        _postgresql(of, told)
    elif told["backend"] == "mysql":
        _mysql(of, told)
    elif told["backend"] == "dynamodb":
        _dynamodb(of, told)
    elif told["backend"] == "etcd":
        _etcd(of, told)
    elif told["backend"] == "mongodb":
        _mongodb(of, told)
    elif told["backend"] == "bigtable":
        _bigtable(of, told)
    elif told["backend"] == "cassandra":
        _cassandra(of, told)
    elif told["backend"] == "redis":
        _redis(of, told)


def _sqlite(of: Examination, told: Description) -> None:
    path = str(told["path"])
    if told["network"]:
        what = f"the SQLite file is on a network file system ({told['file_system']})"
        copy = ("graveler", "kv", "copy", f"sqlite:///{quote(path)}", "sqlite:////LOCAL/DISK/meta.db")
        of.tell(Ailment.STORE_ON_NETWORK, path, what, *copy)
    if told["journal_mode"] != "wal":
        what = f"the SQLite file has the journal mode {told['journal_mode']}, not wal"
        of.tell(Ailment.STORE_WITHOUT_WAL, path, what, "python3", "-c", _TO_WAL, path)


def _postgresql(of: Examination, told: Description) -> None:
    off = [name for name in ("fsync", "full_page_writes") if not told[name]]
    if off:
        switched = (word for name in off for word in ("-c", f"ALTER SYSTEM SET {name} = on"))
        what = f"the server has {' and '.join(off)} switched off"
        of.tell(Ailment.STORE_NOT_DURABLE, "postgresql", what, "psql", *switched, "-c", "SELECT pg_reload_conf()")
    _clock(of, told, "PostgreSQL")


def _mysql(of: Examination, told: Description) -> None:
    weak = [
        name
        for name, strong in (("innodb_flush_log_at_trx_commit", (1, 3)), ("sync_binlog", (1,)))
        if told[name] not in strong and (name != "sync_binlog" or told["log_bin"])
    ]
    if weak:
        what = f"the server has {' and '.join(f'{name} = {told[name]}' for name in weak)}"
        program = "mariadb" if "mariadb" in str(told["version"]).lower() else "mysql"
        statements = "; ".join(f"SET GLOBAL {name} = 1" for name in weak)
        of.tell(Ailment.STORE_NOT_DURABLE, "mysql", what, program, "--execute", statements, remedy=_MYSQL_REMEDY)
    if not told["innodb_doublewrite"]:
        what = "the server has innodb_doublewrite switched off"
        of.tell(
            Ailment.STORE_NOT_DURABLE, "mysql", what, remedy="turn it on in the configuration, and restart the server"
        )
    _clock(of, told, "MySQL")


def _redis(of: Examination, told: Description) -> None:
    for name, needed in (("appendonly", "yes"), ("appendfsync", "always")):
        if told[name] not in (needed, None):
            what = f"the server has {name} = {told[name]}"
            remedy = f"set it to {needed}, also in the configuration of the server, which is read at its start"
            of.tell(Ailment.STORE_NOT_DURABLE, "redis", what, "redis-cli", "CONFIG", "SET", name, needed, remedy=remedy)
    if told["evicts"]:
        what = f"the server has maxmemory-policy = {told['maxmemory_policy']}"
        of.tell(Ailment.STORE_EVICTS, "redis", what, "redis-cli", "CONFIG", "SET", "maxmemory-policy", "noeviction")
    _clock(of, told, "Redis")


def _dynamodb(of: Examination, told: Description) -> None:
    table = f"dynamodb://{told['table']}"
    if told["durability"] == "none":
        remedy = "copy the store to a table of Amazon DynamoDB with `graveler kv copy`"
        of.tell(Ailment.STORE_NOT_DURABLE, table, "the service is DynamoDB Local, which is for tests", remedy=remedy)
    if told["replicas"] and told["multi_region_consistency"] != "STRONG":
        what = f"the table is replicated without strong consistency; other regions: {told['replicas']}"
        of.tell(Ailment.STORE_NOT_CONSISTENT, table, what)
    _clock(of, told, "DynamoDB")


def _etcd(of: Examination, told: Description) -> None:
    where = f"etcd, prefix {told['prefix']}"
    if told["alarms"]:
        what = f"the cluster has raised the alarm {told['alarms']}"
        of.tell(Ailment.STORE_ALARM, where, what, "etcdctl", "endpoint", "status", "--cluster")
    revision = int(told["revision"] or 0)
    if not told["compacted"] and revision > MANY_REVISIONS:
        what = f"the cluster keeps all of its {revision:,} revisions"
        of.tell(Ailment.STORE_KEEPS_HISTORY, where, what, "etcdctl", "compact", str(revision))
    _clock(of, told, "etcd")


def _mongodb(of: Examination, told: Description) -> None:
    where = f"mongodb, collection {told['database']}.{told['collection']}"
    if told["majority_is_journaled"] is False:
        what = "the replica set has writeConcernMajorityJournalDefault = false"
        remedy = "set it to true by rs.reconfig"
        of.tell(Ailment.STORE_NOT_DURABLE, where, what, remedy=remedy)
    if told["engine_persists"] is False:
        what = f"the server has the storage engine {told['storage_engine']}, which keeps all data in memory"
        remedy = "copy the store to servers with the storage engine WiredTiger with `graveler kv copy`"
        of.tell(Ailment.STORE_NOT_DURABLE, where, what, remedy=remedy)
    _clock(of, told, "MongoDB")


def _bigtable(of: Examination, told: Description) -> None:
    if told["emulator"] is not None:
        where = f"bigtable://{told['project']}/{told['instance']}/{told['table']}"
        remedy = "copy the store to a table of Google Cloud Bigtable with `graveler kv copy`"
        what = "the service is the emulator of Bigtable, which keeps all data in memory and is for tests"
        of.tell(Ailment.STORE_NOT_DURABLE, where, what, remedy=remedy)


def _cassandra(of: Examination, told: Description) -> None:
    where = f"cassandra, table {told['keyspace']}.{told['table']}"
    if not told["durable_writes"]:
        statement = f"ALTER KEYSPACE {told['keyspace']} WITH durable_writes = true"
        what = "the keyspace has durable_writes = false"
        of.tell(Ailment.STORE_NOT_DURABLE, where, what, "cqlsh", "--execute", statement)
    elif told["durability"] == "none":
        what = f"the nodes have commitlog_sync = {told['commitlog_sync']}, replicas of a row: {told['replicas']}"
        remedy = "set commitlog_sync to batch or group on each node, or let the keyspace have 3 replicas or more"
        of.tell(Ailment.STORE_NOT_DURABLE, where, what, remedy=remedy)
    _clock(of, told, "Cassandra")


def _clock(of: Examination, told: Description, server: str) -> None:
    """Examine the clock of a server."""
    ahead = timedelta(seconds=float(told["clock_ahead"] or 0))
    if abs(ahead) > OFF_BY:
        of.clocks_differ(f"the answer of the {server} server", ahead)
