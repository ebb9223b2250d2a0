"""Files that an input asks for, and the error for files that are not stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.io_managers.table_path import TablePath
from dagster_graveler.partition_directories import escaped
from dagster_graveler.publishing.written import BRANCH
from dagster_graveler.resources.graveler_branch import GravelerBranch

if TYPE_CHECKING:
    from graveler_core.model.entry import Entry

ALLOW_MISSING = "allow_missing_partitions"
"""Metadata of an input: if true, partitions that are not stored are left out."""


def requested_files(
    table: TablePath,
    stored: Mapping[tuple[str, ...], Sequence[Entry]],
    context: dg.InputContext,
    *,
    may_be_empty: bool,
) -> dict[str, Sequence[Entry]] | None:
    """Return the files of the requested partitions by key, or those of the whole table by the key "".

    Args:
        table: The table, with the keys of the requested partitions.
        stored: Files of the table by the escaped values of their partition.
        context: Context of the input.
        may_be_empty: True if the input may get no partition at all, where missing partitions are allowed.

    Returns:
        The files, or `None` if a partition or the table is not stored and the input does not allow this.
    """
    if not table.keys:
        whole = [file for files in stored.values() for file in files]
        return {"": whole} if whole else None
    places = {key: tuple(map(escaped, values)) for key, values in zip(table.keys, table.values, strict=True)}
    parts = {str(key): stored[place] for key, place in places.items() if place in stored}
    if not ((context.definition_metadata or {}).get(ALLOW_MISSING) or is_of_check(context)):
        return parts if len(parts) == len(table.keys) else None
    return parts if parts or may_be_empty else None


def is_of_check(context: dg.InputContext) -> bool:
    """Return true for an input of an asset check, which measures the table with the partitions that are stored."""
    try:
        step = context.step_context
    except dg.DagsterInvariantViolationError:
        return False  # the value is loaded outside of a run
    return step.is_asset_check_step and not step.is_sda_step


def missing_error(
    table: TablePath,
    stored: Mapping[tuple[str, ...], Sequence[Entry]],
    context: dg.InputContext,
    branch: GravelerBranch,
    ref: str,
) -> dg.DagsterInvariantViolationError:
    """Return the error for files that are not stored.

    If the newest materialization is on a branch that is not published, the error names this branch, because a run reads
    only published data of other runs.

    Args:
        table: The table, with the keys of the requested partitions.
        stored: Files of the table by the escaped values of their partition.
        context: Context of the input.
        branch: Branch of the run.
        ref: Ref that was read.
    """
    missing = [
        str(key)
        for key, values in zip(table.keys, table.values, strict=True)
        if tuple(map(escaped, values)) not in stored
    ]
    if not missing:
        what = f"path {table.path!r} is not stored at {ref!r}"
    elif len(missing) == len(table.keys) > 1:
        what = f"none of the partitions {table.shown_keys} of {table.path!r} is stored at {ref!r}"
    else:
        what = f"partition {missing[0]!r} of {table.path!r} is not stored at {ref!r}"
    return dg.DagsterInvariantViolationError(f"asset {table.asset}: {what}{_unpublished(context, branch, missing)}")


def _unpublished(context: dg.InputContext, branch: GravelerBranch, missing: Sequence[str]) -> str:
    """Return the end of the message: the branch that has the newest materialization, if it still exists."""
    filters = dg.AssetRecordsFilter(asset_key=context.asset_key, asset_partitions=missing[:1] or None)
    for record in context.instance.fetch_materializations(filters, limit=1).records:
        materialization = record.asset_materialization
        value = None if materialization is None else materialization.metadata.get(BRANCH)
        name = None if value is None else value.value
        if isinstance(name, str) and name != branch.name and branch.is_branch(name):
            return (
                f". The newest materialization is on the branch {name!r}, which is not published into {branch.into!r}"
            )
    return ""
