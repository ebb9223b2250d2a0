"""Choice of the branch on which a run works.

The choice depends only on the run, its tags, and runs that ended before it was created. Therefore all steps of a run
make the same choice, although each may run in a process of its own.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import dagster as dg

from dagster_graveler.publishing.groups import Publication, publications_of
from dagster_graveler.run_tags import (
    BRANCH_TAG,
    CHOSEN_TAG,
    MARKED_TAG,
    PUBLISH_TAG,
    MarkedBranch,
    branch_mark,
    marked_branch,
    publish_tag,
)
from dagster_graveler.runs import (
    is_created_by_run,
    is_resumption,
    origin_run,
    partition_label,
    partition_tags,
    planned_assets,
    planned_checks,
)
from dagster_graveler.sensors.run_states import ENDED

_PAGE = 100
"""Number of earlier runs that are read at a time."""


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
    uid: str
    """Uid that the branch must have; empty if the run has not seen the branch yet."""
    chosen: Chosen
    resumes: bool = False
    """True if the run continues with what a parent run wrote."""


def choose(
    instance: dg.DagsterInstance,
    run: dg.DagsterRun,
    repository: str,
    template: Callable[[], str | None],
    exists: Callable[[str, str], bool],
) -> BranchChoice | None:
    """Choose the branch of a run. Return `None` if the run continues no branch and cannot have one of its own.

    Args:
        instance: The instance of the run.
        run: The run.
        repository: Name of the repository.
        template: Function that returns the name of a branch of the run's own, or `None` if the run lacks a field of
            the template.
        exists: Function that returns true if the branch with this name and uid exists.
    """
    tags = (instance.get_run_by_id(run.run_id) or run).tags
    marked_by, resumes = tags.get(MARKED_TAG), is_resumption(instance, run)
    copied = marked_by not in (None, run.run_id) and not resumes  # by Dagster, from a parent run
    if copied:
        by_user = BRANCH_TAG in tags and _is_named_by_user(instance, tags)
        named = BranchChoice(tags[BRANCH_TAG], "", Chosen.TAG, resumes) if by_user else None
    else:
        named = _named(tags, repository, resumes)
    first = origin_run(instance, run) or run
    if named is None and resumes:
        named = _named(first.tags, repository, resumes)
    if named is not None:
        return named
    kept = _kept(instance, first, repository, publications_for(instance, first), exists)
    if kept is not None:
        return kept
    own_name = template()
    return None if own_name is None else BranchChoice(own_name, "", Chosen.TEMPLATE, resumes)


def _named(tags: Mapping[str, str], repository: str, resumes: bool) -> BranchChoice | None:
    """Return the branch that the tags of a run name: the run has used it, or the user has chosen it."""
    name = tags.get(BRANCH_TAG)
    chosen = Chosen(tags.get(CHOSEN_TAG, Chosen.TAG)) if MARKED_TAG in tags else Chosen.TAG
    marked = marked_branch(tags, repository)
    if marked is not None:
        return BranchChoice(*marked, chosen, resumes)
    if name and chosen is Chosen.TAG:
        return BranchChoice(name, "", chosen, resumes)
    return None  # the run has marked only a branch of another repository


def publications_for(instance: dg.DagsterInstance, run: dg.DagsterRun) -> tuple[Publication, ...]:
    """Return the publications to which the assets and checks of a run belong."""
    checked = {check.asset_key for check in planned_checks(instance, run.run_id)}
    return publications_of(planned_assets(instance, run.run_id) | checked)


def marks(
    run: dg.DagsterRun, choice: BranchChoice, repository: str, uid: str, publication: Publication | None
) -> dict[str, str]:
    """Return the tags of a run that uses a branch.

    Args:
        run: The run.
        choice: The choice of the branch.
        repository: Name of the repository.
        uid: Uid of the branch.
        publication: The publication of the run in this repository, or `None`.
    """
    tags = {
        BRANCH_TAG: choice.name,
        **branch_mark(repository, MarkedBranch(choice.name, uid)),
        CHOSEN_TAG: choice.chosen.value,
        MARKED_TAG: run.run_id,
    }
    return tags if publication is None else {**tags, publish_tag(repository): publication.name}


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
    publications: Sequence[Publication],
    exists: Callable[[str, str], bool],
) -> BranchChoice | None:
    """Return the newest kept branch for the same partitions, if the run covers only a part of its publication.

    A run of checks may have no partitions although the tables have. It gets the branch on which the tables were last
    written, because Dagster shows the results on the newest materializations.
    """
    planned = planned_assets(instance, run.run_id)
    parts = [publication.name for publication in publications if not publication.is_whole(planned)]
    if not parts:
        return None
    record = instance.get_run_record_by_id(run.run_id)
    if record is None:
        return None
    if not planned and not partition_label(run):
        created, writer = record.create_timestamp.timestamp(), _last_writer(instance, record)
        if writer is not None and not _ended_before(writer, created):
            return None  # Dagster shows the results on the writes of an unfinished run, so no older branch is measured
        if writer is not None and _marked_itself(writer.dagster_run):
            written = marked_branch(writer.dagster_run.tags, repository)
            if written is not None:
                return BranchChoice(*written, Chosen.KEPT) if exists(*written) else None
    for earlier in _earlier(instance, run, repository, parts, record.create_timestamp):
        found = earlier.dagster_run
        marked = marked_branch(found.tags, repository)
        same = partition_label(found) == partition_label(run) and _marked_itself(found)
        ended = _ended_before(earlier, record.create_timestamp.timestamp())
        if ended and same and marked is not None and is_created_by_run(instance, repository, marked):
            return BranchChoice(*marked, Chosen.KEPT) if exists(*marked) else None
    return None


def _last_writer(instance: dg.DagsterInstance, run: dg.RunRecord) -> dg.RunRecord | None:
    """Return the run with the newest materialization of the tables that a run checks."""
    created = run.create_timestamp.timestamp()
    tables = {check.asset_key for check in planned_checks(instance, run.dagster_run.run_id)}
    filters = [dg.AssetRecordsFilter(asset_key=key, before_timestamp=created) for key in tables]
    found = [record for each in filters for record in instance.fetch_materializations(each, limit=1).records]
    newest = max(found, key=lambda record: record.storage_id, default=None)
    return None if newest is None else instance.get_run_record_by_id(newest.run_id)


def _ended_before(record: dg.RunRecord, timestamp: float) -> bool:
    return record.end_time is not None and record.end_time <= timestamp


def _marked_itself(run: dg.DagsterRun) -> bool:
    """Return true if the tags about the branch are of the run itself, and not copied from a parent run."""
    return run.tags.get(MARKED_TAG) == run.run_id


def _earlier(
    instance: dg.DagsterInstance,
    run: dg.DagsterRun,
    repository: str,
    publications: Sequence[str],
    created_before: datetime,
) -> Iterator[dg.RunRecord]:
    """Yield the ended runs of some publications that may have the partitions of a run, the newest first.

    Runs of former versions name their publication by `PUBLISH_TAG` itself.
    """
    searches = [
        _pages(
            instance,
            dg.RunsFilter(tags={tag: publications, **partitions}, created_before=created_before, statuses=list(ENDED)),
        )
        for tag in (publish_tag(repository), PUBLISH_TAG)
        for partitions in partition_tags(run)
    ]
    return heapq.merge(*searches, key=lambda record: -record.storage_id)


def _pages(instance: dg.DagsterInstance, filters: dg.RunsFilter) -> Iterator[dg.RunRecord]:
    """Yield the runs that a filter finds, the newest first. They are read page by page."""
    cursor = None
    while True:
        page = instance.get_run_records(filters, limit=_PAGE, cursor=cursor)
        yield from page
        if len(page) < _PAGE:
            return
        cursor = page[-1].dagster_run.run_id
