"""Requests for runs that compact a branch: their keys, tags and configuration, and when not to ask.

A run key blocks for as long as the record of its run exists, whatever became of the run. So a request's key ends in an
epoch: how many runs for the same layers have ended by now. They did not compact them, for the layers are still there.
The epoch is counted from the instance's runs, by a tag: it needs no place of its own, and no two sensors that have to
agree on one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg

from sensors.run_states import ENDED, UNDER_WAY
from sensors.run_tags import BRANCH_TAG, COMPACTION_TAG, PRIORITY_TAG, REPOSITORY_TAG, UID_TAG, WHY_TAG

if TYPE_CHECKING:
    from graveler_core.engine.pressure import BranchPressure
    from graveler_core.model.entities import Branch

OP = "compact_branch"
"""The op of the job, configured with `repository`, `branch`, `every_minutes`."""
_LONGEST_PAUSE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast compactions are asked for."""

    fresh_seconds: float = 300
    """A branch whose compaction began less than this long ago is left alone; so is one whose run ended less than this
    long ago without compacting it, and twice as long each further time, up to a day."""
    page: int = 10_000
    """Branches looked at in a tick."""
    at_once: int = 100
    """Runs of the job that are queued or at work together."""

    @property
    def fresh(self) -> timedelta:
        """`fresh_seconds` as a span of time."""
        return timedelta(seconds=self.fresh_seconds)


USUAL = Pace()


@dataclass(slots=True)
class Asked:
    """What became of the branches that want compaction."""

    requests: list[dg.RunRequest] = field(default_factory=list)
    held: dict[str, int] = field(default_factory=dict)
    """Why others have to wait, and how many of them."""

    def hold(self, reason: str) -> None:
        """One more branch has to wait."""
        self.held[reason] = self.held.get(reason, 0) + 1

    def words(self) -> str:
        """Who waits, in words; empty if nobody does."""
        return "".join(f"; {count:,} {reason}" for reason, count in self.held.items())


def ask(instance: dg.DagsterInstance, job_name: str, wanted: Iterable[tuple[BranchPressure, str]], pace: Pace) -> Asked:
    """Requests for branches, as many as there is room for, in the order given.

    Reads the runs of the job that are under way, and for each request those that have ended.

    Args:
        wanted: Branches, and why each should be compacted.
    """
    asked, at_work = Asked(), branches_at_work(instance, job_name)
    room = pace.at_once - len(at_work)
    for item, why in wanted:
        begun = item.branch.compaction_start_time
        if item.branch.uid in at_work:
            asked.hold("with a run under way")
        elif begun is not None and datetime.now(UTC) - begun < pace.fresh:
            asked.hold(f"whose compaction began less than {pace.fresh_seconds:g} s ago")
        elif len(asked.requests) >= room:
            asked.hold(f"beyond the {pace.at_once:,} runs at once")
        else:
            ended = ended_runs(instance, _what(item))
            if ended and time.time() - _last_end(ended) < _pause(len(ended), pace).total_seconds():
                asked.hold("resting after a run that did not compact it")
            else:
                asked.requests.append(_request(item, why, len(ended), pace))
    return asked


def branches_at_work(instance: dg.DagsterInstance, job_name: str) -> set[str]:
    """The uids of the branches that have a run which has not ended."""
    runs = instance.get_runs(dg.RunsFilter(job_name=job_name, statuses=list(UNDER_WAY)))
    return {run.tags[UID_TAG] for run in runs if UID_TAG in run.tags}


def ended_runs(instance: dg.DagsterInstance, what: str) -> list[dg.RunRecord]:
    """The runs for the same layers that have ended; their number is the next run's epoch.

    Args:
        what: A run's `COMPACTION_TAG`.
    """
    return list(instance.get_run_records(dg.RunsFilter(tags={COMPACTION_TAG: what}, statuses=list(ENDED))))


def asked_again(run: dg.DagsterRun, epoch: int) -> dg.RunRequest:
    """The request of a run that failed, once more. The failed compaction's own start is no reason to wait."""
    given: Any = run.run_config
    config = given["ops"][OP]["config"]
    names = (REPOSITORY_TAG, BRANCH_TAG, UID_TAG, COMPACTION_TAG, WHY_TAG, PRIORITY_TAG)
    return dg.RunRequest(
        run_key=f"{run.tags[COMPACTION_TAG]}/{epoch}",
        run_config=_config({**config, "every_minutes": 0.0}),
        tags={name: run.tags[name] for name in names if name in run.tags},
    )


def newest_layer(branch: Branch) -> str:
    """The newest sealed layer, or the staging token where none is sealed; without the branch's name, if it has that."""
    layer = branch.sealed_tokens[0].id if branch.sealed_tokens else branch.staging_token
    return layer.rpartition(":")[2]


def _what(item: BranchPressure) -> str:
    return f"{item.repository.uid}/{item.branch.id}/{newest_layer(item.branch)}"


def _request(item: BranchPressure, why: str, epoch: int, pace: Pace) -> dg.RunRequest:
    what = _what(item)
    config = {"repository": item.repository.id, "branch": item.branch.id, "every_minutes": pace.fresh_seconds / 60}
    return dg.RunRequest(
        run_key=f"{what}/{epoch}",
        run_config=_config(config),
        tags={
            REPOSITORY_TAG: item.repository.id,
            BRANCH_TAG: item.branch.id,
            UID_TAG: item.branch.uid,
            COMPACTION_TAG: what,
            WHY_TAG: why,
            PRIORITY_TAG: str(min(99, int(item.pressure.value))),
        },
    )


def _config(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"ops": {OP: {"config": dict(values)}}}


def _pause(ended: int, pace: Pace) -> timedelta:
    return min(pace.fresh * (1 << min(ended - 1, 20)), _LONGEST_PAUSE)


def _last_end(ended: Iterable[dg.RunRecord]) -> float:
    return max(record.end_time or record.update_timestamp.timestamp() for record in ended)
