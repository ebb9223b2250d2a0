"""Sensor over kept branches: it publishes what is complete and checked, reports the others, and deletes old ones.

Branches are found in the repository, and their runs by the tags of the runs. Reports are read from the event log, so
that the cursor only says where the listing of branches continues.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg

from dagster_graveler.publishing.evidence import Evidence, Place, gather, runs_on
from dagster_graveler.publishing.groups import TableGroup
from dagster_graveler.publishing.instructions import what_to_do
from dagster_graveler.publishing.verdict import Verdict, judge, kept_changes
from dagster_graveler.publishing.written import BRANCH, STATE
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.run_tags import BRANCH_TAG, BRANCH_UID_TAG, PUBLISH_TAG
from dagster_graveler.runs import PARTITION_TAG, RANGE_END_TAG, RANGE_START_TAG, planned_assets
from dagster_graveler.sensors import cursors
from dagster_graveler.sensors.run_states import ENDED

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository
    from graveler_core.model.entities import Branch

PAGE = 100
"""Number of branches that a tick examines."""
_REPORTS = 1_000
"""Number of newest reports that a tick reads."""
_REPORT = "graveler/report"
"""Metadata of a report: digest of the branch's uid and the reasons."""
_PARTITION_TAGS = (PARTITION_TAG, RANGE_START_TAG, RANGE_END_TAG)


class _Cursor(cursors.Cursor):
    version: Literal[1] = 1
    after: cursors.Place = ""
    """Last listed branch; empty for the start."""


@dataclass(frozen=True, slots=True)
class KeptBranch:
    """A branch of a group that all its runs have left, and the decision about it."""

    place: Place
    evidence: Evidence
    verdict: Verdict
    reasons: tuple[str, ...]
    """Reasons why it is not published; none if it is to be published."""

    @property
    def newest_run(self) -> dg.DagsterRun:
        """Last run that used the branch."""
        return self.evidence.runs[-1]

    @property
    def report(self) -> str:
        """Digest of the branch and the reasons, equal for equal reports."""
        return hashlib.sha256("\n".join((self.place.uid, *self.reasons)).encode()).hexdigest()[:16]

    @property
    def state(self) -> str:
        """Key of the evidence: changes with each write and each result of a check."""
        times = [write.timestamp for write in self.evidence.writes.values()]
        times += [evaluation.timestamp for evaluation in self.evidence.evaluations.values()]
        return f"{self.place.uid}/{max(times, default=0.0):.6f}"


def make_kept_branches_sensor(
    group: TableGroup,
    *,
    job: Any,
    branch_key: str,
    keep_for: timedelta,
    interval_seconds: int,
) -> dg.SensorDefinition:
    """Return the sensor over the kept branches of a group.

    Args:
        group: The group.
        job: Job of the whole group; the sensor requests runs of its publish asset.
        branch_key: Key of the resource `GravelerBranch`.
        keep_for: Time after the last run for which a reported branch is kept.
        interval_seconds: Minimum time between two ticks.
    """

    @dg.sensor(
        name=f"{'__'.join(group.key.path)}__kept_branches".replace("-", "_"),
        job=job,
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={branch_key},
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Publishes, reports and finally deletes branches on which tables of {group.name} were left.",
    )
    def kept_branches(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        branch: GravelerBranch = getattr(context.resources, branch_key)
        after = cursors.read(_Cursor, context.cursor).after
        repository = _repository(branch)
        if repository is None:
            return dg.SensorResult(skip_reason=f"repository {branch.repository} does not exist yet")
        listed = list(repository.branches(after=after, limit=PAGE))
        cursor = _Cursor(after=listed[-1].id if len(listed) == PAGE else "").text()
        found = list(_kept(context.instance, repository, group, branch.into, listed))
        reported = _reported(context.instance, group)
        requests = [_request(group, each) for each in found if not each.reasons]
        events = [_observation(group, each) for each in found if each.reasons and each.report not in reported]
        deleted = [each for each in found if each.report in reported and _delete(context, repository, each, keep_for)]
        told = (
            f"{len(found)} kept branches of {group.name}: {len(requests)} to publish, {len(events)} newly reported, "
            f"{len(deleted)} deleted after {keep_for.days} days"
        )
        context.log.info(told)
        quiet = None if requests or events else told
        return dg.SensorResult(run_requests=requests, asset_events=events, cursor=cursor, skip_reason=quiet)

    return kept_branches


def _repository(branch: GravelerBranch) -> "Repository | None":
    from graveler_core.errors import NotFound

    try:
        return branch.graveler.graveler().repository(branch.repository)
    except NotFound:
        return None


def _kept(
    instance: dg.DagsterInstance,
    repository: "Repository",
    group: TableGroup,
    into: str,
    branches: Sequence["Branch"],
) -> Iterator[KeptBranch]:
    """Return the branches of a group that no run uses any more."""
    from graveler_core.errors import NotFound

    for branch in branches:
        place = Place(repository.id, branch.id, str(branch.uid))
        runs = runs_on(instance, place) if branch.id != into else []
        if not any(run.tags.get(PUBLISH_TAG) == group.name for run in runs):
            continue
        if any(run.status not in ENDED for run in runs):
            continue
        try:
            changes = kept_changes(repository, group, branch.id, into)
            evidence = gather(instance, group, place)
            verdict = judge(repository.at(branch.id), group, evidence, changes)
        except NotFound:  # deleted during the tick
            continue
        yield KeptBranch(place, evidence, verdict, tuple(_reasons(instance, group, evidence, verdict)))


def _reasons(instance: dg.DagsterInstance, group: TableGroup, evidence: Evidence, verdict: Verdict) -> Iterator[str]:
    yield from verdict.reasons
    if group.publish == "group":
        for table in group.tables:
            if table.key not in evidence.writes:
                yield f"table {table.name} was not materialized on this branch, and the group is published as a whole"
    newest = evidence.runs[-1]
    failed = verdict.good and newest.status is not dg.DagsterRunStatus.SUCCESS
    if failed and group.publish_key in planned_assets(instance, newest.run_id):
        yield f"its publication failed: see run {newest.run_id}"


def _reported(instance: dg.DagsterInstance, group: TableGroup) -> set[str]:
    """Return the newest reports."""
    records = instance.fetch_observations(group.publish_key, limit=_REPORTS).records
    found: set[str] = set()
    for record in records:
        observation = record.event_log_entry.asset_observation
        if observation is not None and _REPORT in observation.metadata:
            found.add(str(observation.metadata[_REPORT].value))
    return found


def _observation(group: TableGroup, kept: KeptBranch) -> dg.AssetObservation:
    reasons = "; ".join(kept.reasons)
    metadata: Mapping[str, Any] = {
        STATE: "kept",
        BRANCH: kept.place.branch,
        "reason": reasons,
        "what to do": what_to_do(group, kept.place, kept.newest_run),
        "checks": kept.verdict.table(),
        _REPORT: kept.report,
    }
    return dg.AssetObservation(
        group.publish_key, description=f"Branch {kept.place.branch} is kept: {reasons}", metadata=metadata
    )


def _request(group: TableGroup, kept: KeptBranch) -> dg.RunRequest:
    partitions = {tag: kept.newest_run.tags[tag] for tag in _PARTITION_TAGS if tag in kept.newest_run.tags}
    tags = {**partitions, BRANCH_TAG: kept.place.branch, BRANCH_UID_TAG: kept.place.uid}
    return dg.RunRequest(run_key=f"publish/{kept.state}", asset_selection=[group.publish_key], tags=tags)


def _delete(
    context: dg.SensorEvaluationContext, repository: "Repository", kept: KeptBranch, keep_for: timedelta
) -> bool:
    """Delete a branch that nobody has used for a time. Return true if it was deleted."""
    from graveler_core.errors import NotFound

    record = context.instance.get_run_record_by_id(kept.newest_run.run_id)
    ended = record.end_time if record is not None else None
    if ended is None or time.time() - ended < keep_for.total_seconds():
        return False
    try:
        if str(repository.branch(kept.place.branch).record().uid) != kept.place.uid:
            return False
        why = f"kept for more than {keep_for.days} days: {'; '.join(kept.reasons)}"
        repository.delete_branch(kept.place.branch, by="dagster", message=why[:500])
    except NotFound:
        return False
    return True
