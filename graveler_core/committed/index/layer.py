"""A sorted piece of an index above its metarange: the inline index, or a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.elements import Action, Element
from graveler_core.codec.staged_records import decode_records, encode_records
from graveler_core.model.entry import RECORD_SCHEMA, TOMBSTONE
from graveler_core.segments.merge import newest_wins
from graveler_core.segments.sorted_keys import KEY, lower_bound

_AGED = {Action.ADD: Action.INCREMENTAL_ADD, Action.REMOVE: Action.INCREMENTAL_REMOVE}
_OWNED = {old: own for own, old in _AGED.items()}
_IN_PYTHON = 2_000
"""Elements of layers that are merged one by one at most: above that, columns are faster."""


class Layer:
    """Elements in order of their keys, or the table of their records: each is made from the other where it is wanted.

    Small layers are read as elements and mostly stay so; large ones are tables.
    """

    def __init__(self, elements: list[Element] | None = None, table: pa.Table | None = None) -> None:
        if elements is not None:
            self.__dict__["elements"] = elements
        if table is not None:
            self.__dict__["table"] = table.combine_chunks()

    def __len__(self) -> int:
        return len(self.elements) if "elements" in self.__dict__ else int(self.table.num_rows)

    @cached_property
    def elements(self) -> list[Element]:
        """In order of their keys; those of a layer that was made from a table are of earlier commits."""
        return as_elements(self.table, Action.INCREMENTAL_ADD, Action.INCREMENTAL_REMOVE)

    @cached_property
    def table(self) -> pa.Table:
        """The records in `RECORD_SCHEMA`, in one chunk, removals as tombstones."""
        if not self.elements:
            return RECORD_SCHEMA.empty_table()
        keys = pa.array([element.key for element in self.elements], pa.binary())
        records = pa.array([element.record for element in self.elements], pa.binary())
        return decode_records(keys, records).combine_chunks()

    @property
    def keys(self) -> list[bytes]:
        """In order."""
        if "elements" in self.__dict__:
            return [element.key for element in self.elements]
        keys: list[bytes] = self.table.column(KEY).to_pylist()
        return keys

    @cached_property
    def size(self) -> int:
        """Bytes of keys and records."""
        if "elements" in self.__dict__:
            return sum(len(key) + len(record) for key, _, record in self.elements)
        return _bytes_of(self.table.column(KEY)) + _bytes_of(encode_records(self.table))

    def record(self, key: bytes) -> bytes | None:
        """The record of a key, `TOMBSTONE_VALUE` where it is removed; None where the layer says nothing of it."""
        if "elements" in self.__dict__:
            return self._records.get(key)
        if len(self) == 0:
            return None
        keys = self.table.column(KEY).chunk(0)
        at = lower_bound(keys, key)
        if at == len(keys) or keys[at].as_py() != key:
            return None
        value: bytes = encode_records(self.table.slice(at, 1))[0].as_py()
        return value

    @cached_property
    def _records(self) -> dict[bytes, bytes]:
        return {key: record for key, _, record in self.elements}


def owned(elements: Iterable[Element]) -> list[Element]:
    """Elements as those of the commit at hand."""
    return [Element(key, _OWNED.get(action, action), record) for key, action, record in elements]


def aged(elements: Iterable[Element]) -> list[Element]:
    """Elements as a later commit sees them: none of them is its own."""
    return [Element(key, _AGED.get(action, action), record) for key, action, record in elements]


def as_elements(records: pa.Table, add: Action, remove: Action) -> list[Element]:
    """The rows of a table in `RECORD_SCHEMA` as elements of these actions."""
    columns = records.column(KEY), records.column(TOMBSTONE), encode_records(records)
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return [Element(key, remove if gone else add, record) for key, gone, record in rows]


def overlaid(layers: Sequence[Layer]) -> Layer:
    """One layer of what several, newest first, say."""
    if sum(map(len, layers)) > _IN_PYTHON:
        return Layer(table=newest_wins([layer.table for layer in layers]))
    newest = {element.key: element for layer in reversed(layers) for element in layer.elements}
    return Layer(elements=[newest[key] for key in sorted(newest)])


def _bytes_of(values: pa.ChunkedArray) -> int:
    return pc.sum(pc.binary_length(values)).as_py() or 0
