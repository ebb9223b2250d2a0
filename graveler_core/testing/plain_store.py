"""Wrapper of a key-value store that overrides no default operation of `Store`, for tests of the defaults."""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.kv.store import KeyValue, Predicate, Store, Stored


class PlainStore(Store):
    """Store that passes on only the seven abstract methods and `persists`. All other operations are the defaults."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        return self.inner.get(partition, key)

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        self.inner.set(partition, key, value)

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        return self.inner.set_if(partition, key, value, predicate)

    def delete(self, partition: bytes, key: bytes) -> None:
        self.inner.delete(partition, key)

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        self.inner.delete_if(partition, key, predicate)

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        return self.inner.scan(partition, prefix=prefix, start=start, end=end, limit=limit)

    def persists(self) -> bool:
        return self.inner.persists()

    def close(self) -> None:
        self.inner.close()
