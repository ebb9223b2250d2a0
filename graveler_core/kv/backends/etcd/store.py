"""Store in an etcd cluster, for many processes on many hosts. It is for metadata of moderate size: 8 GiB at most.

Each method for one row is one request, and each conditional method one transaction, which the cluster evaluates and
executes in one step. Reads are linearizable. A write is acknowledged when most members have written it to disk.

A predicate is the value that was read, not its revision. Revisions begin again at an older number when a cluster is
restored from a snapshot, so that a predicate from before could hold for another value.

A transaction has at most 128 operations, and a request about 1.5 MiB. `set_many` sends as many transactions as it
needs, so it is not atomic. `delete_together` is one transaction. A larger call is refused, as the interface allows.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from graveler_core.errors import GravelerError
from graveler_core.kv.backends.etcd.client import EtcdClient, parse_url
from graveler_core.kv.backends.etcd.description import described
from graveler_core.kv.backends.etcd.mark import prepare
from graveler_core.kv.backends.growing_pages import growing_page
from graveler_core.kv.backends.paged import PagedStore
from graveler_core.kv.backends.parallel import in_parallel
from graveler_core.kv.limits import check_key, check_value
from graveler_core.kv.paging import CHUNK_ROWS, PAGE_ROWS, KeyBounds, RowPage, split_rows
from graveler_core.kv.store import EXISTS, Description, Expected, Item, Predicate, Store, Stored, predicate_failed

_OPERATIONS: Final = 128
"""Maximum number of operations, and of conditions, of a transaction."""
_BYTES: Final = 1024 * 1024
"""Maximum size of the keys and values of a transaction of several rows."""
_THREADS: Final = 8
"""Number of transactions that a bulk load sends at once: the cluster writes them to disk together."""


def open_etcd(url: str) -> Store:
    """Open the cluster at `etcd://host:port,host:port/prefix`. All keys of the store begin with the prefix.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: The cluster cannot be reached, or the keys with the prefix are not those of a graveler store.
        PermissionDenied: User or password are wrong, or the user has no access to the prefix.
    """
    client = EtcdClient(parse_url(url))
    try:
        prepare(client)
    except GravelerError:
        client.close()
        raise
    return EtcdStore(client)


class EtcdStore(PagedStore):
    """Store in etcd. `set_many` is not atomic."""

    def __init__(self, client: EtcdClient) -> None:
        self._client = client
        self._keys = client.target.key_space

    def close(self) -> None:
        self._client.close()

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        check_key(partition, key)
        return _stored(self._client.read("kv/range", key=self._name(partition, key)))

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        check_key(partition, key)
        check_value(key, value)
        self._client.write("kv/put", key=self._name(partition, key), value=_text(value))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        check_key(partition, key)
        check_value(key, value)
        put = {"request_put": {"key": self._name(partition, key), "value": _text(value)}}
        if not self._transact([self._condition(partition, key, predicate)], [put]):
            raise predicate_failed(partition, key, predicate)
        return Predicate(value)

    def delete(self, partition: bytes, key: bytes) -> None:
        check_key(partition, key)
        self._client.write("kv/deleterange", key=self._name(partition, key))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        check_key(partition, key)
        self.delete_together([(partition, key, predicate)], [])

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        found: list[Stored | None] = []
        for offset in range(0, len(keys), _OPERATIONS):
            chunk = keys[offset : offset + _OPERATIONS]
            reads = [{"request_range": {"key": self._name(*place)}} for place in chunk]
            answer = self._client.read("kv/txn", success=reads)
            found += [_stored(each["response_range"]) for each in answer["responses"]]
        return found

    def set_many(self, items: Sequence[Item]) -> None:
        last = {(partition, key): value for partition, key, value in items}
        for puts in self._puts((partition, key, value) for (partition, key), value in last.items()):
            self._transact([], puts)

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        partition, key, value = swapped
        rows = [*items, swapped]
        expected = (predicate.token or b"") if predicate else b""
        size = len(expected) + sum(len(part) for row in rows for part in row)
        if len(rows) > _OPERATIONS or size > _BYTES:
            return super().write_and_swap(items, swapped, predicate)
        [puts] = self._puts(rows)
        if not self._transact([self._condition(partition, key, predicate)], puts):
            raise predicate_failed(partition, key, predicate)
        return Predicate(value)

    def sets_atomically(self) -> bool:
        return False

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        expected = [*rows, *unchanged]
        size = sum(len(partition) + len(key) + len(predicate.token or b"") for partition, key, predicate in expected)
        conditions = [self._condition(*row) for row in expected]
        deletions = [{"request_delete_range": {"key": self._name(partition, key)}} for partition, key, _ in rows]
        allowed = len(expected) <= _OPERATIONS and size <= _BYTES
        if not allowed or not self._transact(conditions, deletions):
            raise predicate_failed(*rows[0])

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        def rows() -> Iterator[Item]:
            for offset in range(0, len(keys), CHUNK_ROWS):
                chunk = slice(offset, offset + CHUNK_ROWS)
                for key, value in zip(keys[chunk].to_pylist(), values[chunk].to_pylist(), strict=True):
                    yield partition, key, value

        in_parallel(lambda puts: self._transact([], puts), self._puts(rows()), _THREADS)

    def drop_partition(self, partition: bytes) -> int:
        dropped = 0
        while keys := self._keys_from(partition, b"", CHUNK_ROWS):
            bounds = self._keys.bounds(partition, KeyBounds(b"", keys[-1] + b"\x00"))
            answer = self._client.write("kv/deleterange", key=_text(bounds.lower), range_end=_text(bounds.upper or b""))
            dropped += int(answer.get("deleted", 0))
        return dropped

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        keys: list[bytes] = []
        while page := self._keys_from(partition, keys[-1] + b"\x00" if keys else b"", PAGE_ROWS):
            keys += page
        return [keys[row] for row in split_rows(len(keys), pieces)]

    def about_rows(self, partition: bytes) -> int:
        return int(self._range(partition, KeyBounds(b"", None), count_only=True).get("count", 0))

    def describe(self) -> Description:
        return described(self._client)

    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        return growing_page(lambda wanted, limit: self._rows(partition, wanted, limit), keys, rows)

    def _rows(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        """Read at most `rows` rows by one request. The cluster does not limit an answer to a size."""
        answer = self._range(partition, keys, limit=rows)
        found = answer.get("kvs", ())
        return RowPage(
            [self._keys.key(partition, b64decode(row["key"])) for row in found],
            [b64decode(row.get("value", "")) for row in found],
            last=not answer.get("more"),
        )

    def _keys_from(self, partition: bytes, lower: bytes, rows: int) -> list[bytes]:
        """Return at most `rows` keys of a partition, without their values."""
        answer = self._range(partition, KeyBounds(lower, None), limit=rows, keys_only=True)
        return [self._keys.key(partition, b64decode(row["key"])) for row in answer.get("kvs", ())]

    def _range(self, partition: bytes, keys: KeyBounds, **options: Any) -> dict[str, Any]:
        bounds = self._keys.bounds(partition, keys)
        return self._client.read("kv/range", key=_text(bounds.lower), range_end=_text(bounds.upper or b""), **options)

    def _transact(self, conditions: list[dict[str, Any]], operations: list[dict[str, Any]]) -> bool:
        """Execute the operations in one step if all conditions hold. Return true if they held."""
        answer = self._client.write("kv/txn", compare=conditions, success=operations)
        return bool(answer.get("succeeded"))

    def _puts(self, items: Iterable[Item]) -> Iterator[list[dict[str, Any]]]:
        """Yield the puts of distinct keys for one transaction after the other."""
        puts: list[dict[str, Any]] = []
        size = 0
        for partition, key, value in items:
            more = len(partition) + len(key) + len(value)
            if puts and (len(puts) == _OPERATIONS or size + more > _BYTES):
                yield puts
                puts, size = [], 0
            puts.append({"request_put": {"key": self._name(partition, key), "value": _text(value)}})
            size += more
        if puts:
            yield puts

    def _condition(self, partition: bytes, key: bytes, predicate: Predicate | None) -> dict[str, Any]:
        name = self._name(partition, key)
        if predicate is None or predicate == EXISTS:
            result = "EQUAL" if predicate is None else "GREATER"
            return {"key": name, "target": "CREATE", "result": result, "create_revision": "0"}
        return {"key": name, "target": "VALUE", "result": "EQUAL", "value": _text(predicate.token or b"")}

    def _name(self, partition: bytes, key: bytes) -> str:
        return _text(self._keys.name(partition, key))


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _stored(answer: dict[str, Any]) -> Stored | None:
    rows = answer.get("kvs")
    if not rows:
        return None
    value = b64decode(rows[0].get("value", ""))
    return Stored(value, Predicate(value))
