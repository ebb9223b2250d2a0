"""Requests of compaction runs: their keys, tags and configuration, and the rules for not requesting one.

A run key blocks further runs as long as the record of its run exists, whatever the result. The key therefore ends with
an epoch: the number of ended runs for the same layers. Those runs did not compact the layers, because the layers still
exist. The epoch is counted from the instance's runs by a tag, so it needs no storage of its own, and sensors need not
coordinate.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.run_tags import BRANCH_TAG, COMPACTION_TAG, PRIORITY_TAG, REPOSITORY_TAG, UID_TAG, WHY_TAG
from dagster_graveler.sensors.run_states import ENDED, UNDER_WAY
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.engine.staging.pressure import BranchPressure
    from graveler_core.model.entities import BranchRecord

OP = "compact_branch"
"""Op of the job, configured with `repository`, `branch` and `every_minutes`."""
_LONGEST_PAUSE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pace:
    """Limits on requests for compactions."""

    fresh_seconds: float = 300
    """Time in seconds after the start of a compaction during which its branch is left alone. A branch whose run ended
    without compacting it is left alone for the same time, doubled for each further run, up to a day.
    """
    page: int = 10_000
    """Number of branches that a tick examines."""
    at_once: int = 100
    """Maximum number of queued and running runs of the job."""

    @property
    def fresh(self) -> timedelta:
        """`fresh_seconds` as a duration."""
        return timedelta(seconds=self.fresh_seconds)


USUAL = Pace()


@dataclass(slots=True)
class Asked:
    """Requests of a tick, and the branches that have to wait."""

    requests: list[dg.RunRequest] = field(default_factory=list)
    held: dict[str, int] = field(default_factory=dict)
    """Number of waiting branches by reason."""

    def hold(self, reason: str) -> None:
        """Count a waiting branch."""
        self.held[reason] = self.held.get(reason, 0) + 1

    def words(self) -> str:
        """Return a description of the waiting branches; empty if there are none."""
        return "".join(f"; {count:,} {reason}" for reason, count in self.held.items())


def ask(instance: dg.DagsterInstance, job_name: str, wanted: Iterable[tuple[BranchPressure, str]], pace: Pace) -> Asked:
    """Return requests for branches in the given order, as many as the limits allow.

    Reads the active runs of the job and, for each request, the ended ones.

    Args:
        instance: Dagster instance.
        job_name: Name of the job.
        wanted: Branches, each with the reason for its compaction.
        pace: Limits on requests.
    """
    asked, at_work = Asked(), branches_at_work(instance, job_name)
    room = pace.at_once - len(at_work)
    for item, why in wanted:
        if item.branch.uid in at_work:
            asked.hold("with an active run")
        elif item.branch.compaction_began_within(pace.fresh, datetime.now(UTC)):
            asked.hold(f"whose compaction began less than {pace.fresh_seconds:g} s ago")
        elif len(asked.requests) >= room:
            asked.hold(f"above the limit of {counted(pace.at_once, 'concurrent run')}")
        else:
            ended = ended_runs(instance, _what(item))
            # An end that is later than now by more than the pause is that of a wrong clock.
            if ended and abs(time.time() - _last_end(ended)) < _pause(len(ended), pace).total_seconds():
                asked.hold("waiting after a run that did not compact them")
            else:
                asked.requests.append(_request(item, why, len(ended), pace))
    return asked


def branches_at_work(instance: dg.DagsterInstance, job_name: str) -> set[str]:
    """Return the uids of branches with an active run."""
    runs = instance.get_runs(dg.RunsFilter(job_name=job_name, statuses=list(UNDER_WAY)))
    return {run.tags[UID_TAG] for run in runs if UID_TAG in run.tags}


def ended_runs(instance: dg.DagsterInstance, what: str) -> list[dg.RunRecord]:
    """Return the ended runs for the same layers. Their number is the epoch of the next run.

    Args:
        instance: Dagster instance.
        what: `COMPACTION_TAG` of a run.
    """
    return list(instance.get_run_records(dg.RunsFilter(tags={COMPACTION_TAG: what}, statuses=list(ENDED))))


def asked_again(run: dg.DagsterRun, epoch: int) -> dg.RunRequest:
    """Return the request of a failed run again. The start of the failed compaction is ignored."""
    given: Any = run.run_config
    config = given["ops"][OP]["config"]
    names = (REPOSITORY_TAG, BRANCH_TAG, UID_TAG, COMPACTION_TAG, WHY_TAG, PRIORITY_TAG)
    return dg.RunRequest(
        run_key=f"{run.tags[COMPACTION_TAG]}/{epoch}",
        run_config=_config({**config, "every_minutes": 0.0}),
        tags={name: run.tags[name] for name in names if name in run.tags},
    )


def newest_layer(branch: BranchRecord) -> str:
    """Return the newest sealed layer, or the staging token if none is sealed, without the name of the branch."""
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
