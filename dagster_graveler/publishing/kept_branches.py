"""Sensor over kept branches: it publishes complete and checked ones, reports the others, and deletes old ones.

Branches are found in the repository, and their runs by the tags of the runs. Reports are read from the event log, so
that the cursor only says where the listing of branches continues.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg

from dagster_graveler.publishing.evidence import BranchIdentity, Evidence, gather, runs_on
from dagster_graveler.publishing.groups import TableGroup
from dagster_graveler.publishing.instructions import what_to_do
from dagster_graveler.publishing.publisher import MergeTarget, Publisher
from dagster_graveler.publishing.verdict import Verdict, judge, kept_changes, verdicts_table
from dagster_graveler.publishing.written import BRANCH, STATE
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.run_tags import BRANCH_TAG, PUBLISH_TAG, MarkedBranch, branch_mark, marked_branch
from dagster_graveler.runs import (
    PARTITION_TAG,
    RANGE_END_TAG,
    RANGE_START_TAG,
    is_created_by_run,
    partition_label,
    planned_assets,
)
from dagster_graveler.sensors import cursors
from dagster_graveler.sensors.run_states import ENDED
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository
    from graveler_core.model.entities import BranchRecord

PAGE = 100
"""Number of branches that a tick examines."""
_REPORTS = 1_000
"""Number of reports that a tick reads at a time, the newest ones first."""
_REPORT = "graveler/report"
"""Metadata of a report: digest of the branch's uid and the reasons."""
_PARTITION_TAGS = (PARTITION_TAG, RANGE_START_TAG, RANGE_END_TAG)


class _Cursor(cursors.Cursor):
    version: Literal[1] = 1
    after: cursors.Place = ""
    """Last listed branch; empty for the start."""


@dataclass(frozen=True, slots=True)
class KeptBranch:
    """A branch of a group that no active run uses, and the decision about it."""

    place: BranchIdentity
    evidence: Evidence
    verdict: Verdict
    reasons: tuple[str, ...]
    """Reasons why it is not published; none if it is to be published."""
    others: tuple["KeptBranch", ...] = ()
    """Branches that the same run wrote in repositories of other targets."""
    waits: bool = False
    """True if an earlier target has a branch too. The publication of that branch includes this one."""

    @property
    def newest_run(self) -> dg.DagsterRun:
        """Last run that used the branch."""
        return self.evidence.runs[-1]

    @property
    def run_with_partitions(self) -> dg.DagsterRun:
        """Last run with the partitions of the branch. A run of checks alone may have none."""
        return next((run for run in reversed(self.evidence.runs) if partition_label(run)), self.newest_run)

    @property
    def report(self) -> str:
        """Digest of the branch and the reasons, equal for equal reports."""
        return hashlib.sha256("\n".join((self.place.uid, *self.reasons)).encode()).hexdigest()[:16]

    @property
    def state(self) -> str:
        """Key of the evidence: changes with each write and each result of a check."""
        found = [self.evidence, *(each.evidence for each in self.others)]
        times = [write.timestamp for one in found for write in one.writes.values()]
        times += [evaluation.timestamp for one in found for evaluation in one.evaluations.values()]
        return f"{self.place.uid}/{max(times, default=0.0):.6f}"


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
        repository = _repository(branch)
        if repository is None:
            return dg.SensorResult(skip_reason=f"repository {branch.repository} does not exist yet")
        listed = list(repository.branches(after=after, limit=PAGE))
        cursor = _Cursor(after=listed[-1].id if len(listed) == PAGE else "").text()
        found = list(_Examination(context, publisher).kept(target, repository, listed))
        reported = _reported(context.instance, group, {each.report for each in found if each.reasons})
        requests = [_request(group, each) for each in found if not each.reasons and not each.waits]
        events = [_observation(group, each) for each in found if each.reasons and each.report not in reported]
        deleted = [each for each in found if each.report in reported and _delete(context, repository, each, keep_for)]
        kept = counted(len(found), "kept branch")
        told = (
            f"{kept} of {group.name}: {len(requests)} to publish, {len(events)} newly reported, "
            f"{len(deleted)} deleted after {counted(keep_for.days, 'day')}"
        )
        context.log.info(told)
        quiet = None if requests else told
        return dg.SensorResult(run_requests=requests, asset_events=events, cursor=cursor, skip_reason=quiet)

    return kept_branches


def _repository(branch: GravelerBranch) -> "Repository | None":
    from graveler_core.errors import NotFound

    try:
        return branch.graveler.graveler().repository(branch.repository)
    except NotFound:
        return None


@dataclass(frozen=True, slots=True)
class _Examination:
    """Decisions of a tick about the branches of a target, together with those of the other targets."""

    context: dg.SensorEvaluationContext
    publisher: Publisher

    def kept(
        self, target: MergeTarget, repository: "Repository", branches: Sequence["BranchRecord"]
    ) -> Iterator[KeptBranch]:
        """Return the branches of a target that no run uses any more."""
        for branch in branches:
            place = BranchIdentity(repository.id, branch.id, str(branch.uid))
            runs = runs_on(self.context.instance, place) if branch.id != self._branch(target).into else []
            if not any(run.tags.get(PUBLISH_TAG) == self.publisher.publication.name for run in runs):
                continue
            if any(run.status not in ENDED for run in runs) or not self._is_of_runs(place):
                continue
            found = self._decided(target, repository, place, runs)
            if found is not None:  # otherwise it was deleted during the tick
                yield found

    def _is_of_runs(self, place: BranchIdentity) -> bool:
        return is_created_by_run(self.context.instance, place.repository, place.uid)

    def _decided(
        self, target: MergeTarget, repository: "Repository", place: BranchIdentity, runs: Sequence[dg.DagsterRun]
    ) -> KeptBranch | None:
        own = self._judged(target, repository, place)
        if own is None:
            return None
        together = {target.group.key: own}
        for other in self.publisher.targets:
            if other is not target and (found := self._of_same_runs(other, runs)) is not None:
                together[other.group.key] = found
        first = next(each for each in self.publisher.targets if each.group.key in together)
        reasons = [*own.verdict.reasons]
        for key, each in together.items():
            if key != target.group.key:
                reasons += [f"repository {each.place.repository}: {reason}" for reason in self._of_other(each)]
        reasons += self._missing(together)
        good = not any(each.verdict.reasons for each in together.values())
        reasons += self._failed_publication(own.newest_run) if good else ()
        others = tuple(each for key, each in together.items() if key != target.group.key)
        return replace(own, reasons=tuple(reasons), others=others, waits=first is not target)

    def _judged(self, target: MergeTarget, repository: "Repository", place: BranchIdentity) -> KeptBranch | None:
        from graveler_core.errors import NotFound

        group = target.group
        try:
            changes = kept_changes(repository, group, place.branch, self._branch(target).into)
            evidence = gather(self.context.instance, group, place)
            return KeptBranch(place, evidence, judge(repository.at(place.branch), group, evidence, changes), ())
        except NotFound:
            return None

    def _of_same_runs(self, target: MergeTarget, runs: Sequence[dg.DagsterRun]) -> KeptBranch | None:
        """Return the branch that the newest of some runs used in the repository of another target."""
        repository = _repository(self._branch(target))
        if repository is None:
            return None
        for run in reversed(runs):
            marked = marked_branch(run.tags, repository.id)
            if marked is not None:
                if not self._branch(target).has(*marked):
                    return None
                return self._judged(target, repository, BranchIdentity(repository.id, *marked))
        return None

    def _of_other(self, other: KeptBranch) -> Iterator[str]:
        yield from other.verdict.reasons
        if not self._is_of_runs(other.place):
            yield f"branch {other.place.branch} was not created by a run, so a person must start its publication"

    def _missing(self, together: Mapping[dg.AssetKey, KeptBranch]) -> Iterator[str]:
        for target in self.publisher.targets:
            kept = together.get(target.group.key)
            for table in target.group.tables if target.group.publish == "group" else ():
                if kept is None or table.key not in kept.evidence.writes:
                    yield (
                        f"table {table.name} was not materialized on this branch, and the group is published as a whole"
                    )

    def _failed_publication(self, newest: dg.DagsterRun) -> Iterator[str]:
        publish_key = self.publisher.publication.publish_key
        failed = newest.status is not dg.DagsterRunStatus.SUCCESS
        if failed and publish_key in planned_assets(self.context.instance, newest.run_id):
            yield f"the run that should have published it did not succeed: see run {newest.run_id}"

    def _branch(self, target: MergeTarget) -> GravelerBranch:
        found: GravelerBranch = getattr(self.context.resources, target.branch_key)
        return found


def _reported(instance: dg.DagsterInstance, group: TableGroup, wanted: Set[str]) -> set[str]:
    """Return those of some digests whose reports were made."""
    found: set[str] = set()
    cursor, more = None, True
    while more and not wanted <= found:
        page = instance.fetch_observations(group.publish_key, limit=_REPORTS, cursor=cursor)
        for record in page.records:
            observation = record.event_log_entry.asset_observation
            if observation is not None and _REPORT in observation.metadata:
                found.add(str(observation.metadata[_REPORT].value))
        cursor, more = page.cursor, page.has_more
    return found


def _observation(group: TableGroup, kept: KeptBranch) -> dg.AssetObservation:
    reasons = "; ".join(kept.reasons)
    metadata: Mapping[str, Any] = {
        STATE: "kept",
        BRANCH: kept.place.branch,
        "reason": reasons,
        "what to do": what_to_do(group, kept.place, kept.run_with_partitions),
        "checks": verdicts_table([kept.verdict, *(each.verdict for each in kept.others)]),
        _REPORT: kept.report,
    }
    return dg.AssetObservation(
        group.publish_key, description=f"Branch {kept.place.branch} is kept: {reasons}", metadata=metadata
    )


def _request(group: TableGroup, kept: KeptBranch) -> dg.RunRequest:
    run = kept.run_with_partitions
    partitions = {tag: run.tags[tag] for tag in _PARTITION_TAGS if tag in run.tags}
    tags = {**partitions, BRANCH_TAG: kept.place.branch}
    for each in (kept, *kept.others):
        tags |= branch_mark(each.place.repository, MarkedBranch(each.place.branch, each.place.uid))
    return dg.RunRequest(run_key=f"publish/{kept.state}", asset_selection=[group.publish_key], tags=tags)


def _delete(
    context: dg.SensorEvaluationContext, repository: "Repository", kept: KeptBranch, keep_for: timedelta
) -> bool:
    """Delete a branch that nobody has used for a time. Return true if it was deleted."""
    from graveler_core.errors import Conflict, NotFound

    record = context.instance.get_run_record_by_id(kept.newest_run.run_id)
    ended = record.end_time if record is not None else None
    if ended is None or time.time() - ended < keep_for.total_seconds():
        return False
    try:
        branch = repository.branch(kept.place.branch).record()
        if str(branch.uid) != kept.place.uid:
            return False
        why = f"kept for more than {counted(keep_for.days, 'day')}: {'; '.join(kept.reasons)}"
        repository.delete_branch(kept.place.branch, expected=branch.commit_id, by="dagster", message=why[:500])
    except (NotFound, Conflict):
        return False
    return True
