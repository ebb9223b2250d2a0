"""SQL statements of the PostgreSQL store. Parameters of type bytes are bound in binary format (%b)."""

from __future__ import annotations

from typing import Final, LiteralString

from graveler_core.kv.backends.sql import RowStatements

ROWS: Final = RowStatements(
    get="SELECT value FROM graveler_kv WHERE partition=%b AND key=%b",
    set="INSERT INTO graveler_kv(partition, key, value) VALUES(%b,%b,%b)"
    " ON CONFLICT(partition, key) DO UPDATE SET value=excluded.value",
    create="INSERT INTO graveler_kv(partition, key, value) VALUES(%b,%b,%b) ON CONFLICT(partition, key) DO NOTHING",
    replace="UPDATE graveler_kv SET value=%b WHERE partition=%b AND key=%b",
    swap="UPDATE graveler_kv SET value=%b WHERE partition=%b AND key=%b AND value=%b",
    delete="DELETE FROM graveler_kv WHERE partition=%b AND key=%b",
    delete_if="DELETE FROM graveler_kv WHERE partition=%b AND key=%b AND value=%b",
    count="SELECT count(*) FROM graveler_kv WHERE partition=%b",
)
"""`count` is an index-only scan if the table was vacuumed.

The statistics of the planner are not used for it, because they do not include recent partitions.
"""
GET_MANY: Final = (
    "SELECT wanted.place, found.value"
    " FROM unnest(%b::bytea[], %b::bytea[]) WITH ORDINALITY AS wanted(partition, key, place)"
    " JOIN graveler_kv AS found ON found.partition = wanted.partition AND found.key = wanted.key"
)
GET_FEW: Final[tuple[LiteralString, ...]] = tuple(
    " UNION ALL ".join(
        f"SELECT {place}::bigint, value FROM graveler_kv WHERE partition=%b AND key=%b"  # noqa: S608 - a digit
        for place in places
    )
    for places in ("1", "12", "123", "1234")
)
"""Statements that do the same as `GET_MANY` for one key, two keys and so on, in a fifth of the processor time."""
SET_MANY: Final = (
    "INSERT INTO graveler_kv(partition, key, value) SELECT * FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[])"
    " ON CONFLICT(partition, key) DO UPDATE SET value=excluded.value"
)
WRITE_AND_SWAP: Final = (
    "WITH swapped AS (UPDATE graveler_kv SET value=%b WHERE partition=%b AND key=%b AND value=%b RETURNING 1)"
    " INSERT INTO graveler_kv(partition, key, value)"
    " SELECT row.* FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[]) AS row WHERE EXISTS (SELECT 1 FROM swapped)"
    " ON CONFLICT(partition, key) DO UPDATE SET value=excluded.value"
)
"""Swap a row and write others, or nothing.

The UPDATE waits for a concurrent writer of the row and then checks the newest committed value. The INSERT reads its
result, so it runs after it.
"""
DELETE_TOGETHER: Final = (
    "WITH wanted AS (SELECT * FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[]) AS row(partition, key, value)),"
    " expected AS (SELECT * FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[]) AS row(partition, key, value)),"
    " unchanged AS (SELECT 1 FROM graveler_kv AS found JOIN expected"
    " ON found.partition = expected.partition AND found.key = expected.key"
    " AND (expected.value IS NULL OR found.value = expected.value) FOR SHARE OF found),"
    " going AS (SELECT found.partition, found.key FROM graveler_kv AS found JOIN wanted"
    " ON found.partition = wanted.partition AND found.key = wanted.key"
    " AND (wanted.value IS NULL OR found.value = wanted.value) FOR UPDATE OF found)"
    " DELETE FROM graveler_kv AS gone USING going WHERE gone.partition = going.partition AND gone.key = going.key"
    " AND (SELECT count(*) FROM unchanged) = (SELECT count(*) FROM expected)"
    " AND (SELECT count(*) FROM going) = (SELECT count(*) FROM wanted)"
)
"""Delete rows if all predicates hold.

Both SELECTs lock the rows that they find and check the newest committed values. The locks are held until the deletion
is committed.
"""
LOAD: Final = (
    "INSERT INTO graveler_kv(partition, key, value) SELECT %b::bytea, * FROM unnest(%b::bytea[], %b::bytea[])"
    " ON CONFLICT(partition, key) DO UPDATE SET value=excluded.value"
)
SCAN_FROM: Final = (
    "SELECT key, value FROM ("
    " SELECT key, value, sum(octet_length(value)) OVER (ORDER BY key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    " AS before FROM (SELECT key, value FROM graveler_kv WHERE partition=%b AND key>=%b ORDER BY key LIMIT %s) AS page"
    ") AS sized WHERE before IS NULL OR before < %s ORDER BY key"
)
"""Read a page. Parameters: partition, first key, maximum number of rows, size of values after which the page ends."""
SCAN: Final = (
    "SELECT key, value FROM ("
    " SELECT key, value, sum(octet_length(value)) OVER (ORDER BY key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    " AS before"
    " FROM (SELECT key, value FROM graveler_kv WHERE partition=%b AND key>=%b AND key<%b ORDER BY key LIMIT %s) AS page"
    ") AS sized WHERE before IS NULL OR before < %s ORDER BY key"
)
DROP: Final = (
    "DELETE FROM graveler_kv WHERE partition=%b AND key IN"
    " (SELECT key FROM graveler_kv WHERE partition=%b ORDER BY key LIMIT %s)"
)
ANY: Final = "SELECT 1 FROM graveler_kv WHERE partition=%b LIMIT 1"
SPLIT: Final = (  # no min(key): PostgreSQL has no min(bytea) before version 18
    "SELECT DISTINCT ON (piece) key"
    " FROM (SELECT key, ntile(%s) OVER (ORDER BY key) AS piece FROM graveler_kv WHERE partition=%b)"
    " AS tiled ORDER BY piece, key OFFSET 1"
)
DESCRIBE: Final = (
    "SELECT current_setting('server_version'), current_setting('synchronous_commit'), current_setting('fsync'),"
    " current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('max_connections')::int,"
    " (SELECT count(*) FROM pg_stat_activity)::int, (SELECT max(schema_version) FROM graveler_meta),"
    " pg_total_relation_size('graveler_kv')::bigint, extract(epoch FROM clock_timestamp())::float8"
)
