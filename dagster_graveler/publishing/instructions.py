"""Sentences that tell a user about a branch that is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote

import dagster as dg

from dagster_graveler.publishing.evidence import BranchIdentity
from dagster_graveler.publishing.groups import TableGroup
from dagster_graveler.run_tags import BRANCH_TAG
from dagster_graveler.runs import partition_label


def what_to_do(group: TableGroup, place: BranchIdentity, run: dg.DagsterRun | None) -> str:
    """Return the ways to repair, publish or delete a kept branch.

    Args:
        group: The group of the branch.
        place: The branch.
        run: A run on the branch, for its partitions.
    """
    of = _for_partition(run)
    return (
        f"To repair it, materialize the tables named above with their checks{of}, and then {group.publish_asset}. New "
        f"runs over a part of the group find this branch; in other cases set the run tag {BRANCH_TAG}={place.branch}. "
        "Re-executing only a check cannot help if the data is wrong: re-execute from the step that writes the table. "
        f"To discard it: graveler branch delete graveler://{place.repository}/{place.branch}"
    )


def examine(group: TableGroup, place: BranchIdentity, run: dg.DagsterRun | None) -> str:
    """Return advice on a branch that the sensor cannot examine.

    Args:
        group: The group of the branch.
        place: The branch.
        run: A run on the branch, for its partitions.
    """
    of = _for_partition(run)
    return (
        "The sensor neither publishes nor deletes this branch. To publish it, materialize "
        f"{group.publish_asset}{of} with the run tag {BRANCH_TAG}={place.branch}. To look for damage: "
        f"graveler fsck graveler://{place.repository}. To discard it: graveler branch delete graveler://{place.repository}/{place.branch}"
    )


def run_again(group: TableGroup, place: BranchIdentity, run: dg.DagsterRun | None) -> str:
    """Return advice on a branch whose merge was refused because another publication was merged first.

    Args:
        group: The group of the branch.
        place: The branch.
        run: A run on the branch, for its partitions.
    """
    of = _for_partition(run)
    return (
        f"To publish, run again: materialize all tables and {group.publish_asset}{of} in one run, which begins a new "
        f"branch. To discard this branch: graveler branch delete graveler://{place.repository}/{place.branch}"
    )


def of_other_group(name: str, path: str, group: str) -> str:
    """Return advice on a required check of a table of another group that the publication changes.

    Args:
        name: Name of the check.
        path: Path of the table.
        group: Name of the other group.
    """
    return (
        f"check {name!r} is about path {path!r}, which this publication changes, and no run of this group evaluates "
        f"it; publish it with group {group}"
    )


def unreported(group: TableGroup, repository: str, rules: Mapping[str, Sequence[str]]) -> str:
    """Return advice on required checks that no report of a publication explains.

    Args:
        group: The group of the branch.
        repository: The repository.
        rules: Names of the checks in each rule that requires them of the published branch, by pattern.
    """
    names = sorted({name for checks in rules.values() for name in checks})
    commands = "; ".join(
        f"graveler check unrequire {quote(f'graveler://{repository}/{pattern}')} {' '.join(map(quote, checks))}"
        for pattern, checks in rules.items()
    )
    return (
        f"no publication is known to have reported {', '.join(map(repr, names))} for an unchanged table, and no run "
        f"of {group.publish_asset} evaluates it. If its table or check was removed or renamed, stop requiring it: "
        f"{commands}"
    )


def kept(place: BranchIdentity, reasons: Sequence[str], advice: str, one_of_several: bool) -> str:
    """Return the description of a branch that is kept.

    Args:
        place: The branch.
        reasons: Reasons why it is not published.
        advice: What to do.
        one_of_several: True if the run has branches in several repositories.
    """
    because = "\n".join(f"- {reason}" for reason in reasons)
    of = f" of repository {place.repository!r}" if one_of_several else ""
    return f"kept: branch {place.branch!r}{of} is not published.\n{because}\n{advice}"


def _for_partition(run: dg.DagsterRun | None) -> str:
    label = partition_label(run) if run is not None else ""
    return f" for partition {label}" if label else ""
