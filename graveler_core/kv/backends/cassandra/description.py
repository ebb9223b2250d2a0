"""Description of a Cassandra store: version, nodes, replication, durability and clock."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC
from typing import Final

from graveler_core.errors import GravelerError
from graveler_core.kv.backends.cassandra.client import CassandraClient, Row
from graveler_core.kv.backends.cassandra.errors import was_refused
from graveler_core.kv.backends.clocks import instant_ahead
from graveler_core.kv.store import Description

_LOCAL: Final = "SELECT release_version, cluster_name, toTimestamp(now()) FROM system.local WHERE key='local'"
_PEERS: Final = "SELECT peer FROM system.peers"
_KEYSPACE: Final = "SELECT replication, durable_writes FROM system_schema.keyspaces WHERE keyspace_name=?"
_TABLE: Final = "SELECT gc_grace_seconds FROM system_schema.tables WHERE keyspace_name=? AND table_name=?"
_SETTINGS: Final = "SELECT name, value FROM system_views.settings WHERE name IN ('commitlog_sync', 'paxos_variant')"
_SYNCED: Final = ("batch", "group")
"""Values of `commitlog_sync` with which a node answers after it has written to disk."""
_MANY: Final = 3
"""Number of replicas from which on a power failure of one of them loses nothing that a quorum has."""


def described(client: CassandraClient) -> Description:
    """Return the properties of a store by name. A property that the user may not see is `None`.

    Args:
        client: Client of the table.
    """
    target = client.target
    before = time.time()
    ((version, cluster, clock),) = client.look(_LOCAL)
    after = time.time()
    ((replication, durable),) = client.look(_KEYSPACE, target.keyspace)
    ((grace,),) = client.look(_TABLE, target.keyspace, target.table)
    settings: dict[str, str] = dict(_looked(client, _SETTINGS))
    replicas = _replicas(replication)
    synced = settings.get("commitlog_sync")
    return {
        "backend": "cassandra",
        "version": version,
        "durability": _durability(synced, replicas, durable=durable),
        "cluster": cluster,
        "keyspace": target.keyspace,
        "table": target.table,
        "nodes": 1 + len(client.look(_PEERS)),
        "replication": ", ".join(f"{name}: {value.rpartition('.')[2]}" for name, value in replication.items()),
        "replicas": replicas,
        "durable_writes": durable,
        "commitlog_sync": synced,
        "paxos_variant": settings.get("paxos_variant"),
        "gc_grace_seconds": grace,
        "clock_ahead": instant_ahead(clock.replace(tzinfo=UTC).timestamp(), before, after),
    }


def _durability(synced: str | None, replicas: int, *, durable: bool) -> str:
    """Return what an acknowledged write survives.

    `power` means a power failure of all nodes. `replicas` means a power failure of fewer than half of the replicas of a
    row.
    """
    if not durable:
        return "none"
    if synced is None:
        return "unknown"
    if synced in _SYNCED:
        return "power"
    return "replicas" if replicas >= _MANY else "none"


def _replicas(replication: Mapping[str, str]) -> int:
    """Return the number of replicas of a row in all data centers."""
    counts = [value.partition("/")[0] for name, value in replication.items() if name != "class"]
    return sum(int(count) for count in counts if count.isdecimal())


def _looked(client: CassandraClient, text: str) -> list[Row]:
    """Return rows that the user may not be allowed to see, or that the server does not have."""
    try:
        return client.look(text)
    except GravelerError as error:
        if was_refused(error.__cause__):
            return []
        raise
