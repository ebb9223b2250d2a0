"""Staging tokens: key-value partitions of staged entries and tombstones. Source: seeds 000 and 003.

This module does not decide whether a write is acknowledged; the closing re-read of `engine.staging.write` does.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.columns import without_first
from graveler_core.codec.staged_record import decode_record
from graveler_core.codec.staged_records import decode_records, encode_records
from graveler_core.kv.bulk import drop_partition, load, scan_arrow
from graveler_core.kv.columns import batch_of_rows
from graveler_core.kv.paging import FIRST_PAGE_ROWS
from graveler_core.kv.store import Store
from graveler_core.model.ids import StagingToken
from graveler_core.records import layout as keys

_SMALL_PAGES = 2
"""Number of small pages. The second one replaces records of the first that were not visible."""


def put_table(kv: Store, token: StagingToken, records: pa.Table) -> None:
    """Stage a table in `RECORD_SCHEMA`. Other readers may see a part of it."""
    for batch in records.to_batches():
        table = pa.Table.from_batches([batch])
        prefix = pa.scalar(keys.STAGED, pa.binary())
        paths = pc.binary_join_element_wise(prefix, batch["key"], b"")
        load(kv, keys.staging(token), paths, encode_records(table))


def scan(
    kv: Store, token: StagingToken, *, start: bytes = b"", end: bytes | None = None, few: int | None = None
) -> Iterator[pa.Table]:
    """Yield the staged records from `start` up to, but not including, `end` as sorted tables in `RECORD_SCHEMA`, page
    by page.

    Args:
        kv: Key-value store.
        token: The staging token.
        start: First key.
        end: Key after the last one; `None` for no end.
        few: Number of records that is probably enough. The first pages have this size if it is smaller than a
        store's page.
    """
    partition, first = keys.staging(token), keys.staged(start)
    stop = keys.staged(end) if end is not None else None
    for _ in range(_SMALL_PAGES if few is not None and few <= FIRST_PAGE_ROWS else 0):
        rows = [
            (row.key, row.value) for row in kv.scan(partition, prefix=keys.STAGED, start=first, end=stop, limit=few)
        ]
        yield from _decoded(batch_of_rows(rows))
        if len(rows) != few:
            return
        first = rows[-1][0] + b"\0"
    for batch in scan_arrow(kv, partition, prefix=keys.STAGED, start=first, end=stop):
        yield from _decoded(batch)


def few_rows(kv: Store, token: StagingToken, most: int) -> dict[bytes, bytes] | None:
    """Return the staged records by key, encoded, or `None` if there are more than `most`.

    Raises:
        CorruptData: A value is not a staged record.
    """
    skip = len(keys.STAGED)
    rows = {row.key[skip:]: row.value for row in kv.scan(keys.staging(token), prefix=keys.STAGED, limit=most + 1)}
    if len(rows) > most:
        return None
    for path, record in rows.items():
        decode_record(path.decode(errors="backslashreplace"), record)
    return rows


def is_empty(kv: Store, token: StagingToken) -> bool:
    """Return true if the token contains no record."""
    return next(iter(kv.scan(keys.staging(token), limit=1)), None) is None


def drop(kv: Store, token: StagingToken) -> int:
    """Delete all records of a token that has left its branch record. Return their number."""
    return drop_partition(kv, keys.staging(token))


def _decoded(batch: pa.RecordBatch) -> Iterator[pa.Table]:
    if batch.num_rows:
        yield decode_records(without_first(batch["key"], len(keys.STAGED)), batch["value"])
