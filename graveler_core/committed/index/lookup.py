"""Look up entries of an index by key. The newest layer with the key decides; if no layer has it, the metarange does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.entry import entry_from_row, record_table
from graveler_core.codec.record_format import TOMBSTONE_VALUE, record_identity
from graveler_core.codec.staged_record import decode_record, encode_entry
from graveler_core.committed import lookup as tree
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layers import layers
from graveler_core.committed.trees import ALL, Trees
from graveler_core.model.entry import ENTRY_SCHEMA, TOMBSTONE, Entry
from graveler_core.model.ids import MetarangeId
from graveler_core.model.index import Index
from graveler_core.segments.merge import as_entries
from graveler_core.segments.sorted_keys import KEY, positions

_LookUp: TypeAlias = Callable[[Trees, MetarangeId, Sequence[bytes]], dict[bytes, bytes]]


def lookup(indexes: Indexes, index: Index, key: bytes) -> Entry | None:
    """Return the entry at a key, or `None`.

    Raises:
        CorruptData: An object of the index that had to be read is missing or damaged.
    """
    return lookup_few(indexes, index, [key])[0]


def lookup_few(indexes: Indexes, index: Index, keys: Sequence[bytes]) -> list[Entry | None]:
    """Return the entries at some keys, `None` where there is none, in the order of the keys. One by one, for few
    keys.
    """
    records = _records(indexes, index, keys)
    found: list[Entry | None] = []
    for key in keys:
        if key in records:
            found.append(decode_record(key.decode(), records[key]))
        else:
            row = tree.lookup(indexes.trees, index.metarange_id, key)
            found.append(None if row is None else entry_from_row(*row))
    return found


def identities_of_few(indexes: Indexes, index: Index, keys: Sequence[bytes]) -> list[bytes]:
    """Return the identities of the entries at some keys, b"" where there is none, in the order of the keys."""
    return _identities_of_few(indexes, index, keys, tree.identities_of)


def beginnings_of_few(indexes: Indexes, index: Index, keys: Sequence[bytes]) -> list[bytes]:
    """Return the identities, or beginnings of them, of the entries at some keys, b"" where there is none, in the order
    of the keys. Faster than whole identities in large repositories.
    """
    return _identities_of_few(indexes, index, keys, tree.beginnings_of)


def _identities_of_few(indexes: Indexes, index: Index, keys: Sequence[bytes], look_up: _LookUp) -> list[bytes]:
    found = {key: record_identity(record) for key, record in _records(indexes, index, keys).items()}
    below = sorted(key for key in keys if key not in found)
    found |= look_up(indexes.trees, index.metarange_id, below)
    return [found.get(key, b"") for key in keys]


def entries_of_few(indexes: Indexes, index: Index, keys: Sequence[bytes]) -> list[Entry | None]:
    """Return what `lookup_few` returns, for sorted, distinct keys that may not be looked up again: ranges that are not
    cached are not kept.
    """
    found = _records_and_entries(indexes, index, keys)
    return [
        decode_record(key.decode(), each) if isinstance(each, bytes) else each
        for key, each in zip(keys, found, strict=True)
    ]


def records_of_few(indexes: Indexes, index: Index, keys: Sequence[bytes]) -> list[bytes]:
    """Return the staged records of the entries at some sorted, distinct keys, `TOMBSTONE_VALUE` where there is none.
    Ranges that are not cached are not kept.
    """
    records = [
        encode_entry(each) if isinstance(each, Entry) else each for each in _records_and_entries(indexes, index, keys)
    ]
    return [TOMBSTONE_VALUE if record is None else record for record in records]


def _records_and_entries(indexes: Indexes, index: Index, keys: Sequence[bytes]) -> list[bytes | Entry | None]:
    """Return the record that a layer has for a key, otherwise the entry of the metarange, otherwise `None`."""
    found: dict[bytes, bytes | Entry] = {**_records(indexes, index, keys)}
    below = [key for key in keys if key not in found]
    if below:
        rows = tree.lookup_many(indexes.trees, index.metarange_id, below)
        columns, there = rows.columns, rows.column(KEY).to_pylist()
        found |= {key: entry_from_row(columns, row) for row, key in enumerate(there)}
    return [found.get(key) for key in keys]


def _records(indexes: Indexes, index: Index, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the newest record that a layer has for each of the keys, in their order, without the keys that no layer
    has.
    """
    found, left = dict[bytes, bytes](), set(keys)
    for layer in layers(indexes, index):
        there = layer.records(left)
        if there:
            found |= there
            left -= there.keys()
    return {key: found[key] for key in keys if key in found}


def lookup_many(indexes: Indexes, index: Index, keys: Sequence[bytes], columns: tuple[str, ...] = ALL) -> pa.Table:
    """Return the existing entries at the sorted, distinct `keys`, in order.

    Each object of the index that may contain one of them is read once.

    Args:
        indexes: The repository's indexes.
        index: The index.
        keys: Sorted, distinct keys.
        columns: Columns to return, and to decode from ranges: `ALL` or `DECISIVE`.
    """
    above = layers(indexes, index)
    if not above:
        return tree.lookup_many(indexes.trees, index.metarange_id, keys, columns)
    if len(keys) <= indexes.sizes.few_keys:
        return _few_of_many(indexes, index, keys, columns)
    probes = pa.array(keys, pa.binary())
    left = np.arange(len(keys))
    found, order = [ENTRY_SCHEMA.empty_table().select(columns)], [left[:0]]
    for layer in above:
        at, there = positions(layer.table.column(KEY), probes.take(pa.array(left)))
        rows = layer.table.take(pa.array(at[there]))
        live = ~rows.column(TOMBSTONE).to_numpy()
        found.append(as_entries(rows.filter(pa.array(live))).select(columns))
        order.append(left[there][live])
        left = left[~there]
    below = [keys[row] for row in left.tolist()]
    rest = tree.lookup_many(indexes.trees, index.metarange_id, below, columns)
    _, there = positions(rest.column(KEY), probes.take(pa.array(left)))
    found.append(rest)
    order.append(left[there])
    entries = pa.concat_tables(found).combine_chunks()
    return entries.take(pa.array(np.argsort(np.concatenate(order), kind="stable")))


def _few_of_many(indexes: Indexes, index: Index, keys: Sequence[bytes], columns: tuple[str, ...]) -> pa.Table:
    """Return the entries as `lookup_many` does, without the initial cost of columns."""
    said = _records(indexes, index, keys)
    rest = tree.lookup_many(indexes.trees, index.metarange_id, [key for key in keys if key not in said], columns)
    put = {key: record for key, record in said.items() if record != TOMBSTONE_VALUE}
    if not put:
        return rest
    found = as_entries(record_table([(key, decode_record(key.decode(), put[key])) for key in put])).select(columns)
    if not rest.num_rows:
        return found
    entries = pa.concat_tables([found, rest]).combine_chunks()
    return entries.take(pc.sort_indices(entries.column(KEY)))
