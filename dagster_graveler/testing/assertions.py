"""Assertions about published data. Each error message says what was expected and what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from dagster_graveler.publishing.written import BRANCH
from dagster_graveler.testing.lake import EphemeralLake
from graveler_core.model.counting import counted


def assert_published(lake: EphemeralLake, run: dg.ExecuteInProcessResult | str) -> str:
    """Assert that a run published its tables: the published branch has a commit of the run.

    Args:
        lake: The lake.
        run: The result of the run, or its id.

    Returns:
        The id of the newest commit of the run.
    """
    run_id, into = _run_id(run), lake.branch.into
    commits = _commits_of(lake, run_id)
    assert commits, f"run {run_id}: published nothing; branch {into!r} has no commit of this run"
    return commits[0]


def assert_kept(lake: EphemeralLake, run: dg.ExecuteInProcessResult | str) -> str:
    """Assert that a run published nothing, and that its branch is kept for inspection.

    Args:
        lake: The lake.
        run: The result of the run, or its id.

    Returns:
        The name of the branch.
    """
    run_id, into = _run_id(run), lake.branch.into
    commits = _commits_of(lake, run_id)
    assert not commits, f"run {run_id}: was published on branch {into!r} in commit {commits[0]}"
    written = _branches_of(lake.instance, run_id)
    assert written, f"run {run_id}: wrote no table"
    existing = {branch.id for branch in lake.repository.branches()}
    missing = sorted(written - existing)
    assert not missing, f"run {run_id}: branch {missing[0]!r} is not kept"
    return min(written)


def assert_content(lake: EphemeralLake, ref: str, path: str, expected: bytes | Sequence[Mapping[str, Any]]) -> None:
    """Assert that a path has this content at a ref.

    Args:
        lake: The lake.
        ref: Ref expression, such as `main`.
        path: Path of a file, or of a table.
        expected: Content of the file, or the rows of the table in any order, as mappings of column to value.
    """
    at = lake.repository.at(ref)
    if isinstance(expected, bytes):
        found = at.read(path)
        assert found == expected, f"path {path!r} at {ref!r}: is {found[:200]!r}, expected {expected[:200]!r}"
        return
    rows, wanted = _rows(lake, ref, path), [dict(row) for row in expected]
    for row in wanted:
        assert row in rows, (
            f"table {path!r} at {ref!r}: misses the row {row}; it has {counted(len(rows), 'row')}: {rows[:5]}"
        )
        rows.remove(row)
    assert not rows, (
        f"table {path!r} at {ref!r}: has {counted(len(rows), 'row that is', 'rows that are')} not expected: {rows[:5]}"
    )


def _rows(lake: EphemeralLake, ref: str, path: str) -> list[dict[str, Any]]:
    from dagster_graveler.io_managers.datasets import open_dataset
    from dagster_graveler.io_managers.storage import table_files
    from dagster_graveler.io_managers.table_path import TablePath

    at = lake.repository.at(ref)
    files = [file for files in table_files(at, TablePath(path, path)).values() for file in files]
    assert files, f"table {path!r} at {ref!r}: has no files"
    rows: list[dict[str, Any]] = open_dataset(at, files, None, path).to_table().to_pylist()
    return rows


def _commits_of(lake: EphemeralLake, run_id: str) -> list[str]:
    return [entry.id for entry in lake.repository.log(lake.branch.into) if entry.metadata.get("run") == run_id]


def _branches_of(instance: dg.DagsterInstance, run_id: str) -> set[str]:
    found = set()
    for event in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        materialization = event.asset_materialization
        value = materialization.metadata.get(BRANCH) if materialization is not None else None
        if value is not None:
            found.add(str(value.value))
    return found


def _run_id(run: dg.ExecuteInProcessResult | str) -> str:
    return run if isinstance(run, str) else run.run_id
