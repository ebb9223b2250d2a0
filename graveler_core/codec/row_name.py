"""How errors name a row."""

from __future__ import annotations

import pyarrow as pa


def row_path(keys: pa.Array, row: int) -> str:
    """The path of a row, readable even where the key is no UTF-8."""
    key = keys[row].as_py()
    return key if isinstance(key, str) else (key or b"").decode(errors="replace")


def entry_name(batch: pa.RecordBatch, row: int) -> str:
    """The entry of a row, by its key where the table has one."""
    if "key" not in batch.schema.names:
        return f"row {row}"
    return f"entry {row_path(batch.column('key'), row)!r}"
