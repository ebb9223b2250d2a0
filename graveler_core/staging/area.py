"""One staging token: a key-value partition of staged entries and tombstones. Source: seeds 000 and 003.

Nothing here decides whether a write counts: that is the closing re-read of `engine.write`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.columns import without_first
from graveler_core.codec.staged_record import decode_records, encode_records
from graveler_core.kv.bulk import drop_partition, load, scan_arrow
from graveler_core.kv.store import Store
from graveler_core.model.ids import StagingToken
from graveler_core.records import layout as keys


def put_table(kv: Store, token: StagingToken, records: pa.Table) -> None:
    """Stage a table in `RECORD_SCHEMA` as columns. Other readers may see it half done."""
    for batch in records.to_batches():
        table = pa.Table.from_batches([batch])
        prefix = pa.scalar(keys.STAGED, pa.binary())
        paths = pc.binary_join_element_wise(prefix, batch["key"], b"")
        load(kv, keys.staging(token), paths, encode_records(table))


def scan(kv: Store, token: StagingToken, *, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
    """The staged records from `start` to before `end` as sorted tables in `RECORD_SCHEMA`, page by page."""
    stop = keys.staged(end) if end is not None else None
    for batch in scan_arrow(kv, keys.staging(token), prefix=keys.STAGED, start=keys.staged(start), end=stop):
        if batch.num_rows:
            yield decode_records(without_first(batch["key"], len(keys.STAGED)), batch["value"])


def is_empty(kv: Store, token: StagingToken) -> bool:
    """Whether the token holds no record at all."""
    return next(iter(kv.scan(keys.staging(token), limit=1)), None) is None


def drop(kv: Store, token: StagingToken) -> int:
    """Empty a token that has left its branch's record; gives the number of records removed."""
    return drop_partition(kv, keys.staging(token))
