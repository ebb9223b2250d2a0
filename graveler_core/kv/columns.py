"""Rows of a store as Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

ROW_SCHEMA: Final = pa.schema([pa.field("key", pa.binary(), False), pa.field("value", pa.binary(), False)])
"""The columns of `scan_arrow`."""


def batch_of_rows(rows: Sequence[tuple[bytes, bytes]]) -> pa.RecordBatch:
    """Rows (key, value) as one batch of ROW_SCHEMA."""
    keys, values = zip(*rows, strict=True) if rows else ((), ())
    return batch_of_columns(keys, values)


def batch_of_columns(keys: Sequence[bytes], values: Sequence[bytes]) -> pa.RecordBatch:
    """Keys and their values as one batch of ROW_SCHEMA."""
    return pa.record_batch([pa.array(keys, pa.binary()), pa.array(values, pa.binary())], schema=ROW_SCHEMA)
