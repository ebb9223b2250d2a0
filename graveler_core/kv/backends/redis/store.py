"""Store in a Redis or Valkey server, for many processes on many hosts.

Each method is one command or one script, which the server runs as one atomic step after those that came before. So
the operations of one server are linearizable. Replication is asynchronous: a replica that is promoted may lack
acknowledged writes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
from redis.exceptions import NoScriptError, ResponseError

from graveler_core.errors import GravelerError, Kind, Unavailable
from graveler_core.kv.backends.paged import PagedStore
from graveler_core.kv.backends.redis import scripts
from graveler_core.kv.backends.redis.connections import RedisConnections, RedisTarget, parse_url
from graveler_core.kv.backends.redis.description import described, require, settings
from graveler_core.kv.backends.redis.errors import mapped
from graveler_core.kv.backends.redis.scripts import Script
from graveler_core.kv.limits import check_key, check_value
from graveler_core.kv.paging import CHUNK_ROWS, PAGE_BYTES, KeyBounds, RowPage
from graveler_core.kv.schema_versions import pending
from graveler_core.kv.store import EXISTS, Description, Expected, Item, Predicate, Store, Stored, predicate_failed

_PLACES: Final = 500
"""Number of keys that one script reads."""
_VERSION: Final = b"1"


def open_redis(url: str) -> Store:
    """Open the namespace at `redis://user:password@host:port/0?namespace=name`. Create it if it does not exist.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: The server cannot be reached, is a replica, or has settings that would lose acknowledged writes; or
            a newer version of the library created the namespace.
    """
    target = parse_url(url)
    connections = RedisConnections(target)
    store = RedisStore(target, connections)
    try:
        store.prepare(durable=target.durable)
    except GravelerError:
        connections.close()
        raise
    return store


class RedisStore(PagedStore):
    """Store in Redis. It overrides all methods except `turn` and `persists`, and `set_many` is atomic."""

    def __init__(self, target: RedisTarget, connections: RedisConnections) -> None:
        self._shown = target.shown
        self._namespace = target.namespace
        self._connections = connections

    def prepare(self, *, durable: bool) -> None:
        """Check the server and the namespace, and create the namespace if it does not exist.

        Args:
            durable: True to refuse a server whose settings would lose acknowledged writes.
        """
        if durable:
            require(settings(self._ask), self._shown)
        name = b"{%b:}version" % self._namespace
        self._command("SET", name, _VERSION, "NX", writing=True)
        found = self._command("GET", name)
        if not found or not found.isdigit():
            raise Unavailable(
                f"{self._shown} is not a graveler store: its version is {found!r}",
                kind=Kind.NotAGravelerStore,
                store=self._shown,
            )
        pending(int(found), (), self._shown)

    def close(self) -> None:
        self._connections.close()

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        check_key(partition, key)
        value = self._command("HGET", self._names(partition)[0], key)
        return None if value is None else Stored(value, Predicate(value))

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        check_key(partition, key)
        check_value(key, value)
        self.set_many([(partition, key, value)])

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        check_key(partition, key)
        check_value(key, value)
        if not self._run(scripts.SET_IF, [partition], [key, value, *_condition(predicate)]):
            raise predicate_failed(partition, key, predicate)
        return Predicate(value)

    def delete(self, partition: bytes, key: bytes) -> None:
        check_key(partition, key)
        self._delete([(partition, key, EXISTS)], [])

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        check_key(partition, key)
        if not self._delete([(partition, key, predicate)], []):
            raise predicate_failed(partition, key, predicate)

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        found: list[Stored | None] = []
        for offset in range(0, len(keys), _PLACES):
            part = keys[offset : offset + _PLACES]
            numbers = _numbered(partition for partition, _ in part)
            arguments = [word for partition, key in part for word in (numbers[partition], key)]
            values = self._run(scripts.GET, list(numbers), arguments)
            found += [None if value is None else Stored(value, Predicate(value)) for value in values]
        return found

    def set_many(self, items: Sequence[Item]) -> None:
        self._run(scripts.SET, *_words(items))

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        partition, key, value = swapped
        partitions, words = _words([swapped, *items])
        if not self._run(scripts.WRITE_AND_SWAP, partitions, [*_condition(predicate), *words]):
            raise predicate_failed(partition, key, predicate)
        return Predicate(value)

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        if not self._delete(rows, unchanged):
            raise predicate_failed(*rows[0])

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        part: list[Item] = []
        size = 0
        for key, value in zip(keys.to_pylist(), values.to_pylist(), strict=True):
            part.append((partition, key, value))
            size += len(value)
            if size >= PAGE_BYTES or len(part) == CHUNK_ROWS:
                self.set_many(part)
                part, size = [], 0
        if part:
            self.set_many(part)

    def drop_partition(self, partition: bytes) -> int:
        return int(self._run(scripts.DROP, [partition], []))

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        return list(self._run(scripts.SPLIT, [partition], [pieces]))

    def about_rows(self, partition: bytes) -> int:
        return int(self._command("HLEN", self._names(partition)[0]))

    def describe(self) -> Description:
        return {**described(self._ask, time.time), "namespace": self._namespace.decode()}

    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        upper = b"+" if keys.upper is None else b"(" + keys.upper
        last, found, values = self._run(scripts.PAGE, [partition], [b"[" + keys.lower, upper, rows])
        return RowPage(found, values, last=bool(last))

    def _delete(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> bool:
        expected = (*rows, *unchanged)
        numbers = _numbered(partition for partition, _, _ in expected)
        arguments: list[Any] = [len(rows)]
        for partition, key, predicate in expected:
            arguments += [numbers[partition], key, *_condition(predicate)]
        return bool(self._run(scripts.DELETE, list(numbers), arguments))

    def _run(self, script: Script, partitions: Sequence[bytes], arguments: Sequence[Any]) -> Any:
        names = [name for partition in partitions for name in self._names(partition)]
        rest = (len(names), *names, *arguments)
        try:
            return self._command("EVALSHA", script.digest, *rest, writing=script.writes)
        except NoScriptError:
            return self._command("EVAL", script.text, *rest, writing=script.writes)

    def _command(self, *command: Any, writing: bool = False) -> Any:
        """Send a command, and convert errors. A read is repeated once, on another connection."""
        try:
            try:
                return self._connections.ask(*command, writing=writing)
            except Unavailable:
                if writing:
                    raise
                return self._connections.ask(*command)
        except NoScriptError:
            raise
        except ResponseError as error:
            raise mapped(error, self._shown, writing=writing) from error

    def _ask(self, *command: Any) -> Any:
        return self._connections.ask(*command)

    def _names(self, partition: bytes) -> tuple[bytes, bytes]:
        """Return the names of the hash and the sorted set of a partition. A cluster would keep both on one node."""
        tag = b"{%b:%b}" % (self._namespace, partition)
        return tag + b"values", tag + b"keys"


def _condition(predicate: Predicate | None) -> tuple[bytes, bytes]:
    if predicate is None:
        return scripts.ABSENT, b""
    if predicate.token is None:
        return scripts.PRESENT, b""
    return scripts.UNCHANGED, predicate.token


def _words(items: Sequence[Item]) -> tuple[list[bytes], list[Any]]:
    """Return the distinct partitions of rows, and the arguments of a script that writes the rows."""
    numbers = _numbered(partition for partition, _, _ in items)
    return list(numbers), [word for partition, key, value in items for word in (numbers[partition], key, value)]


def _numbered(partitions: Any) -> dict[bytes, int]:
    """Return the numbers of distinct partitions, from 0, in the order in which they come."""
    return {partition: number for number, partition in enumerate(dict.fromkeys(partitions))}
