"""The SQL of the PostgreSQL store. Parameters are bound in binary (%b) wherever they are bytes."""

from __future__ import annotations

from typing import Final

GET: Final = "SELECT value FROM graveler_kv WHERE partition=%b AND key=%b"
SET: Final = (
    "INSERT INTO graveler_kv(partition, key, value) VALUES(%b,%b,%b)"
    " ON CONFLICT(partition, key) DO UPDATE SET value=excluded.value"
)
CREATE: Final = "INSERT INTO graveler_kv(partition, key, value) VALUES(%b,%b,%b) ON CONFLICT(partition, key) DO NOTHING"
REPLACE: Final = "UPDATE graveler_kv SET value=%b WHERE partition=%b AND key=%b"
SWAP: Final = "UPDATE graveler_kv SET value=%b WHERE partition=%b AND key=%b AND value=%b"
DELETE: Final = "DELETE FROM graveler_kv WHERE partition=%b AND key=%b"
DELETE_IF: Final = "DELETE FROM graveler_kv WHERE partition=%b AND key=%b AND value=%b"
GET_MANY: Final = (
    "SELECT wanted.place, found.value"
    " FROM unnest(%b::bytea[], %b::bytea[]) WITH ORDINALITY AS wanted(partition, key, place)"
    " JOIN graveler_kv AS found ON found.partition = wanted.partition AND found.key = wanted.key"
)
SET_MANY: Final = (
    "INSERT INTO graveler_kv(partition, key, value) SELECT * FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[])"
    " ON CONFLICT(partition, key) DO UPDATE SET value=excluded.value"
)
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
"""Both selects lock what they find and judge its newest committed state; their locks last until the deletion stands."""
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
"""A page of so many rows at most, cut behind the row that reaches so many bytes of values."""
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
COUNT: Final = "SELECT count(*) FROM graveler_kv WHERE partition=%b"
"""Of the index alone, as far as the table was vacuumed. The planner's statistics know no young partition."""
SPLIT: Final = (
    "SELECT min(key) FROM (SELECT key, ntile(%s) OVER (ORDER BY key) AS piece FROM graveler_kv WHERE partition=%b)"
    " AS tiled GROUP BY piece ORDER BY piece OFFSET 1"
)
DESCRIBE: Final = (
    "SELECT current_setting('server_version'), current_setting('synchronous_commit'), current_setting('fsync'),"
    " current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('max_connections')::int,"
    " (SELECT count(*) FROM pg_stat_activity)::int, (SELECT max(schema_version) FROM graveler_meta),"
    " pg_total_relation_size('graveler_kv')::bigint, extract(epoch FROM clock_timestamp())::float8"
)
