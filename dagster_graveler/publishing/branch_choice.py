"""BranchChoice of the branch on which a run works.

The choice depends on the run, its tags, and runs that ended before it was created, so that all steps of a run make the
same one, each in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import dagster as dg

from dagster_graveler.publishing.groups import TableGroup, group_of
from dagster_graveler.run_tags import (
    BRANCH_TAG,
    BRANCH_UID_TAG,
    CHOSEN_TAG,
    MARKED_TAG,
    PUBLISH_TAG,
    REPOSITORY_TAG,
)
from dagster_graveler.runs import is_resumption, origin_run, partition_label, planned_assets, planned_checks
from dagster_graveler.sensors.run_states import ENDED


class Chosen(StrEnum):
    """Way in which the branch of a run was found."""

    TEMPLATE = "template"
    """By the template: a branch of the run's own."""
    KEPT = "kept"
    """An earlier run of the same group and partitions left it unpublished."""
    TAG = "tag"
    """The user named it in a run tag."""


@dataclass(frozen=True, slots=True)
class BranchChoice:
    """The branch of a run."""

    name: str
    chosen: Chosen
    uid: str = ""
    """Uid that the branch must have; empty if the run has not seen the branch yet."""
    resumes: bool = False
    """True if the run continues with what a parent run wrote."""


def choose(
    instance: dg.DagsterInstance,
    run: dg.DagsterRun,
    repository: str,
    template: Callable[[], str],
    exists: Callable[[str, str], bool],
) -> BranchChoice:
    """Choose the branch of a run.

    Args:
        instance: The instance of the run.
        run: The run.
        repository: Name of the repository.
        template: Function that returns the name of a branch of the run's own.
        exists: Function that returns true if the branch with this name and uid exists.
    """
    tags = (instance.get_run_by_id(run.run_id) or run).tags
    marked_by, name = tags.get(MARKED_TAG), tags.get(BRANCH_TAG)
    resumes = is_resumption(run)
    if name and (marked_by in (None, run.run_id) or resumes or _is_named_by_user(instance, tags)):
        inherited_name_only = marked_by not in (None, run.run_id) and not resumes
        uid = "" if inherited_name_only else tags.get(BRANCH_UID_TAG, "")
        chosen = Chosen.TAG if marked_by is None or inherited_name_only else Chosen(tags.get(CHOSEN_TAG, Chosen.TAG))
        return BranchChoice(name, chosen, uid, resumes)
    first = origin_run(instance, run) or run
    if resumes and BRANCH_TAG in first.tags:
        return BranchChoice(first.tags[BRANCH_TAG], Chosen.TEMPLATE, first.tags.get(BRANCH_UID_TAG, ""), resumes)
    kept = _kept(instance, first, repository, group_for(instance, first), exists)
    return kept or BranchChoice(template(), Chosen.TEMPLATE, resumes=resumes)


def group_for(instance: dg.DagsterInstance, run: dg.DagsterRun) -> TableGroup | None:
    """Return the group to which the assets and checks of a run belong, or `None`."""
    checked = {check.asset_key for check in planned_checks(instance, run.run_id)}
    return group_of(planned_assets(instance, run.run_id) | checked)


def marks(
    run: dg.DagsterRun, choice: BranchChoice, repository: str, uid: str, group: TableGroup | None
) -> dict[str, str]:
    """Return the tags of a run that uses a branch.

    Args:
        run: The run.
        choice: The choice of the branch.
        repository: Name of the repository.
        uid: Uid of the branch.
        group: The group of the run, or `None`.
    """
    tags = {
        REPOSITORY_TAG: repository,
        BRANCH_TAG: choice.name,
        BRANCH_UID_TAG: uid,
        CHOSEN_TAG: choice.chosen.value,
        MARKED_TAG: run.run_id,
    }
    return tags if group is None else {**tags, PUBLISH_TAG: group.name}


def _is_named_by_user(instance: dg.DagsterInstance, tags: Mapping[str, str]) -> bool:
    """Return true if tags that Dagster copied from a parent run name a branch that the user chose."""
    if tags.get(CHOSEN_TAG) == Chosen.TAG:
        return True
    marking = instance.get_run_by_id(tags[MARKED_TAG])
    return marking is not None and marking.tags.get(BRANCH_TAG) != tags[BRANCH_TAG]


def _kept(
    instance: dg.DagsterInstance,
    run: dg.DagsterRun,
    repository: str,
    group: TableGroup | None,
    exists: Callable[[str, str], bool],
) -> BranchChoice | None:
    """Return the newest branch of the group for the same partitions, if the run covers a part of the group."""
    if group is None or group.is_whole(planned_assets(instance, run.run_id)):
        return None
    record = instance.get_run_record_by_id(run.run_id)
    if record is None:
        return None
    tags = {REPOSITORY_TAG: repository, PUBLISH_TAG: group.name}
    filters = dg.RunsFilter(tags=tags, created_before=record.create_timestamp, statuses=list(ENDED))
    for earlier in instance.get_run_records(filters):
        found = earlier.dagster_run
        ended = earlier.end_time is not None and earlier.end_time <= record.create_timestamp.timestamp()
        same = partition_label(found) == partition_label(run) and found.tags.get(MARKED_TAG) == found.run_id
        if ended and same:
            name, uid = found.tags[BRANCH_TAG], found.tags[BRANCH_UID_TAG]
            return BranchChoice(name, Chosen.KEPT, uid) if exists(name, uid) else None
    return None
