"""Store in a table of Amazon DynamoDB, for many processes on many hosts.

Every method for one row is one request with a condition, which the service evaluates and executes in one step. All
reads are strongly consistent. A table that is replicated to other regions keeps these promises only within one region,
unless it has multi-region strong consistency.

Bulk writes are sent in batches of 25 items, not as transactions, because a transaction costs twice as much. So
`set_many` is not atomic. `delete_together` is one transaction, of at most 100 items. A larger call is refused, as the
interface allows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

import pyarrow as pa

from graveler_core.errors import GravelerError, PredicateFailed
from graveler_core.kv.backends.dynamodb.description import described
from graveler_core.kv.backends.dynamodb.errors import FAILURES, mapped
from graveler_core.kv.backends.dynamodb.ranges import query_range, whole_partition
from graveler_core.kv.backends.dynamodb.requests import Requests
from graveler_core.kv.backends.dynamodb.table import parse_url, prepare
from graveler_core.kv.backends.paged import PagedStore
from graveler_core.kv.backends.parallel import in_parallel
from graveler_core.kv.limits import check_key, check_value
from graveler_core.kv.paging import KeyBounds, RowPage
from graveler_core.kv.store import EXISTS, Description, Expected, Item, Predicate, Store, Stored, predicate_failed

_T = TypeVar("_T")

_READ_BATCH: Final = 100
_WRITE_BATCH: Final = 25
_TOGETHER: Final = 100
"""Maximum number of items of a transaction."""
_TOGETHER_BYTES: Final = 3 << 20
"""Maximum size of the keys and values of a transaction. The service accepts 4 MB."""
_THREADS: Final = 8
"""Number of write batches that a bulk load sends at once."""
_ABSENT: Final = {"ConditionExpression": "attribute_not_exists(p)"}
_PRESENT: Final = {"ConditionExpression": "attribute_exists(p)"}


def open_dynamodb(url: str) -> Store:
    """Open the table at `dynamodb://table?region=…`, or create it with on-demand billing.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: The service cannot be reached, or the table is not that of a graveler store.
        PermissionDenied: There are no credentials, or the service denies access.
    """
    requests = Requests(parse_url(url))
    try:
        prepare(requests)
    except GravelerError:
        requests.close()
        raise
    except FAILURES as error:
        raise mapped(error, requests.target.shown, writing=False) from error
    return DynamoDBStore(requests)


class DynamoDBStore(PagedStore):
    """Store in a DynamoDB table. `set_many` is not atomic."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._table = requests.target.table

    def close(self) -> None:
        self._requests.close()

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        check_key(partition, key)
        item = self._requests.read("get_item", Key=_place(partition, key), ConsistentRead=True).get("Item")
        return None if item is None else _stored(item)

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        check_key(partition, key)
        check_value(key, value)
        self._requests.write("put_item", Item=_item(partition, key, value))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        check_key(partition, key)
        check_value(key, value)
        condition = _ABSENT if predicate is None else _condition(predicate)
        try:
            self._requests.write("put_item", Item=_item(partition, key, value), **condition)
        except PredicateFailed:
            raise predicate_failed(partition, key, predicate) from None
        return Predicate(value)

    def delete(self, partition: bytes, key: bytes) -> None:
        check_key(partition, key)
        self._requests.write("delete_item", Key=_place(partition, key))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        check_key(partition, key)
        try:
            self._requests.write("delete_item", Key=_place(partition, key), **_condition(predicate))
        except PredicateFailed:
            raise predicate_failed(partition, key, predicate) from None

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        found: dict[tuple[bytes, bytes], Stored] = {}
        for chunk in _chunks(list(dict.fromkeys(keys)), _READ_BATCH):
            for item in self._requests.read_batch([_place(*place) for place in chunk]):
                found[bytes(item["p"]["B"]), bytes(item["k"]["B"])] = _stored(item)
        return [found.get(place) for place in keys]

    def set_many(self, items: Sequence[Item]) -> None:
        last = {(partition, key): value for partition, key, value in items}
        for chunk in _chunks(list(last.items()), _WRITE_BATCH):
            self._requests.write_batch([_put(partition, key, value) for (partition, key), value in chunk])

    def sets_atomically(self) -> bool:
        return False

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        every = [*rows, *unchanged]
        size = sum(len(partition) + len(key) + len(predicate.token or b"") for partition, key, predicate in every)
        if len(every) > _TOGETHER or size > _TOGETHER_BYTES:
            raise predicate_failed(*rows[0])
        deletions = [{"Delete": self._expected(*row)} for row in rows]
        checks = [{"ConditionCheck": self._expected(*row)} for row in unchanged]
        try:
            self._requests.write("transact_write_items", TransactItems=[*deletions, *checks])
        except PredicateFailed:
            raise predicate_failed(*rows[0]) from None

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        def write(offset: int) -> None:
            chunk = slice(offset, offset + _WRITE_BATCH)
            rows = zip(keys[chunk].to_pylist(), values[chunk].to_pylist(), strict=True)
            self._requests.write_batch([_put(partition, key, value) for key, value in rows])

        in_parallel(write, range(0, len(keys), _WRITE_BATCH), _THREADS)

    def drop_partition(self, partition: bytes) -> int:
        dropped = 0
        for answer in self._query(partition, ProjectionExpression="p, k"):
            delete = [{"DeleteRequest": {"Key": item}} for item in answer["Items"]]
            in_parallel(self._requests.write_batch, _chunks(delete, _WRITE_BATCH), _THREADS)
            dropped += len(delete)
        return dropped

    def about_rows(self, partition: bytes) -> int:
        # The service reads the items to count them, but does not send them.
        return sum(answer["Count"] for answer in self._query(partition, Select="COUNT"))

    def describe(self) -> Description:
        before = time.time()
        answer = self._requests.read("describe_table")
        return described(answer, before, time.time())

    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        wanted = query_range(partition, keys)
        if wanted is None:
            return RowPage([], [], last=True)
        for answer in self._pages({**wanted.request, "ConsistentRead": True, "Limit": rows}):
            items = answer["Items"]
            if items:
                found = [bytes(item["k"]["B"]) for item in items]
                values = [bytes(item["v"]["B"]) for item in items]
                if found[-1] == wanted.excluded:
                    return RowPage(found[:-1], values[:-1], last=True)
                return RowPage(found, values, last="LastEvaluatedKey" not in answer)
        return RowPage([], [], last=True)

    def _query(self, partition: bytes, **request: Any) -> Iterator[dict[str, Any]]:
        """Yield the answers of a query for all rows of a partition."""
        return self._pages({**whole_partition(partition), "ConsistentRead": True, **request})

    def _pages(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the answers of a query. Each has at most 1 MB; it may be empty although others follow."""
        while True:
            answer = self._requests.read("query", **request)
            yield answer
            if "LastEvaluatedKey" not in answer:
                return
            request = {**request, "ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _expected(self, partition: bytes, key: bytes, predicate: Predicate) -> dict[str, Any]:
        return {"TableName": self._table, "Key": _place(partition, key), **_condition(predicate)}


def _place(partition: bytes, key: bytes) -> dict[str, Any]:
    return {"p": {"B": partition}, "k": {"B": key}}


def _item(partition: bytes, key: bytes, value: bytes) -> dict[str, Any]:
    return {**_place(partition, key), "v": {"B": value}}


def _put(partition: bytes, key: bytes, value: bytes) -> dict[str, Any]:
    return {"PutRequest": {"Item": _item(partition, key, value)}}


def _condition(predicate: Predicate) -> dict[str, Any]:
    if predicate == EXISTS:
        return _PRESENT
    return {"ConditionExpression": "v = :old", "ExpressionAttributeValues": {":old": {"B": predicate.token}}}


def _stored(item: dict[str, Any]) -> Stored:
    value = bytes(item["v"]["B"])
    return Stored(value, Predicate(value))


def _chunks(values: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    return (values[offset : offset + size] for offset in range(0, len(values), size))
