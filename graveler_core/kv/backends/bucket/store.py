"""Store in a bucket of Amazon S3, Azure Blob Storage, Google Cloud Storage or a compatible service.

An object holds one row (`graveler_core.kv.backends.bucket.names`). The predicate of a row is the ETag of its object. A
conditional write is one request that the service executes only if the object still has the ETag, or does not exist.
Listings and reads of the services include every acknowledged write.

`delete_if` replaces the object by a tombstone, an empty object, because services and obstore have no common conditional
deletion. A tombstone means the same as no object:

* A row is created over a tombstone on the condition that it is still there. All tombstones may have one ETag, so
  others may have created and deleted the row in between. Then the key is absent again, as the caller requires.
* `delete` and `drop_partition` delete objects and tombstones. A conditional write at the same time finds the object as
  it was, or does not find it. If it needs a tombstone, it begins again.
* A sweep (`graveler_core.kv.backends.bucket.sweep`) deletes tombstones that are no longer wanted.

`set_many` is not atomic, and `delete_together` is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

import pyarrow as pa

from graveler_core.blobs.open import open_bucket
from graveler_core.errors import GravelerError
from graveler_core.kv.backends.bucket.description import described
from graveler_core.kv.backends.bucket.mark import prepare
from graveler_core.kv.backends.bucket.names import TOMBSTONE, content_of, row_of, wrong_row
from graveler_core.kv.backends.bucket.requests import BucketRequests
from graveler_core.kv.backends.bucket.scans import FIRST_ROWS, PAGE_ROWS, BucketScans
from graveler_core.kv.backends.bucket.sweep import TombstoneSweep
from graveler_core.kv.backends.bucket.url import BucketTarget, parse_url
from graveler_core.kv.columns import batch_of_columns
from graveler_core.kv.limits import check_key, check_partition, check_value
from graveler_core.kv.paging import KeyBounds, check_limit, interval, split_rows
from graveler_core.kv.store import EXISTS, Description, Item, KeyValue, Predicate, Store, Stored, predicate_failed

_T = TypeVar("_T")

_ALL: Final = KeyBounds(b"", None)
_RETRY_SECONDS: Final = "30"
"""Default time in which reads are repeated. Objects are small, so an answer is not late because it is large."""
_BATCH: Final = 1_000
"""Number of rows of a bulk write that are in memory as requests."""


def open_bucket_store(url: str, storage_options: Mapping[str, str] | None = None) -> Store:
    """Open the store at `s3://bucket/prefix?option=value`, or create it. The bucket must exist.

    Args:
        url: The URL. The schemes are `s3`, `gs` and `az`.
        storage_options: Options of object stores. Those of the URL override them.

    Raises:
        InvalidInput: Kind InvalidUrl or InvalidValue: URL or options are not valid.
        Unavailable: The service cannot be reached or has no conditional writes, the bucket does not exist, or the
            objects below the prefix are not those of a graveler store.
        PermissionDenied: There are no credentials, or the service denies access.
    """
    target = parse_url(url, storage_options)
    reading = open_bucket(target.place, {"retry_timeout": _RETRY_SECONDS, **target.options})
    writing = open_bucket(target.place, {**target.options, "max_retries": "0"})
    requests = BucketRequests(reading, writing, target.shown, by_generation=target.place.scheme == "gs")
    try:
        prepare(requests, target.names)
    except GravelerError:
        requests.close()
        raise
    return BucketStore(target, requests)


class BucketStore(Store):
    """Store in a bucket. `set_many` is not atomic, and `delete_together` is refused."""

    def __init__(self, target: BucketTarget, requests: BucketRequests) -> None:
        self._target = target
        self._names = target.names
        self._requests = requests
        self._scans = BucketScans(requests, target.names)

    def close(self) -> None:
        self._requests.close()

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        check_key(partition, key)
        return self._stored((partition, key))

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        check_key(partition, key)
        check_value(key, value)
        self._put((partition, key, value))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        check_key(partition, key)
        check_value(key, value)
        return self._write_if(partition, key, content_of(key, value), predicate)

    def delete(self, partition: bytes, key: bytes) -> None:
        check_key(partition, key)
        self._requests.delete([self._names.row(partition, key)])

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        check_key(partition, key)
        self._write_if(partition, key, TOMBSTONE, predicate)

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        check_partition(partition)
        check_limit(limit)
        pages = self._scans.pages(partition, interval(prefix, start, end), limit, FIRST_ROWS)
        return (row for page in pages for row in page)

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        distinct = list(dict.fromkeys(keys))
        found: dict[tuple[bytes, bytes], Stored | None] = {}
        for batch in _batches(distinct):
            found.update(zip(batch, self._requests.each(self._stored, batch), strict=True))
        return [found[place] for place in keys]

    def set_many(self, items: Sequence[Item]) -> None:
        last = {(partition, key): value for partition, key, value in items}
        for batch in _batches([(partition, key, value) for (partition, key), value in last.items()]):
            self._requests.each(self._put, batch)

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        for offset in range(0, len(keys), _BATCH):
            chunk = slice(offset, offset + _BATCH)
            rows = zip(keys[chunk].to_pylist(), values[chunk].to_pylist(), strict=True)
            self._requests.each(self._put, [(partition, key, value) for key, value in rows])

    def scan_arrow(self, partition: bytes, keys: KeyBounds) -> Iterator[pa.RecordBatch]:
        pages = self._scans.pages(partition, keys, None, PAGE_ROWS)
        return (batch_of_columns([row.key for row in page], [row.value for row in page]) for page in pages)

    def drop_partition(self, partition: bytes) -> int:
        dropped = 0
        for page in self._requests.pages(self._names.partition(partition)):
            self._requests.delete([found["path"] for found in page])
            dropped += sum(1 for found in page if found["size"])
        return dropped

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        # Keys of more than 400 bytes are represented by these, which divide the rows as well.
        stems = [name.stem for name, _, _ in self._scans.listed(partition, _ALL)]
        return sorted({stems[row] for row in split_rows(len(stems), pieces)})

    def about_rows(self, partition: bytes) -> int:
        return sum(1 for _ in self._scans.listed(partition, _ALL))

    def sweep(self) -> int:
        """Delete the tombstones. Return their number. Others may use the store at the same time.

        Raises:
            Unavailable: The service has no conditional deletions, or cannot be reached.
            PermissionDenied: The service denies a deletion.
        """
        return TombstoneSweep(self._requests, self._names).run()

    def describe(self) -> Description:
        return described(self._target, self._requests)

    def _stored(self, place: tuple[bytes, bytes]) -> Stored | None:
        name = self._names.row(*place)
        held = self._requests.read(name)
        if held is None or held.is_tombstone:
            return None
        key, value = row_of(held.content, name)
        if key != place[1]:
            raise wrong_row(name)
        return Stored(value, Predicate(held.tag.encode()))

    def _put(self, item: Item) -> None:
        partition, key, value = item
        self._requests.put(self._names.row(partition, key), content_of(key, value))

    def _write_if(self, partition: bytes, key: bytes, content: bytes, predicate: Predicate | None) -> Predicate:
        """Write an object in one step if the predicate holds."""
        name = self._names.row(partition, key)
        if predicate is None:
            tag = self._requests.create_or_replace(name, content)
        elif predicate == EXISTS:
            tag = self._requests.replace_any(name, content)
        else:
            tag = self._requests.replace(name, content, (predicate.token or b"").decode())
        if tag is None:
            raise predicate_failed(partition, key, predicate)
        return Predicate(tag.encode())


def _batches(rows: Sequence[_T]) -> Iterator[Sequence[_T]]:
    return (rows[offset : offset + _BATCH] for offset in range(0, len(rows), _BATCH))
