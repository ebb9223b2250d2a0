"""Sorted layer of an index above its metarange: the inline index, or a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.elements import Element, ElementAction
from graveler_core.codec.entry import record_from_row
from graveler_core.codec.staged_records import decode_records, encode_records
from graveler_core.model.entry import RECORD_SCHEMA, TOMBSTONE
from graveler_core.segments.merge import newest_wins
from graveler_core.segments.sorted_keys import KEY, lower_bound

_AGED = {ElementAction.ADD: ElementAction.INCREMENTAL_ADD, ElementAction.REMOVE: ElementAction.INCREMENTAL_REMOVE}
_OWNED = {old: own for own, old in _AGED.items()}
_KEY_COLUMN = RECORD_SCHEMA.names.index(KEY)
_IN_PYTHON = 2_000
"""Maximum number of elements that `overlaid` merges one by one. For more elements, columns are faster."""


class Layer:
    """Elements in key order, or the table of their records. Each is computed from the other on demand.

    Small layers are read as elements and mostly used as such; large layers are tables.
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
        """Elements in key order. In a layer made from a table, all elements belong to earlier commits."""
        return as_elements(self.table, ElementAction.INCREMENTAL_ADD, ElementAction.INCREMENTAL_REMOVE)

    @cached_property
    def table(self) -> pa.Table:
        """Records in `RECORD_SCHEMA`, in one chunk, with removals as tombstones."""
        if not self.elements:
            return RECORD_SCHEMA.empty_table()
        keys = pa.array([element.key for element in self.elements], pa.binary())
        records = pa.array([element.record for element in self.elements], pa.binary())
        return decode_records(keys, records).combine_chunks()

    @property
    def keys(self) -> list[bytes]:
        """Keys in order."""
        if "elements" in self.__dict__:
            return [element.key for element in self.elements]
        keys: list[bytes] = self.table.column(KEY).to_pylist()
        return keys

    @cached_property
    def size(self) -> int:
        """Size of keys and records, in bytes."""
        if "elements" in self.__dict__:
            return sum([len(key) + len(record) for key, _, record in self.elements])
        return _bytes_of(self.table.column(KEY)) + _bytes_of(encode_records(self.table))

    def record(self, key: bytes) -> bytes | None:
        """Return the record of a key, `TOMBSTONE_VALUE` if it is removed, or `None` if the key is not in the layer."""
        if "elements" in self.__dict__:
            return self._records.get(key)
        keys = self._columns[_KEY_COLUMN]
        at = lower_bound(keys, key)
        if at == len(keys) or keys[at].as_py() != key:
            return None
        return record_from_row(self._columns, at)

    @cached_property
    def _columns(self) -> list[pa.ChunkedArray]:
        columns: list[pa.ChunkedArray] = self.table.columns
        return columns

    @cached_property
    def _records(self) -> dict[bytes, bytes]:
        return {key: record for key, _, record in self.elements}


def owned(elements: Iterable[Element]) -> list[Element]:
    """Return the elements marked as elements of the current commit."""
    return [Element(key, _OWNED.get(action, action), record) for key, action, record in elements]


def aged(elements: Iterable[Element]) -> list[Element]:
    """Return the elements as a later commit sees them, marked as elements of earlier commits."""
    return [
        Element(element[0], _AGED[element[1]], element[2]) if element[1] in _AGED else element for element in elements
    ]


def as_elements(records: pa.Table, add: ElementAction, remove: ElementAction) -> list[Element]:
    """Return the rows of a table in `RECORD_SCHEMA` as elements with these actions."""
    columns = records.column(KEY), records.column(TOMBSTONE), encode_records(records)
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return [Element(key, remove if gone else add, record) for key, gone, record in rows]


def overlaid(layers: Sequence[Layer]) -> Layer:
    """Merge layers, newest first, into one whose elements all belong to earlier commits.

    Both implementations give equal layers. Use `combined` if elements must keep their actions, because tables have
    none.
    """
    if sum(map(len, layers)) > _IN_PYTHON:
        return Layer(table=newest_wins([layer.table for layer in layers]))
    return Layer(elements=aged(combined(layers).elements))


def combined(layers: Sequence[Layer]) -> Layer:
    """Merge layers, newest first, element by element, so that every element keeps its action. Used for inline
    indexes.
    """
    newest = {element.key: element for layer in reversed(layers) for element in layer.elements}
    return Layer(elements=[newest[key] for key in sorted(newest)])


def _bytes_of(values: pa.ChunkedArray) -> int:
    return pc.sum(pc.binary_length(values)).as_py() or 0
