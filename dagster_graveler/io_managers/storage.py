"""Files of tables in a repository: those that are there, and their replacement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.io_managers.table_path import TablePath
from dagster_graveler.listing import entries_of_one_state
from dagster_graveler.partition_directories import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from graveler_core.facade.branch import Branch
    from graveler_core.facade.snapshot import Snapshot
    from graveler_core.model.entry import Entry

PARQUET = "application/vnd.apache.parquet"
_READ_BYTES = 8 << 20
_OWN = re.compile(r"((?:[^/=]+=[^/]*/)*)([^/]+)")
"""Path of a file of a table, below the table: directories of partitions and a name."""


def table_files(at: Snapshot, table: TablePath) -> dict[tuple[str, ...], list[Entry]]:
    """Return the files of a table in one state, by the escaped values of their partition.

    Files in directories that are not partitions belong to other tables. Names that begin with `_` or `.` are hidden.

    Args:
        at: State to read.
        table: The table. With one key, only the files of that partition are listed.
    """
    found: dict[tuple[str, ...], list[Entry]] = {}
    prefix = table.directories[0] if len(table.keys) == 1 else f"{table.path}/"
    if len(table.keys) == 1 and (stored := stored_names(at, table)):
        wanted = zip(stored, table.values[0], strict=False)
        prefix = f"{table.path}/" + "".join(f"{name}={escaped(value)}/" for name, value in wanted)
    for entry in _own_entries(at, table, prefix):
        directories, _, name = entry.path.removeprefix(f"{table.path}/").rpartition("/")
        if not name.startswith(("_", ".")):
            values = tuple(each.partition("=")[2] for each in directories.split("/") if each)
            found.setdefault(values, []).append(entry)
    return found


def own_files(at: Snapshot, table: TablePath, prefix: str) -> Iterator[str]:
    """Return the paths of a table's own files, hidden ones included, below a prefix, in one state."""
    return (entry.path for entry in _own_entries(at, table, prefix))


def _own_entries(at: Snapshot, table: TablePath, prefix: str) -> Iterator[Entry]:
    listed = entries_of_one_state(at, prefix)
    return (entry for entry in listed if _OWN.fullmatch(entry.path.removeprefix(f"{table.path}/")))


def stored_names(at: Snapshot | Branch, table: TablePath) -> list[str]:
    """Return the names of the partition directories that a table has, one for each level, escaped."""
    names: list[str] = []
    prefix = f"{table.path}/"
    for _ in table.dimensions:
        found = next((item.path for item in at.list(prefix, delimiter="/") if _is_partition(item.path, prefix)), None)
        if found is None:
            break
        names.append(found.removeprefix(prefix).partition("=")[0])
        prefix = found
    return names


def require_layout(at: Branch, table: TablePath) -> None:
    """Require that the files of a table are where this write expects them.

    Raises:
        DagsterInvariantViolationError: The table has other partition directories, or files outside of partitions, or
            its path contains another table.
    """
    if not table.keys:
        for entry in at.list(f"{table.path}/"):
            if not _OWN.fullmatch(entry.path.removeprefix(f"{table.path}/")):
                raise _layout_error(table, f"contains the file {entry.path!r}, which is not part of the table")
        return
    names = [escaped(dimension.name) for dimension in table.dimensions]
    stored = stored_names(at, table)
    if stored and stored != names:
        raise _layout_error(table, f"has partition directories named {stored}, but this write names them {names}")
    if next(iter(at.list(f"{table.path}/part-", limit=1)), None) is not None:
        raise _layout_error(table, "contains files that belong to no partition")


def replace_files(branch: Branch, new: Mapping[str, Path], former: Sequence[str]) -> None:
    """Stage local files on a branch, and remove the files that they replace, in one step.

    Args:
        branch: The branch.
        new: Local files by path.
        former: Paths to remove. Paths that are also new are replaced.
    """
    branch.put_many({path: _content(local) for path, local in new.items()}, remove=former, content_type=PARQUET)


def _content(local: Path) -> Iterator[bytes]:
    """Read a file. It is opened when its content is needed, so that only one file is open at a time."""
    with local.open("rb") as file:
        yield from iter(lambda: file.read(_READ_BYTES), b"")


def _is_partition(path: str, prefix: str) -> bool:
    return path.endswith("/") and "=" in path.removeprefix(prefix)


def _layout_error(table: TablePath, problem: str) -> dg.DagsterInvariantViolationError:
    return dg.DagsterInvariantViolationError(
        f"asset {table.asset}: path {table.path!r} {problem}. Remove these files first, or choose another path"
    )
