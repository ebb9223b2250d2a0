"""Store in a collection of MongoDB, for many processes on many hosts.

Each method for one row is one command on one document, which the primary evaluates and executes in one step. The module
`graveler_core.kv.backends.mongodb.client` describes the guarantees of its concerns.

The `_id` of a document is a string: the bytes of the name as the characters U+0000 to U+00FF. MongoDB compares strings
by the bytes of their UTF-8 form, which have the same order. It compares binary values by their length first.

Bulk writes are commands with many updates, so `set_many` is not atomic. `delete_together` is refused, as the interface
allows: a transaction of MongoDB does not see a write to a row that it only reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graveler_core.errors import GravelerError
from graveler_core.kv.backends.growing_pages import growing_page
from graveler_core.kv.backends.key_space import KeySpace
from graveler_core.kv.backends.mongodb.client import Command, MongoDBClient
from graveler_core.kv.backends.mongodb.description import described
from graveler_core.kv.backends.mongodb.mark import prepare
from graveler_core.kv.backends.mongodb.url import parse_url
from graveler_core.kv.backends.single_rows import BatchLimits, SingleRowStore
from graveler_core.kv.limits import check_key, check_value
from graveler_core.kv.paging import CHUNK_ROWS, PAGE_BYTES, KeyBounds, RowPage
from graveler_core.kv.store import EXISTS, Description, Item, Predicate, Store, Stored, predicate_failed

_PLACES: Final = 100
"""Number of keys of a read. This number of the largest rows fits into an answer, which has at most 16 MiB."""
_ROWS: Final = 1_000
"""Maximum number of rows of a command that writes."""
_BYTES: Final = 4 * 1_024 * 1_024
"""Maximum size of the rows of a command that writes."""
_THREADS: Final = 4
"""Number of commands that a bulk load sends at once: the members write them to their journals together."""
_KEYS: Final = KeySpace()


def open_mongodb(url: str) -> Store:
    """Open the collection at `mongodb://host,host/database?replicaSet=name&collection=name`, or create it.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: The servers cannot be reached or are not a replica set, or the collection is not that of a graveler
            store.
        PermissionDenied: User or password are wrong, or the user has no access to the collection.
    """
    client = MongoDBClient(parse_url(url))
    try:
        prepare(client)
    except GravelerError:
        client.close()
        raise
    return MongoDBStore(client)


class MongoDBStore(SingleRowStore):
    """Store in a collection."""

    def __init__(self, client: MongoDBClient) -> None:
        self._client = client

    def close(self) -> None:
        self._client.close()

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        check_key(partition, key)
        documents = self._found({"_id": _id(partition, key)}, limit=1)
        return _stored(documents[0]) if documents else None

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        check_key(partition, key)
        check_value(key, value)
        self._client.write(self._update(_put(partition, key, value)))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        check_key(partition, key)
        check_value(key, value)
        if predicate is None:
            document = {"_id": _id(partition, key), "v": value}
            done = self._client.write(self._client.command("insert", documents=[document]))
        else:
            change = {"q": _condition(partition, key, predicate), "u": {"$set": {"v": value}}}
            done = self._client.write(self._update(change))
        if not done:
            raise predicate_failed(partition, key, predicate)
        return Predicate(value)

    def delete(self, partition: bytes, key: bytes) -> None:
        check_key(partition, key)
        self._client.write(self._delete({"_id": _id(partition, key)}, limit=1))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        check_key(partition, key)
        if not self._client.write(self._delete(_condition(partition, key, predicate), limit=1)):
            raise predicate_failed(partition, key, predicate)

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        names = [_id(partition, key) for partition, key in keys]
        distinct = list(dict.fromkeys(names))
        found: dict[str, Stored] = {}
        for offset in range(0, len(distinct), _PLACES):
            documents = self._found({"_id": {"$in": distinct[offset : offset + _PLACES]}}, limit=_PLACES)
            found.update((document["_id"], _stored(document)) for document in documents)
        return [found.get(name) for name in names]

    def drop_partition(self, partition: bytes) -> int:
        dropped = 0
        while keys := self._keys_from(partition, b"", CHUNK_ROWS):
            rows = _between(partition, KeyBounds(b"", keys[-1] + b"\x00"))
            dropped += self._client.write(self._delete(rows, limit=0))
        return dropped

    def about_rows(self, partition: bytes) -> int:
        query = _between(partition, KeyBounds(b"", None))
        return int(self._client.read(self._client.command("count", query=query))["n"])

    def describe(self) -> Description:
        return described(self._client)

    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        return growing_page(lambda wanted, limit: self._rows(partition, wanted, limit), keys, rows)

    def _rows(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        """Read at most `rows` rows by one command. An answer with fewer rows is the last, or as large as it can be."""
        documents = self._found(_between(partition, keys), sort={"_id": 1}, limit=rows)
        values = [document["v"] for document in documents]
        complete = len(documents) < rows and sum(map(len, values)) < PAGE_BYTES
        return RowPage([_key(partition, document["_id"]) for document in documents], values, last=complete)

    def _limits(self) -> BatchLimits:
        return BatchLimits(_ROWS, _BYTES, threads=_THREADS)

    def _put_all(self, rows: Sequence[Item]) -> None:
        self._client.update_all([_put(*row) for row in rows])

    def _keys_from(self, partition: bytes, lower: bytes, rows: int) -> list[bytes]:
        # 5,000 of the longest keys fit into an answer.
        query = _between(partition, KeyBounds(lower, None))
        documents = self._found(query, sort={"_id": 1}, projection={"_id": 1}, limit=rows)
        return [_key(partition, document["_id"]) for document in documents]

    def _found(self, query: dict[str, Any], *, limit: int, **options: Any) -> list[dict[str, Any]]:
        """Return the documents of a query. They come in one answer, because a cursor confirms nothing later."""
        batch = {"limit": limit, "batchSize": limit, "singleBatch": True}
        answer = self._client.read(self._client.command("find", filter=query, **options, **batch))
        documents: list[dict[str, Any]] = answer["cursor"]["firstBatch"]
        return documents

    def _update(self, change: dict[str, Any]) -> Command:
        return self._client.command("update", updates=[change])

    def _delete(self, query: dict[str, Any], *, limit: int) -> Command:
        return self._client.command("delete", deletes=[{"q": query, "limit": limit}])


def _id(partition: bytes, key: bytes) -> str:
    return _KEYS.name(partition, key).decode("latin-1")


def _key(partition: bytes, name: str) -> bytes:
    return _KEYS.key(partition, name.encode("latin-1"))


def _between(partition: bytes, keys: KeyBounds) -> dict[str, Any]:
    bounds = _KEYS.bounds(partition, keys)
    return {"_id": {"$gte": bounds.lower.decode("latin-1"), "$lt": (bounds.upper or b"").decode("latin-1")}}


def _condition(partition: bytes, key: bytes, predicate: Predicate) -> dict[str, Any]:
    name = _id(partition, key)
    return {"_id": name} if predicate == EXISTS else {"_id": name, "v": predicate.token}


def _put(partition: bytes, key: bytes, value: bytes) -> dict[str, Any]:
    name = _id(partition, key)
    return {"q": {"_id": name}, "u": {"_id": name, "v": value}, "upsert": True}


def _stored(document: dict[str, Any]) -> Stored:
    return Stored(document["v"], Predicate(document["v"]))
