"""First rows of lazy streams, without reading more than needed."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from graveler_core.committed.diff import SIDE_SCHEMA, Differences
from graveler_core.model.entry import ENTRY_SCHEMA


def first_rows(tables: Iterator[pa.Table], rows: int, schema: pa.Schema = ENTRY_SCHEMA) -> pa.Table:
    """Return the first `rows` rows of a stream of tables in a schema. There are fewer only at the end of the stream."""
    taken: list[pa.Table] = []
    missing = rows
    for table in tables:
        taken.append(table.slice(0, missing))
        missing -= taken[-1].num_rows
        if missing <= 0:
            break
    return pa.concat_tables(taken) if taken else schema.empty_table()


def first_differences(found: Iterator[Differences], rows: int) -> Differences:
    """Return the first `rows` differences of a stream. There are fewer only at the end of the stream."""
    taken: list[Differences] = []
    missing = rows
    for part in found:
        taken.append(part.slice(0, missing))
        missing -= len(taken[-1])
        if missing <= 0:
            break
    if not taken:
        return Differences(pa.array([], pa.binary()), SIDE_SCHEMA.empty_table(), SIDE_SCHEMA.empty_table())
    return Differences(
        pa.concat_arrays([part.keys for part in taken]),
        pa.concat_tables([part.before for part in taken]),
        pa.concat_tables([part.after for part in taken]),
    )
