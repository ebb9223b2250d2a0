"""Checks of a cluster and a keyspace that are to hold a store, and the table of the store with its mark.

The mark is the comment of the table, so that the table is created together with it.
"""

from __future__ import annotations

import re
from typing import Final

from graveler_core.errors import Kind, Unavailable
from graveler_core.kv.backends.cassandra.client import CassandraClient
from graveler_core.kv.backends.schema_mark import check_mark, mark_value, not_a_store
from graveler_core.kv.schema_versions import Migrations

MIGRATIONS: Final[Migrations] = ()
_COMMENT: Final = "graveler schema_version "
_COLUMNS: Final = {
    ("k", "clustering", "blob", "asc"),
    ("never", "regular", "int", "none"),
    ("p", "partition_key", "blob", "none"),
    ("v", "regular", "blob", "none"),
}
_OLDEST: Final = 4
"""Oldest major version. In older ones, a read could return a write that a later read did not return."""
_VERSION: Final = "SELECT release_version FROM system.local WHERE key='local'"
_SCYLLADB: Final = (
    "SELECT table_name FROM system_schema.tables WHERE keyspace_name='system_schema' AND table_name='scylla_tables'"
)
_KEYSPACE: Final = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name=?"
_TABLE: Final = "SELECT comment FROM system_schema.tables WHERE keyspace_name=? AND table_name=?"
_TABLE_COLUMNS: Final = (
    "SELECT column_name, kind, type, clustering_order FROM system_schema.columns WHERE keyspace_name=? AND table_name=?"
)


def prepare(client: CassandraClient, migrations: Migrations = MIGRATIONS) -> None:
    """Check version, keyspace and table, and create the table if it is absent.

    Raises:
        Unavailable: The keyspace does not exist. Kind NotAGravelerStore: the table is another one, or the cluster is
            older than version 4. Kind NewerSchema: a newer version of the library created the store.
        GravelerError: The cluster refuses, or cannot be reached.
    """
    target = client.target
    _check_version(client)
    if not client.look(_KEYSPACE, target.keyspace):
        raise Unavailable(
            f"{target.shown}: the keyspace does not exist; create it with the replication that you need:"
            f" CREATE KEYSPACE {target.keyspace} WITH replication = "
            "{'class': 'NetworkTopologyStrategy', 'replication_factor': 3}",
            kind=Kind.NotAGravelerStore,
            store=target.shown,
        )
    if not client.look(_TABLE, target.keyspace, target.table):
        client.change_schema(
            f"CREATE TABLE IF NOT EXISTS {target.name} (p blob, k blob, v blob, never int, PRIMARY KEY (p, k))"
            f" WITH comment = '{_COMMENT}{mark_value(migrations).decode()}'"
        )
    ((comment,),) = client.look(_TABLE, target.keyspace, target.table)
    columns = set(client.look(_TABLE_COLUMNS, target.keyspace, target.table))
    if columns != _COLUMNS or not comment.startswith(_COMMENT):
        raise not_a_store(target.shown, f"the table {target.table} is another one")
    check_mark(comment.removeprefix(_COMMENT).encode(), migrations, target.shown)


def _check_version(client: CassandraClient) -> None:
    ((version,),) = client.look(_VERSION)
    major = re.match(r"\d+", version)
    if (major is None or int(major[0]) < _OLDEST) and not client.look(_SCYLLADB):
        raise not_a_store(client.target.shown, f"it needs Apache Cassandra 4 or newer, not {version}")
