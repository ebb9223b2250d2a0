"""Conversion of staged rows of the source: rows with the message `catalog.Entry` of lakeFS, and tombstones.

A full address inside the storage namespace of the repository becomes a relative one, so that one object has one
address. A garbage collector elsewhere once took two forms of an address for two objects, and deleted objects in use
(lakeFS 4658 and 4698). The identity is computed, not read from the row. Null identity and null data are a tombstone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

import pyarrow as pa

from graveler_core.errors import InvalidInput
from graveler_core.model.address import Namespace, namespace
from graveler_core.model.entry import AddressType
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.lakefs.entries import Broken, EntryRow, entry_row, is_relative, records, tombstone
from graveler_core.transfer.migration.source import PAGE_ROWS, Row


def tables(rows: Iterable[Row], place: str, broken: Broken) -> Iterator[pa.Table]:
    """Yield staged records in `RECORD_SCHEMA`, in the order of the rows, one page at a time. Broken rows are skipped.

    Args:
        rows: Key, identity and data, in the order of the keys.
        place: Storage namespace of the repository.
        broken: Called for each broken row.
    """
    home, before = namespace(place), b""
    waiting = iter(rows)
    while page := list(islice(waiting, PAGE_ROWS)):
        values: list[EntryRow] = []
        for row in page:
            try:
                value = _value(row, home)
                if before and row[0] <= before:
                    raise BrokenValueError("the key is duplicated under its token")
            except BrokenValueError as e:
                broken(row[0], str(e))
            else:
                before = row[0]
                values.append(value)
        table = records(values, broken)
        if table is not None and table.num_rows:
            yield table


def _value(row: Row, home: Namespace) -> EntryRow:
    key, identity, data = row
    if not isinstance(key, bytes):
        raise BrokenValueError(f"key must be bytes, but is {'null' if key is None else type(key).__name__}")
    if identity is None and not data:
        return tombstone(key)
    if not isinstance(identity, bytes) or not isinstance(data, bytes):
        raise BrokenValueError("identity and data must both be bytes, or both null for a tombstone")
    return entry_row(key, data, partial(_address, home))


def _address(home: Namespace, address: str, kind: int) -> tuple[str, AddressType]:
    if is_relative(address, kind):
        return address, AddressType.RELATIVE
    try:
        place = namespace(address)
    except InvalidInput as e:
        raise BrokenValueError(e.message) from e
    if home.contains(place) and place.path != home.path:
        return place.path[len(home.path) :].lstrip("/"), AddressType.RELATIVE
    return address, AddressType.FULL
