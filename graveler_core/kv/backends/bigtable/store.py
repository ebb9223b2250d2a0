"""Store in a table of Google Cloud Bigtable, for many processes on many hosts.

Each method for one row is one request for one row of the table, which the service evaluates and executes in one step.
All processes use one app profile, which routes to a single cluster, so that all see all acknowledged writes.

The predicate of a row is its value, as in other stores. The service refuses conditions of more than 20 KB, so the
condition compares a hash that is written with the value.

Bulk writes are requests with many rows, so `set_many` is not atomic. `delete_together` is refused, as the interface
allows, because Bigtable has no transactions of several rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graveler_core.errors import CorruptData, GravelerError, Kind
from graveler_core.kv.backends.bigtable.mark import prepare
from graveler_core.kv.backends.bigtable.requests import BigtableRequests, RowMutations, batches
from graveler_core.kv.backends.bigtable.rows import (
    VALUE,
    Cells,
    column_filter,
    names_only,
    row_deleted,
    value_is,
    value_set,
)
from graveler_core.kv.backends.bigtable.url import parse_url
from graveler_core.kv.backends.key_space import KeySpace
from graveler_core.kv.backends.parallel import in_parallel
from graveler_core.kv.backends.single_rows import BatchLimits, SingleRowStore
from graveler_core.kv.limits import check_key, check_value
from graveler_core.kv.paging import KeyBounds, RowPage
from graveler_core.kv.store import EXISTS, Description, Item, Predicate, Store, Stored, predicate_failed

_PLACES: Final = 1_000
"""Maximum number of rows that a request names."""
_BYTES: Final = 4 * 1_024 * 1_024
"""Maximum size of the rows of a request that writes."""
_THREADS: Final = 4
"""Number of requests that a bulk load sends at once."""
_KEYS: Final = KeySpace()


def open_bigtable(url: str) -> Store:
    """Open the table at `bigtable://project/instance/table?app_profile=name`, or create it.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: The service cannot be reached, the table is not that of a graveler store, or the app profile does
            not allow conditional writes.
        PermissionDenied: There are no credentials, or the service denies access.
    """
    requests = BigtableRequests(parse_url(url))
    try:
        prepare(requests)
    except GravelerError:
        requests.close()
        raise
    return BigtableStore(requests)


class BigtableStore(SingleRowStore):
    """Store in a Bigtable table."""

    def __init__(self, requests: BigtableRequests) -> None:
        self._requests = requests

    def close(self) -> None:
        self._requests.close()

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        check_key(partition, key)
        rows = self._requests.read_names([_KEYS.name(partition, key)]).rows
        if not rows:
            return None
        value = self._value(rows[0][1])
        return Stored(value, Predicate(value))

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        check_key(partition, key)
        check_value(key, value)
        self._requests.mutate(_put(partition, key, value))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        check_key(partition, key)
        check_value(key, value)
        row = _put(partition, key, value)
        if not self._requests.mutate_if(_condition(predicate), row, matching=predicate is not None):
            raise predicate_failed(partition, key, predicate)
        return Predicate(value)

    def delete(self, partition: bytes, key: bytes) -> None:
        check_key(partition, key)
        self._requests.mutate(RowMutations(_KEYS.name(partition, key), row_deleted()))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        check_key(partition, key)
        row = RowMutations(_KEYS.name(partition, key), row_deleted())
        if not self._requests.mutate_if(_condition(predicate), row, matching=True):
            raise predicate_failed(partition, key, predicate)

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        names = [_KEYS.name(partition, key) for partition, key in keys]
        found: dict[bytes, bytes] = {}
        for batch in batches(sorted(set(names)), _PLACES):
            left = batch
            while left:
                page = self._requests.read_names(left)
                found.update((name, self._value(cells)) for name, cells in page.rows)
                left = [] if page.complete else [name for name in left if name > page.rows[-1][0]]
        values = [found.get(name) for name in names]
        return [None if value is None else Stored(value, Predicate(value)) for value in values]

    def drop_partition(self, partition: bytes) -> int:
        dropped = 0
        for keys in self._key_pages(partition):
            rows = [RowMutations(_KEYS.name(partition, key), row_deleted()) for key in keys]
            in_parallel(self._requests.mutate_all, batches(rows, _PLACES), _THREADS)
            dropped += len(keys)
        return dropped

    def about_rows(self, partition: bytes) -> int:
        return sum(map(len, self._key_pages(partition)))

    def describe(self) -> Description:
        target = self._requests.target
        return {
            "backend": "bigtable",
            "durability": "power" if target.emulator is None else "none",
            "project": target.project,
            "instance": target.instance,
            "table": target.table,
            "app_profile": target.app_profile or "default",
            "emulator": target.emulator,
        }

    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        found = self._requests.read_range(_KEYS.bounds(partition, keys), rows)
        names = [_KEYS.key(partition, name) for name, _ in found.rows]
        values = [self._value(cells) for _, cells in found.rows]
        return RowPage(names, values, last=found.complete and len(names) < rows)

    def _limits(self) -> BatchLimits:
        return BatchLimits(_PLACES, _BYTES, threads=_THREADS)

    def _put_all(self, rows: Sequence[Item]) -> None:
        self._requests.mutate_all([_put(*row) for row in rows])

    def _keys_from(self, partition: bytes, lower: bytes, rows: int) -> list[bytes]:
        bounds = _KEYS.bounds(partition, KeyBounds(lower, None))
        found = self._requests.read_range(bounds, rows, names_only()).rows
        return [_KEYS.key(partition, name) for name, _ in found]

    def _value(self, cells: Cells) -> bytes:
        if VALUE not in cells:
            shown = self._requests.target.shown
            raise CorruptData(f"a row of {shown} has no value", kind=Kind.CorruptRecord, store=shown)
        return cells[VALUE]


def _put(partition: bytes, key: bytes, value: bytes) -> RowMutations:
    return RowMutations(_KEYS.name(partition, key), value_set(value))


def _condition(predicate: Predicate | None) -> Any:
    """Return the filter that passes a cell of a row for which the predicate holds, or of any row if it is `None`."""
    if predicate is None or predicate == EXISTS:
        return column_filter(VALUE)
    return value_is(predicate.token or b"")
