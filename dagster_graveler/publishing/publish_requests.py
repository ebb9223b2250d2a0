"""Requests of publications by the sensor over kept branches.

A requested run can break: its worker is killed, it is canceled, or the store is away for longer than the retries of the
op. The sensor then requests the publication again, after pauses that become longer. A `Failure` of the publish asset is
a decision, which a further run would only repeat, as long as there is no newer write or result of a check.
"""

import time
from collections.abc import Iterator
from datetime import timedelta

import dagster as dg

from dagster_graveler.publishing.groups import TableGroup
from dagster_graveler.publishing.kept import KeptBranch
from dagster_graveler.publishing.publisher import Publisher
from dagster_graveler.run_tags import BRANCH_TAG, PUBLICATION_TAG, MarkedBranch, branch_mark
from dagster_graveler.runs import PARTITION_TAG, RANGE_END_TAG, RANGE_START_TAG
from dagster_graveler.sensors.tick_time import Watch
from graveler_core.model.counting import counted

_MOST = 10
"""Number of runs that are requested for the same state of a branch."""
_FIRST_PAUSE = timedelta(minutes=1)
"""Pause after the first requested run that broke. It doubles with each further one."""
_PARTITION_TAGS = (PARTITION_TAG, RANGE_START_TAG, RANGE_END_TAG)


def request(group: TableGroup, kept: KeptBranch) -> dg.RunRequest:
    """Return the request of a publication. Its key differs from those of the requested runs that ended.

    Args:
        group: Group of the branch.
        kept: The branch.
    """
    run = kept.run_with_partitions
    partitions = {tag: run.tags[tag] for tag in _PARTITION_TAGS if tag in run.tags}
    tags = {**partitions, BRANCH_TAG: kept.place.branch, PUBLICATION_TAG: kept.state}
    for each in (kept, *kept.others):
        tags |= branch_mark(each.place.repository, MarkedBranch(each.place.branch, each.place.uid))
    key = f"publish/{kept.state}/{_attempts(kept)}"
    return dg.RunRequest(run_key=key, asset_selection=[group.publish_key], tags=tags)


def refusal(instance: dg.DagsterInstance, publisher: Publisher, kept: KeptBranch, *, watch: Watch) -> Iterator[str]:
    """Return the reason why the publication of a branch with a good verdict is not requested again, if there is one.

    Args:
        instance: The instance of the runs.
        publisher: The publication.
        kept: The branch.
        watch: Function that is called for each run of the branch, and may raise an exception.
    """
    requested = _requested(kept)
    if requested and requested[-1].status is dg.DagsterRunStatus.SUCCESS:
        yield f"its publication in run {requested[-1].run_id} succeeded, but the branch was not deleted"
        return
    if (failed := _failed_run(instance, publisher, kept, watch)) is not None:
        yield f"the run that should have published it did not succeed: see run {failed.run_id}"
        return
    if (attempts := _attempts(kept)) >= _MOST:
        yield (
            f"its tables are complete and checked, but {counted(attempts, 'run')} that should have published it broke: "
            f"see run {kept.newest_run.run_id}, and materialize the publish asset when the cause is removed"
        )


def is_published(kept: KeptBranch) -> bool:
    """Return true if the last requested publication succeeded, and nothing is left to publish: on the branch, and on
    those of other targets that the same run wrote.

    The publication does not delete a branch that another run uses at its end. That run may have written nothing.

    Args:
        kept: The branch.
    """
    requested = [run for run in kept.evidence.runs if PUBLICATION_TAG in run.tags]
    succeeded = bool(requested) and requested[-1].status is dg.DagsterRunStatus.SUCCESS
    changes = [each.verdict.changes for each in (kept, *kept.others)]
    return kept.is_examined and succeeded and not any(each.tables or each.foreign for each in changes)


def _failed_run(
    instance: dg.DagsterInstance, publisher: Publisher, kept: KeptBranch, watch: Watch
) -> dg.DagsterRun | None:
    """Return the newest run whose publish asset failed with a `Failure` after the newest evidence, if there is one.

    A `Failure` before it, such as that of a run that began while the branch was repaired, is no decision about it.
    """
    for run in reversed(kept.evidence.runs):
        watch()
        for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE):
            is_own = (entry.step_key or "").split(".")[0] == publisher.slug and entry.timestamp > kept.newest_evidence
            if is_own and entry.dagster_event and entry.dagster_event.step_failure_data.user_failure_data is not None:
                return run
    return None


def waits_after_attempt(instance: dg.DagsterInstance, kept: KeptBranch) -> bool:
    """Return true if the pause after the newest requested run is not over.

    An end that is later than now by more than the pause is that of a wrong clock, and does not count.

    Args:
        instance: The instance of the runs.
        kept: The branch.
    """
    attempts = _attempts(kept)
    record = instance.get_run_record_by_id(kept.newest_run.run_id) if attempts else None
    if record is None or record.end_time is None:
        return False
    return abs(time.time() - record.end_time) < (_FIRST_PAUSE * (1 << (attempts - 1))).total_seconds()


def _attempts(kept: KeptBranch) -> int:
    """Return the number of ended runs that were requested for the state of a branch."""
    return len(_requested(kept))


def _requested(kept: KeptBranch) -> list[dg.DagsterRun]:
    """Return the runs that were requested for the state of a branch, oldest first."""
    return [run for run in kept.evidence.runs if run.tags.get(PUBLICATION_TAG) == kept.state]
