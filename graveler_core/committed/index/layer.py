"""Sorted layer of an index above its metarange: the inline index, or a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.elements import Element, ElementAction
from graveler_core.codec.entry import record_from_row
from graveler_core.codec.staged_records import decode_records, encode_records
from graveler_core.model.entry import RECORD_SCHEMA, TOMBSTONE
from graveler_core.segments.merge import newest_wins
from graveler_core.segments.sorted_keys import KEY, SearchableTable, SortedKeys

_AGED = {ElementAction.ADD: ElementAction.INCREMENTAL_ADD, ElementAction.REMOVE: ElementAction.INCREMENTAL_REMOVE}
_OWNED = {old: own for own, old in _AGED.items()}
_MANY = 65_536
"""Maximum number of elements of a table whose keys are all held as Python values."""
_HELD_KEYS = 32
"""One in this number of keys of a larger table is held as a Python value."""
_IN_PYTHON = 2_000
"""Maximum number of elements that `overlaid` merges one by one. For more elements, columns are faster."""
_ELEMENT_BYTES = 400
"""Memory of an element, with its dictionary entries, without its key and record, in bytes."""
_KEY_BYTES = 200
"""Memory of a key as a Python value, with its dictionary entry, without its bytes."""


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

    @property
    def memory(self) -> int:
        """Estimated memory of the layer with everything that its readers compute, in bytes."""
        if "elements" in self.__dict__ or len(self) <= _IN_PYTHON:
            return 2 * self.size + _ELEMENT_BYTES * len(self)
        keys = _KEY_BYTES * len(self) + int(self._columns[0].nbytes)
        return int(self.table.nbytes) + (keys if len(self) <= _MANY else keys // _HELD_KEYS)

    def records(self, keys: Set[bytes]) -> dict[bytes, bytes]:
        """Return the records of those of the keys that are in the layer, `TOMBSTONE_VALUE` for a removed key."""
        if "elements" in self.__dict__:
            return {key: self._records[key] for key in self._records.keys() & keys}
        columns = self._columns
        if len(self) <= _MANY:
            return {key: record_from_row(columns, self._rows[key]) for key in self._rows.keys() & keys}
        rows = [(key, self.searchable.keys.position(key)) for key in keys]
        return {key: record_from_row(columns, row) for key, row in rows if row is not None}

    @cached_property
    def searchable(self) -> SearchableTable:
        """The table, with its keys ready for searches."""
        return SearchableTable(self.table, SortedKeys(self._columns[0], _HELD_KEYS if len(self) > _MANY else 1))

    @cached_property
    def _columns(self) -> list[pa.Array]:
        return [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in self.table.columns]

    @cached_property
    def _rows(self) -> dict[bytes, int]:
        return dict(zip(self.keys, range(len(self)), strict=True))

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
