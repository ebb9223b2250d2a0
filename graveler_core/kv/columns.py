"""Rows of a store as Arrow columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import pyarrow as pa

from graveler_core.kv.paging import PAGE_BYTES, PAGE_ROWS

ROW_SCHEMA: Final = pa.schema([pa.field("key", pa.binary(), False), pa.field("value", pa.binary(), False)])
"""Schema of the batches that `scan_arrow` returns."""


def batch_of_rows(rows: Sequence[tuple[bytes, bytes]]) -> pa.RecordBatch:
    """Return rows (key, value) as one batch of `ROW_SCHEMA`."""
    keys, values = zip(*rows, strict=True) if rows else ((), ())
    return batch_of_columns(keys, values)


def batch_of_columns(keys: Sequence[bytes], values: Sequence[bytes]) -> pa.RecordBatch:
    """Return keys and values as one batch of `ROW_SCHEMA`."""
    return pa.record_batch([pa.array(keys, pa.binary()), pa.array(values, pa.binary())], schema=ROW_SCHEMA)


def batches_of_rows(rows: Iterator[tuple[bytes, bytes]]) -> Iterator[pa.RecordBatch]:
    """Collect the rows (key, value) of a scan into batches of at most one page."""
    while page := list(_one_page(rows)):
        yield batch_of_rows(page)


def _one_page(rows: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    size = 0
    for key, value in islice(rows, PAGE_ROWS):
        yield key, value
        size += len(value)
        if size >= PAGE_BYTES:
            return
