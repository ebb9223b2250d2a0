"""Sensor over kept branches. A kept branch is one that a run of a publication has left unpublished. The sensor
publishes the branches that are complete and checked, reports the others, and deletes old ones.

Branches are found in the repository, and their runs by the tags of the runs. Reports are read from the event log, so
that the cursor only says where the listing of branches continues.
"""

import time
from collections.abc import Container, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg

from dagster_graveler.publishing.evidence import ids_on, is_in_use
from dagster_graveler.publishing.examination import BranchExamination, opened
from dagster_graveler.publishing.groups import TableGroup
from dagster_graveler.publishing.instructions import examine, what_to_do
from dagster_graveler.publishing.kept import KeptBranch
from dagster_graveler.publishing.publish_requests import is_published, request
from dagster_graveler.publishing.publisher import MergeTarget, Publisher
from dagster_graveler.publishing.verdict import verdicts_table
from dagster_graveler.publishing.written import BRANCH, STATE
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.sensors import cursors
from dagster_graveler.sensors.skipping import skipped
from dagster_graveler.sensors.tick_time import TickTime
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository

PAGE = 100
"""Number of branches that a tick examines."""
_REPORTS = 1_000
"""Number of reports that a tick reads at a time, the newest ones first."""
_CLOCKS = timedelta(days=1).total_seconds()
"""Largest difference of clocks, in seconds, with which a report is found."""
_REPORT = "graveler/report"
"""Metadata key of a report. The value is a digest of the branch's uid and the reasons."""


class _Cursor(cursors.Cursor):
    version: Literal[1] = 1
    after: cursors.Place = ""
    """Last listed branch; empty for the start."""


def make_kept_branches_sensor(
    publisher: Publisher,
    target: MergeTarget,
    *,
    job: Any,
    keep_for: timedelta,
    interval_seconds: int,
) -> dg.SensorDefinition:
    """Return the sensor over the kept branches of a target.

    Args:
        publisher: The publication of the target.
        target: The target whose repository is examined.
        job: Job of the whole publication; the sensor requests runs of its publish asset.
        keep_for: Time after the last run for which a reported branch is kept.
        interval_seconds: Minimum time between two ticks.

    Returns:
        The sensor, named as the target's asset with the suffix `__kept_branches`.
    """
    group = target.group

    @dg.sensor(
        name=group.key.to_python_identifier("kept_branches"),
        job=job,
        minimum_interval_seconds=interval_seconds,
        required_resource_keys=publisher.branch_keys,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Publishes, reports and finally deletes branches on which tables of {group.name} were left.",
    )
    def kept_branches(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        branch: GravelerBranch = getattr(context.resources, target.branch_key)
        after = cursors.read(_Cursor, context.cursor).after
        repository = opened(branch)
        if repository is None:
            return dg.SensorResult(skip_reason=f"repository {branch.repository} does not exist yet")
        listed = list(islice(repository.branches(after=after, damaged=skipped(context.log)), PAGE))
        found, last = BranchExamination(context, publisher, TickTime()).kept(target, repository, listed)
        is_end = len(listed) < PAGE and (not listed or last == listed[-1].id)
        cursor = _Cursor(after="" if is_end else last).text()
        reported = _reported(context.instance, group, [each for each in found if each.reasons])
        heads: dict[str, str] = {branch.id: branch.commit_id for branch in listed}
        deleted = {
            each.place.branch
            for each in found
            if (why := _why_deleted(context.instance, each, reported, keep_for))
            and _delete(context, repository, each, heads[each.place.branch], why)
        }
        left = [each for each in found if each.place.branch not in deleted]
        requests = [request(group, each) for each in left if not each.reasons and not each.waits]
        events = [_observation(group, each) for each in left if each.reasons and each.report not in reported]
        kept = counted(len(found), "kept branch")
        told = (
            f"{kept} of {group.name}: {len(requests)} to publish, {len(events)} newly reported, {len(deleted)} deleted"
        )
        context.log.info(told)
        quiet = None if requests else told
        return dg.SensorResult(run_requests=requests, asset_events=events, cursor=cursor, skip_reason=quiet)

    return kept_branches


def _reported(instance: dg.DagsterInstance, group: TableGroup, kept: Sequence[KeptBranch]) -> set[str]:
    """Return the digests for which a report exists.

    Reports from before the first runs on the branches are not read: the asset may have those of many years.
    """
    if not kept:
        return set()
    wanted, found = {each.report for each in kept}, set[str]()
    since = _first_run(instance, kept)
    filters = dg.AssetRecordsFilter(group.publish_key, after_timestamp=None if since is None else since - _CLOCKS)
    cursor, more = None, True
    while more and not wanted <= found:
        page = instance.fetch_observations(filters, limit=_REPORTS, cursor=cursor)
        for record in page.records:
            observation = record.event_log_entry.asset_observation
            if observation is not None and _REPORT in observation.metadata:
                found.add(str(observation.metadata[_REPORT].value))
        cursor, more = page.cursor, page.has_more
    return found


def _first_run(instance: dg.DagsterInstance, kept: Sequence[KeptBranch]) -> float | None:
    """Return the time of the creation of the first run on any of some branches, in seconds since 1970."""
    first = dg.RunsFilter(run_ids=[each.evidence.runs[0].run_id for each in kept])
    created = [record.create_timestamp.timestamp() for record in instance.get_run_records(first)]
    return min(created, default=None)


def _observation(group: TableGroup, kept: KeptBranch) -> dg.AssetObservation:
    reasons = "; ".join(kept.reasons)
    metadata: Mapping[str, Any] = {
        STATE: "kept",
        BRANCH: kept.place.branch,
        "reason": reasons,
        "what to do": (what_to_do if kept.is_examined else examine)(group, kept.place, kept.run_with_partitions),
        "checks": verdicts_table([kept.verdict, *(each.verdict for each in kept.others)]),
        _REPORT: kept.report,
    }
    return dg.AssetObservation(
        group.publish_key, description=f"Branch {kept.place.branch} is kept: {reasons}", metadata=metadata
    )


def _why_deleted(instance: dg.DagsterInstance, kept: KeptBranch, reported: Container[str], keep_for: timedelta) -> str:
    """Return the reason to delete a branch: it is published, or was reported and not used for a time. It is empty for a
    branch that stays.
    """
    if is_published(kept):
        return "published, and nothing was written on it since"
    if kept.report not in reported or not kept.is_examined:
        return ""
    record = instance.get_run_record_by_id(kept.newest_run.run_id)
    ended = record.end_time if record is not None else None
    if ended is None or time.time() - ended < keep_for.total_seconds():
        return ""
    return f"kept for more than {counted(keep_for.days, 'day')}: {'; '.join(kept.reasons)}"


def _delete(
    context: dg.SensorEvaluationContext, repository: "Repository", kept: KeptBranch, head: str, why: str
) -> bool:
    """Delete a branch that nobody has used since its examination. Return true if it was deleted.

    Args:
        context: Context of the tick.
        repository: The repository.
        kept: The branch.
        head: Head of the branch before the examination.
        why: Reason of the deletion.
    """
    from graveler_core.errors import Conflict, GravelerError, NotFound

    try:
        branch = repository.branch(kept.place.branch).record()
        used = is_in_use(context.instance, kept.place)
        used = used or ids_on(context.instance, kept.place) != {run.run_id for run in kept.evidence.runs}
        if used or str(branch.uid) != kept.place.uid:
            return False
        repository.delete_branch(kept.place.branch, expected=head, by="dagster", message=why[:500])
    except (NotFound, Conflict):
        return False
    except GravelerError as error:
        context.log.warning(f"branch {kept.place.branch} of repository {kept.place.repository} is not deleted: {error}")
        return False
    return True
