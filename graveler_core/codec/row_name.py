"""Names of rows in error messages."""

from __future__ import annotations

import pyarrow as pa


def row_path(keys: pa.Array, row: int) -> str:
    """Return the path of a row in readable form, even if the key is not UTF-8."""
    key = keys[row].as_py()
    return key if isinstance(key, str) else (key or b"").decode(errors="replace")


def entry_name(batch: pa.RecordBatch, row: int) -> str:
    """Return the name of the entry in a row, by its key if the table has keys."""
    if "key" not in batch.schema.names:
        return f"row {row}"
    return f"entry {row_path(batch.column('key'), row)!r}"
