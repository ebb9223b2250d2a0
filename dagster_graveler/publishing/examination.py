"""Examination of the branches that runs left: which are to be published, and why the others are kept."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.publishing.evidence import BranchIdentity, Evidence, gather, is_in_use, require_few_runs, runs_on
from dagster_graveler.publishing.kept import KeptBranch
from dagster_graveler.publishing.publish_requests import refusal, waits_after_attempt
from dagster_graveler.publishing.publisher import MergeTarget, Publisher
from dagster_graveler.publishing.verdict import Changes, Verdict, judge, kept_changes
from dagster_graveler.publishing.written import content_digest
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.run_tags import MarkedBranch, marked_branch, publish_tag
from dagster_graveler.runs import is_created_by_run, planned_assets
from dagster_graveler.sensors.tick_time import SECONDS, OutOfTime, TickTime

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository
    from graveler_core.model.entities import BranchRecord

_MOST_RUNS = 2_000
"""Maximum number of runs that have used a branch which a tick examines. It reads the events of each run."""


def opened(branch: GravelerBranch) -> "Repository | None":
    """Return the repository of a branch resource, or `None` if it does not exist."""
    from graveler_core.errors import NotFound

    try:
        return branch.graveler.graveler().repository(branch.repository)
    except NotFound:
        return None


@dataclass(frozen=True, slots=True)
class BranchExamination:
    """Decisions of a tick about the branches of a target, together with those of the other targets."""

    context: dg.SensorEvaluationContext
    publisher: Publisher
    time: TickTime

    def kept(
        self, target: MergeTarget, repository: "Repository", branches: Sequence["BranchRecord"]
    ) -> tuple[list[KeptBranch], str]:
        """Return the branches of a target that no run uses any more, and the last branch that was looked at.

        Branches that remain when the time of the tick is over are left to the next tick. At least one is looked at.
        """
        found: list[KeptBranch | None] = []
        last = ""
        for branch in branches:
            if last and self.time.is_over:
                break
            place = BranchIdentity(repository.id, branch.id, str(branch.uid))
            runs = self._ended_runs(target, place)
            try:
                found.append(self._examined(target, repository, place, runs) if runs else None)
            except OutOfTime:
                if last:
                    break
                found.append(_unexamined(place, runs, f"in {SECONDS:g} seconds"))
            last = branch.id
        return [kept for kept in found if kept is not None], last

    def _ended_runs(self, target: MergeTarget, place: BranchIdentity) -> list[dg.DagsterRun]:
        """Return the newest runs on a branch; none if it is not for the sensor to decide about it now."""
        if place.branch == self._branch(target).into or not self._is_of_runs(place):
            return []
        if is_in_use(self.context.instance, place):
            return []
        runs = runs_on(self.context.instance, place, _MOST_RUNS)
        return runs if any(self._is_own(run, place) for run in reversed(runs)) else []

    def _examined(
        self, target: MergeTarget, repository: "Repository", place: BranchIdentity, runs: Sequence[dg.DagsterRun]
    ) -> KeptBranch | None:
        """Return the decision about a branch; `None` if it was deleted meanwhile, or is to be examined later.

        An error of one branch must not prevent decisions about the others.
        """
        from graveler_core import errors

        try:
            return self._decided(target, repository, place, runs)
        except (errors.Conflict, errors.OutcomeUnknown, errors.SlowDown, errors.Unavailable) as error:
            told = f"branch {place.branch} of repository {place.repository} is examined later: {error}"
            self.context.log.warning(told)
            return None
        except errors.GravelerError as error:
            return _unexamined(place, runs, f"because of an error: {error}")

    def _is_own(self, run: dg.DagsterRun, place: BranchIdentity) -> bool:
        """Return true if a run belongs to the publication. If it has several ones, it may not be marked."""
        publication, marked = self.publisher.publication, run.tags.get(publish_tag(place.repository))
        if marked is not None:
            return marked == publication.name
        return bool(publication.keys & planned_assets(self.context.instance, run.run_id))

    def _is_of_runs(self, place: BranchIdentity) -> bool:
        return is_created_by_run(self.context.instance, place.repository, MarkedBranch(place.branch, place.uid))

    def _decided(
        self, target: MergeTarget, repository: "Repository", place: BranchIdentity, runs: Sequence[dg.DagsterRun]
    ) -> KeptBranch | None:
        own = self._judged(target, repository, place)
        if own is None:
            return None
        together = {target.group.key: own}
        for other in self.publisher.targets:
            there = self._of_same_runs(other, runs) if other is not target else None
            if there is None:
                continue
            if is_in_use(self.context.instance, there[1]):
                return None
            if (found := self._judged(other, *there)) is not None:
                together[other.group.key] = found
        first = next(each for each in self.publisher.targets if each.group.key in together)
        reasons = [*own.verdict.reasons]
        for key, each in together.items():
            if key != target.group.key:
                reasons += [f"repository {each.place.repository}: {reason}" for reason in self._of_other(each)]
        reasons += self._missing(together)
        others = tuple(each for key, each in together.items() if key != target.group.key)
        found, instance = replace(own, others=others), self.context.instance
        if not any(each.verdict.reasons for each in together.values()):
            reasons += refusal(instance, self.publisher, found, watch=self.time.check)
        waits = first is not target or waits_after_attempt(instance, found)
        return replace(found, reasons=tuple(reasons), waits=waits)

    def _judged(self, target: MergeTarget, repository: "Repository", place: BranchIdentity) -> KeptBranch | None:
        from graveler_core.errors import NotFound

        group = target.group
        require_few_runs(self.context.instance, place, _MOST_RUNS)
        try:
            evidence = gather(self.context.instance, group, place, watch=self.time.check)
            into = self._branch(target).into
            changes = kept_changes(repository, group, place.branch, into, evidence.places, watch=self.time.check)
            at, digest = repository.at(place.branch), partial(content_digest, before_batch=self.time.check)
            return KeptBranch(place, evidence, judge(at, group, evidence, changes, digest), ())
        except NotFound:
            if _is_gone(repository, place):
                return None
            raise

    def _of_same_runs(
        self, target: MergeTarget, runs: Sequence[dg.DagsterRun]
    ) -> "tuple[Repository, BranchIdentity] | None":
        """Return the branch that the newest of some runs used in the repository of another target, if it exists."""
        repository = opened(self._branch(target))
        if repository is None:
            return None
        for run in reversed(runs):
            marked = marked_branch(run.tags, repository.id)
            if marked is not None:
                found = BranchIdentity(repository.id, *marked)
                return (repository, found) if self._branch(target).has(*marked) else None
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

    def _branch(self, target: MergeTarget) -> GravelerBranch:
        found: GravelerBranch = getattr(self.context.resources, target.branch_key)
        return found


def _is_gone(repository: "Repository", place: BranchIdentity) -> bool:
    """Return true if a branch, or its repository, was deleted. Anything else that is missing is damage."""
    from graveler_core.errors import NotFound

    try:
        return str(repository.branch(place.branch).record().uid) != place.uid
    except NotFound:
        return True


def _unexamined(place: BranchIdentity, runs: Sequence[dg.DagsterRun], why: str) -> KeptBranch:
    """Return the report of a branch about which the sensor cannot decide. It does not delete the branch either."""
    reasons = (f"the sensor could not examine it {why}",)
    return KeptBranch(place, Evidence(list(runs)), Verdict(Changes((), ()), (), reasons), reasons, is_examined=False)
