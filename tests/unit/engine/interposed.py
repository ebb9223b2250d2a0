"""A store into which tests step: between any two calls of a flow others may act, a reply be lost, a process die."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa

from graveler_core.errors import OutcomeUnknown, PermissionDenied, Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.paging import KeyBounds
from graveler_core.kv.store import Expected, Item, KeyValue, Predicate, Store, Stored

T = TypeVar("T")
WRITES = (
    "set",
    "set_if",
    "delete",
    "delete_if",
    "set_many",
    "write_and_swap",
    "delete_together",
    "load",
    "drop_partition",
)
SWAPS = ("set_if", "write_and_swap", "delete_if", "delete_together")


class Crash(BaseException):
    """The process dies here. No error of ours, so that nothing handles it."""


class Interposed(Store):
    """Passes every call on, numbered from 0.

    `before[n]` runs before call n; `lose[n]` loses the reply of call n if it writes, having done it (True) or not
    (False); `fail[n]` is raised instead of call n. While a hook runs, calls are not counted and not interposed.
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.verbs: list[str] = []
        self.before: dict[int, Callable[[], object]] = {}
        self.lose: dict[int, bool] = {}
        self.fail: dict[int, BaseException] = {}
        self._inside = False

    def reset(self) -> None:
        """Count from 0 again, with no hooks."""
        self.verbs.clear()
        self.before.clear()
        self.lose.clear()
        self.fail.clear()

    @property
    def writes(self) -> list[int]:
        """The numbers of the calls that write: others have no reply to lose."""
        return [number for number, verb in enumerate(self.verbs) if verb in WRITES]

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        return self._step("get", lambda: self.inner.get(partition, key))

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        self._step("set", lambda: self.inner.set(partition, key, value))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        return self._step("set_if", lambda: self.inner.set_if(partition, key, value, predicate))

    def delete(self, partition: bytes, key: bytes) -> None:
        self._step("delete", lambda: self.inner.delete(partition, key))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        self._step("delete_if", lambda: self.inner.delete_if(partition, key, predicate))

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        rows = self.inner.scan(partition, prefix=prefix, start=start, end=end, limit=limit)
        self._step("scan", lambda: None)
        yield from rows

    def close(self) -> None:
        self.inner.close()

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        return self._step("get_many", lambda: bulk.get_many(self.inner, keys))

    def set_many(self, items: Sequence[Item]) -> None:
        self._step("set_many", lambda: bulk.set_many(self.inner, items))

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        return self._step("write_and_swap", lambda: bulk.write_and_swap(self.inner, items, swapped, predicate))

    def sets_atomically(self) -> bool:
        return self.inner.sets_atomically()

    def persists(self) -> bool:
        return self.inner.persists()

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        self._step("delete_together", lambda: bulk.delete_together(self.inner, rows, unchanged))

    def deletes_together(self) -> bool:
        return self.inner.deletes_together()

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        self._step("load", lambda: bulk.load(self.inner, partition, keys, values))

    def scan_arrow(self, partition: bytes, keys: KeyBounds) -> Iterator[pa.RecordBatch]:
        self._step("scan_arrow", lambda: None)
        yield from bulk.scan_arrow(self.inner, partition, start=keys.lower, end=keys.upper)

    def drop_partition(self, partition: bytes) -> int:
        return self._step("drop_partition", lambda: bulk.drop_partition(self.inner, partition))

    def _step(self, verb: str, call: Callable[[], T]) -> T:
        if self._inside:
            return call()
        number = len(self.verbs)
        self.verbs.append(verb)
        if (hook := self.before.pop(number, None)) is not None:
            self._inside = True
            try:
                hook()
            finally:
                self._inside = False
        if (failure := self.fail.get(number)) is not None:
            raise failure
        if verb in WRITES and number in self.lose:
            if self.lose[number]:
                call()
            raise OutcomeUnknown(f"call {number}: the reply of {verb} was lost")
        return call()


def unavailable() -> Unavailable:
    """What a store says that is not there for now."""
    return Unavailable("the store is away")


def denied() -> PermissionDenied:
    """What a store says after the credentials have expired."""
    return PermissionDenied("the credentials have expired")
