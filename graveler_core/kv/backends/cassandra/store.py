"""Store in a table of Apache Cassandra, for many processes on many hosts.

A partition of the store is one of the table, and a key is a clustering column, which has the order of unsigned bytes.
Every write is conditional, because Cassandra does not order other writes with conditional ones. A write without a
condition has one that always holds: the column `never` is null in all rows. The module
`graveler_core.kv.backends.cassandra.client` describes how the replicas decide.

Bulk writes are conditional batches, each for rows of one partition and atomic, so `set_many` as a whole is not atomic.
`delete_together` is refused, because no batch decides about two partitions.

A deleted row stays as a tombstone for a while, and a read that passes too many tombstones fails. So a partition is
dropped in the order of its keys: no read passes what the same call has deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graveler_core.errors import GravelerError
from graveler_core.kv.backends.cassandra.client import CassandraClient, Request
from graveler_core.kv.backends.cassandra.description import described
from graveler_core.kv.backends.cassandra.mark import prepare
from graveler_core.kv.backends.cassandra.url import parse_url
from graveler_core.kv.backends.growing_pages import growing_page
from graveler_core.kv.backends.single_rows import BatchLimits, SingleRowStore
from graveler_core.kv.limits import check_key, check_value
from graveler_core.kv.paging import KeyBounds, RowPage
from graveler_core.kv.store import EXISTS, Description, Item, Predicate, Store, Stored, predicate_failed

_PLACES: Final = 100
"""Number of keys of a read. This number of the largest rows fits into an answer, which has at most 16 MiB."""
_ROWS: Final = 100
"""Maximum number of rows of a batch."""
_BYTES: Final = 40 * 1_024
"""Maximum size of the rows of a batch. Cassandra refuses batches of more than 50 KiB by default."""
_GET: Final = "SELECT v FROM {table} WHERE p=? AND k=?"
_GET_MANY: Final = "SELECT k, v FROM {table} WHERE p=? AND k IN ?"
_SCAN_FROM: Final = "SELECT k, v FROM {table} WHERE p=? AND k>=? LIMIT ?"
_SCAN: Final = "SELECT k, v FROM {table} WHERE p=? AND k>=? AND k<? LIMIT ?"
_KEYS_FROM: Final = "SELECT k FROM {table} WHERE p=? AND k>=? LIMIT ?"
_COUNT: Final = "SELECT COUNT(*) FROM {table} WHERE p=?"
_INSERT: Final = "INSERT INTO {table} (p, k, v) VALUES (?, ?, ?) IF NOT EXISTS"
_UPDATE: Final = "UPDATE {table} SET v=? WHERE p=? AND k=? "
_DELETE: Final = "DELETE FROM {table} WHERE p=? AND k=? "
_ALWAYS: Final = "IF never=null"


def open_cassandra(url: str) -> Store:
    """Open the table at `cassandra://host,host/keyspace?table=name`, or create it. The keyspace must exist.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: The cluster cannot be reached, the keyspace does not exist, or the table is not that of a graveler
            store.
        PermissionDenied: User or password are wrong, or the user has no access to the table.
    """
    client = CassandraClient(parse_url(url))
    try:
        prepare(client)
    except GravelerError:
        client.close()
        raise
    return CassandraStore(client)


class CassandraStore(SingleRowStore):
    """Store in a table."""

    def __init__(self, client: CassandraClient) -> None:
        self._client = client

    def close(self) -> None:
        self._client.close()

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        check_key(partition, key)
        rows = self._client.read(_GET, partition, key)
        return _stored(rows[0][0]) if rows else None

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        check_key(partition, key)
        check_value(key, value)
        self._client.write(partition, self._put(partition, key, value))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        check_key(partition, key)
        check_value(key, value)
        if predicate is None:
            change: Request = _INSERT, (partition, key, value)
        else:
            condition, expected = _condition(predicate)
            change = _UPDATE + condition, (value, partition, key, *expected)
        if not self._client.write(partition, change):
            raise predicate_failed(partition, key, predicate)
        return Predicate(value)

    def delete(self, partition: bytes, key: bytes) -> None:
        check_key(partition, key)
        self._client.write(partition, (_DELETE + "IF EXISTS", (partition, key)))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        check_key(partition, key)
        condition, expected = _condition(predicate)
        if not self._client.write(partition, (_DELETE + condition, (partition, key, *expected))):
            raise predicate_failed(partition, key, predicate)

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        wanted: dict[bytes, list[bytes]] = {}
        for partition, key in dict.fromkeys(keys):
            wanted.setdefault(partition, []).append(key)
        places = [
            (partition, of_partition[offset : offset + _PLACES])
            for partition, of_partition in wanted.items()
            for offset in range(0, len(of_partition), _PLACES)
        ]
        answers = self._client.read_each([(_GET_MANY, place) for place in places])
        found = {
            (partition, key): _stored(value)
            for (partition, _), rows in zip(places, answers, strict=True)
            for key, value in rows
        }
        return [found.get(place) for place in keys]

    def drop_partition(self, partition: bytes) -> int:
        dropped = 0
        for keys in self._key_pages(partition):
            for offset in range(0, len(keys), _ROWS):
                batch = keys[offset : offset + _ROWS]
                # A row that another process has dropped must not make the batch fail.
                self._client.write(partition, *((_DELETE + _ALWAYS, (partition, key)) for key in batch))
                dropped += len(batch)
        return dropped

    def about_rows(self, partition: bytes) -> int:
        return int(self._client.read(_COUNT, partition)[0][0])

    def describe(self) -> Description:
        return described(self._client)

    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        return growing_page(lambda wanted, limit: self._rows(partition, wanted, limit), keys, rows)

    def _rows(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        """Read at most `rows` rows by one statement."""
        if keys.upper is None:
            found = self._client.read(_SCAN_FROM, partition, keys.lower, rows)
        else:
            found = self._client.read(_SCAN, partition, keys.lower, keys.upper, rows)
        values = [value for _, value in found]
        return RowPage([key for key, _ in found], values, last=len(found) < rows)

    def _keys_from(self, partition: bytes, lower: bytes, rows: int) -> list[bytes]:
        return [key for (key,) in self._client.read(_KEYS_FROM, partition, lower, rows)]

    def _put(self, partition: bytes, key: bytes, value: bytes) -> Request:
        return _UPDATE + _ALWAYS, (value, partition, key)

    def _limits(self) -> BatchLimits:
        return BatchLimits(_ROWS, _BYTES, one_partition=True)

    def _put_all(self, rows: Sequence[Item]) -> None:
        self._client.write(rows[0][0], *(self._put(*row) for row in rows))


def _condition(predicate: Predicate) -> tuple[str, tuple[Any, ...]]:
    return ("IF EXISTS", ()) if predicate == EXISTS else ("IF v=?", (predicate.token,))


def _stored(value: bytes) -> Stored:
    return Stored(value, Predicate(value))
