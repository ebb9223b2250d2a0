"""SQL statements of the store in MySQL and MariaDB.

`partition` and `key` are keywords, so all columns are quoted. Statements for many rows end in a place for as many
parameters as there are rows: `INSERT.format(placeholders(3, rows))`.
"""

from __future__ import annotations

from typing import Final

from graveler_core.kv.backends.sql import RowStatements

TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS graveler_kv("
    " `partition` VARBINARY(512) NOT NULL, `key` VARBINARY(1024) NOT NULL, `value` MEDIUMBLOB NOT NULL,"
    " PRIMARY KEY(`partition`, `key`)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
    "CREATE TABLE IF NOT EXISTS graveler_meta(schema_version INTEGER NOT NULL PRIMARY KEY) ENGINE=InnoDB",
)
ROWS: Final = RowStatements(
    get="SELECT `value` FROM graveler_kv WHERE `partition`=%s AND `key`=%s",
    set="INSERT INTO graveler_kv(`partition`, `key`, `value`) VALUES(%s,%s,%s)"
    " ON DUPLICATE KEY UPDATE `value`=VALUES(`value`)",
    create="INSERT INTO graveler_kv(`partition`, `key`, `value`) VALUES(%s,%s,%s)",
    replace="UPDATE graveler_kv SET `value`=%s WHERE `partition`=%s AND `key`=%s",
    swap="UPDATE graveler_kv SET `value`=%s WHERE `partition`=%s AND `key`=%s AND `value`=%s",
    delete="DELETE FROM graveler_kv WHERE `partition`=%s AND `key`=%s",
    delete_if="DELETE FROM graveler_kv WHERE `partition`=%s AND `key`=%s AND `value`=%s",
    count="SELECT count(*) FROM graveler_kv WHERE `partition`=%s",
)
"""`create` fails if the key exists. INSERT IGNORE would also hide other errors."""
GET_MANY: Final = "SELECT `partition`, `key`, `value` FROM graveler_kv WHERE (`partition`, `key`) IN ({})"
SET_MANY: Final = (
    "INSERT INTO graveler_kv(`partition`, `key`, `value`) VALUES {} ON DUPLICATE KEY UPDATE `value`=VALUES(`value`)"
)
LOCK: Final = (
    "SELECT `partition`, `key`, `value` FROM graveler_kv WHERE (`partition`, `key`) IN ({})"
    " ORDER BY `partition`, `key` FOR UPDATE"
)
"""Lock rows and return their newest committed values. MariaDB has no FOR SHARE, and few rows are locked."""
DELETE_MANY: Final = "DELETE FROM graveler_kv WHERE (`partition`, `key`) IN ({})"
SCAN_FROM: Final = "SELECT `key`, `value` FROM graveler_kv WHERE `partition`=%s AND `key`>=%s ORDER BY `key` LIMIT %s"
SCAN: Final = (
    "SELECT `key`, `value` FROM graveler_kv WHERE `partition`=%s AND `key`>=%s AND `key`<%s ORDER BY `key` LIMIT %s"
)
DROP: Final = "DELETE FROM graveler_kv WHERE `partition`=%s ORDER BY `key` LIMIT %s"
ANY: Final = "SELECT 1 FROM graveler_kv WHERE `partition`=%s LIMIT 1"
STEP: Final = "SELECT `key` FROM graveler_kv WHERE `partition`=%s AND `key`>=%s ORDER BY `key` LIMIT 1 OFFSET %s"
SETTINGS: Final = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('binlog_format', 'innodb_doublewrite',"
    " 'innodb_flush_log_at_trx_commit', 'log_bin', 'max_allowed_packet', 'max_connections', 'read_only',"
    " 'sync_binlog', 'version', 'version_comment', 'wsrep_on')"
)
DESCRIBE: Final = (
    "SELECT (SELECT max(schema_version) FROM graveler_meta),"
    " (SELECT sum(data_length + index_length) FROM information_schema.tables"
    " WHERE table_schema=database() AND table_name='graveler_kv'),"
    " (SELECT count(*) FROM information_schema.processlist), unix_timestamp(now(6))"
)


def placeholders(columns: int, rows: int) -> str:
    """Return a place for each parameter of some rows: `(%s,%s),(%s,%s)`."""
    row = f"({','.join(['%s'] * columns)})"
    return ",".join([row] * rows)
