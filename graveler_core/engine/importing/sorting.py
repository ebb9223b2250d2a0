"""Sorting of records by key, from any order: sorted runs on local disk, then one merge."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from graveler_core.blobs.failures import on_local_disk
from graveler_core.codec.entry_columns import sorted_by_key
from graveler_core.codec.row_name import row_path
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.counting import counted
from graveler_core.segments.sorted_keys import KEY
from graveler_core.segments.streams import merge

RUN_ROWS = 500_000
"""Number of records that are sorted in memory, about 150 MB."""
_PAGE_ROWS = 4_096
"""Number of records of each run in memory while runs are merged."""


@contextmanager
def in_order(tables: Iterator[pa.Table], *, rising: bool) -> Iterator[Iterator[pa.Table]]:
    """Yield tables in `RECORD_SCHEMA` whose keys ascend over all tables, each key once.

    Args:
        tables: Tables of the same schema, each of them sorted.
        rising: True if the tables are in order already.

    Raises:
        InvalidInput: A key occurs twice.
        Unavailable: A temporary file cannot be written or read, for example because the disk is full (`StoreFull`).
    """
    if rising:
        yield _rising(tables)
        return
    with on_local_disk():
        place = tempfile.TemporaryDirectory(prefix="graveler-import-")
    with place as directory:
        runs, rows = _runs(tables, Path(directory))
        yield _all_of_them(merge([_read(run) for run in runs]) if runs else iter(()), rows)


def _rising(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    last: bytes | None = None
    for table in tables:
        keys = table.column(KEY)
        if last is not None and keys[0].as_py() <= last:
            raise InvalidInput(
                f"import: the object store lists {row_path(keys, 0)!r} out of order; import from an inventory",
                kind=Kind.InvalidPath,
            )
        last = keys[-1].as_py()
        yield table


def _runs(tables: Iterator[pa.Table], directory: Path) -> tuple[list[Path], int]:
    """Return files of sorted records, and the number of their records."""
    runs: list[Path] = []
    waiting: list[pa.Table] = []
    total = rows = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        if rows >= RUN_ROWS:
            runs.append(_written(waiting, directory / str(len(runs))))
            total, rows, waiting = total + rows, 0, []
    if waiting:
        runs.append(_written(waiting, directory / str(len(runs))))
    return runs, total + rows


def _written(tables: list[pa.Table], file: Path) -> Path:
    table = sorted_by_key(pa.concat_tables(tables))
    with on_local_disk(), pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=_PAGE_ROWS)
    return file


def _read(file: Path) -> Iterator[pa.Table]:
    with on_local_disk(), pa.memory_map(str(file)) as source:
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            yield pa.Table.from_batches([reader.get_batch(number)])


def _all_of_them(merged: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Yield the tables. Raise `InvalidInput` at the end if there were more rows than keys; merging keeps one row of
    each key.
    """
    seen = 0
    for table in merged:
        seen += table.num_rows
        yield table
    if seen != rows:
        raise InvalidInput(
            f"import: {counted(rows - seen, 'key is', 'keys are')} listed again; an inventory must list one version "
            "of each object",
            kind=Kind.InvalidPath,
        )
