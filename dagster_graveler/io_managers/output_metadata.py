"""Metadata of stored values, with the keys that the Dagster UI knows."""

from __future__ import annotations

from collections.abc import Set
from contextlib import suppress
from functools import partial
from typing import Any

from dagster_graveler.io_managers.handlers.port import StoredValue
from dagster_graveler.io_managers.listed_files import FileChanged, read_unchanged
from dagster_graveler.io_managers.storage import table_files
from dagster_graveler.io_managers.table_path import TablePath
from dagster_graveler.publishing.written import Prefixes, partition_pattern, written
from dagster_graveler.resources.graveler_branch import GravelerBranch

STORAGE_KIND = "graveler"
FOOTERS = 64
"""Maximum number of files whose rows are counted to show the number of rows of a partitioned table."""


def output_metadata(branch: GravelerBranch, table: TablePath, stored: StoredValue, *, replaced: bool) -> dict[str, Any]:
    """Return the metadata of a write.

    Args:
        branch: Branch of the run.
        table: Place of the value.
        stored: Result of the write.
        replaced: True if the former files were replaced, false if files were added.
    """
    places = _places(table)
    metadata: dict[str, Any] = {
        "dagster/table_name": ".".join([branch.repository, *table.path.split("/")]),
        "dagster/storage_kind": STORAGE_KIND,
        "dagster/uri": f"graveler://{branch.repository}/{branch.name}/{table.path}",
        **written(branch.open_after_write(), table.path, **{"replaced" if replaced else "added": places}),
        "files": len(stored.paths),
        "bytes": stored.size,
    }
    if stored.rows is None:
        return metadata
    metadata["dagster/column_schema"] = stored.schema
    # Dagster shows the metadata of a write at each of its partitions. The total of several is not the count of one.
    if table.keys:
        metadata["dagster/partition_row_count" if len(table.keys) == 1 else "rows"] = stored.rows
    total = _table_rows(branch, table, stored, replaced=replaced)
    return metadata if total is None else {**metadata, "dagster/row_count": total}


def _places(table: TablePath) -> Prefixes:
    """Return the written directories. All of several partitions would stand in the event of each of them."""
    if len(table.keys) > 1:
        return partition_pattern(table.path, [dimension.name for dimension in table.dimensions])
    return table.directories


def _table_rows(branch: GravelerBranch, table: TablePath, stored: StoredValue, *, replaced: bool) -> int | None:
    """Return the number of rows of the whole table after the write: the written rows, and those of all other files.

    It is `None` if that would take too many reads, or if others change the table all the time.
    """
    if replaced and not table.keys:
        return stored.rows
    with suppress(FileChanged):
        others = read_unchanged(partial(_other_rows, branch, TablePath(table.asset, table.path), set(stored.paths)))
        return None if others is None else (stored.rows or 0) + others
    return None


def _other_rows(branch: GravelerBranch, table: TablePath, written_paths: Set[str]) -> int | None:
    """Return the number of rows of a table in one state, without those of some files, or `None` for too many files."""
    from dagster_graveler.io_managers.datasets import row_count

    at = branch.open_after_write()
    others = [file for files in table_files(at, table).values() for file in files if file.path not in written_paths]
    return None if len(others) > FOOTERS else row_count(at, others, table.asset)
