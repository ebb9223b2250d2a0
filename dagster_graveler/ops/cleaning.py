"""Ops of the cleaning job: one step for each deleted repository that can no longer be restored, and a last step for
everything else.

All steps are idempotent, and an interrupted step is completed by the next run. Objects that cannot be removed do not
fail a step; they are reported in the metadata, and the next run tries again.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from logging import Logger
from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.leftovers import CHECK, LEFTOVERS, cleaned_metadata, evaluated, leftovers, leftovers_metadata
from dagster_graveler.ops.failures import RETRIES, retries, told_to_dagster
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.engine.cleaning import Cleaned
    from graveler_core.facade.graveler import Graveler

POOL = "graveler_cleaning"
"""Dagster pool of all cleaning steps. Its limit, if set, bounds the number of concurrent steps."""
CALL = 10_000
"""Number of objects that a cleaner examines between two progress messages."""


@dataclass(frozen=True, slots=True)
class Times:
    """Retention of deleted repositories, their maximum age, and the maximum number of steps of a run."""

    undelete_within: timedelta
    allowed: timedelta
    most: int


def make_find_deleted(times: Times) -> dg.OpDefinition:
    """Return the op that finds the deleted repositories to be emptied, with a dynamic output for each name.

    Args:
        times: Retention and limits of the job.

    Returns:
        The op `find_deleted`.
    """

    @dg.op(
        name="find_deleted",
        description="Find deleted repositories that can no longer be restored, and return their names.",
        out=dg.DynamicOut(str),
        retry_policy=RETRIES,
    )
    def find_deleted(context: dg.OpExecutionContext, graveler: GravelerResource) -> Iterator[dg.DynamicOutput[str]]:
        with told_to_dagster(context.retry_number):
            names = _due(context.log, graveler.graveler(), times)
        context.log.info(f"{counted(len(names), 'name')} of deleted repositories whose data is due for removal")
        for name in names[: times.most]:
            yield dg.DynamicOutput(name, mapping_key=name.replace("-", "_"))

    return find_deleted


def make_empty_repository(times: Times) -> dg.OpDefinition:
    """Return the op that empties the deleted repositories with one name.

    Args:
        times: Retention and limits of the job.

    Returns:
        The op `empty_repository`.
    """

    @dg.op(
        name="empty_repository",
        description="Permanently remove the data of the deleted repositories with one name.",
        out=dg.Out(dg.Nothing),
        retry_policy=RETRIES,
        pool=POOL,
    )
    def empty_repository(context: dg.OpExecutionContext, graveler: GravelerResource, name: str) -> None:
        done, seconds = _cleaned(context, graveler, times, name)
        context.add_output_metadata({"repository": name, **cleaned_metadata(done, seconds), **retries(context)})

    return empty_repository


def make_clean_rest(times: Times) -> dg.OpDefinition:
    """Return the op that cleans everything else and reports what is left in the store.

    Args:
        times: Retention and limits of the job.

    Returns:
        The op `clean_rest`.
    """

    @dg.op(
        name="clean_rest",
        description="Remove the leftovers of crashes and commits in all repositories, and report what is left.",
        ins={"emptied": dg.In(dg.Nothing)},
        out=dg.Out(dg.Nothing),
        retry_policy=RETRIES,
        pool=POOL,
    )
    def clean_rest(context: dg.OpExecutionContext, graveler: GravelerResource) -> None:
        done, seconds = _cleaned(context, graveler, times, None)
        with told_to_dagster(context.retry_number):
            left = leftovers(graveler.graveler(), times.undelete_within)
        context.add_output_metadata({**cleaned_metadata(done, seconds), **retries(context)})
        context.log_event(dg.AssetMaterialization(LEFTOVERS, metadata=leftovers_metadata(left, done.failed)))
        told = evaluated(left, done.failed, times.allowed)
        context.instance.report_runless_asset_event(
            dg.AssetCheckEvaluation(asset_key=LEFTOVERS, check_name=CHECK, **told)
        )

    return clean_rest


def _due(log: Logger, graveler: "Graveler", times: Times) -> list[str]:
    """Return the names of the deleted repositories that are to be emptied. The last step counts damaged entries."""
    from graveler_core.model.entities import DeletedState

    before = datetime.now(UTC) - times.undelete_within
    due: dict[str, None] = {}
    for entry in graveler.deleted_repositories(
        damaged=lambda e: log.warning(f"a deleted repository is not emptied: {e}")
    ):
        waits = entry.state is not DeletedState.PURGING and entry.since > before and entry.repository.was_active
        if not waits:
            due[entry.repository.id] = None
    return list(due)


def _cleaned(
    context: dg.OpExecutionContext, graveler: GravelerResource, times: Times, name: str | None
) -> tuple["Cleaned", float]:
    """Clean until done, in calls of bounded work. Return the result and the duration in seconds."""
    from graveler_core.engine.cleaning import Cleaned

    start, done, after, looked_at = time.monotonic(), Cleaned(), None, 0
    with told_to_dagster(context.retry_number):
        opened = graveler.graveler()
        while True:
            step = opened.clean(undelete_within=times.undelete_within, repository=name, limit=CALL, after=after)
            done, after, looked_at = done.plus(step), step.next, looked_at + CALL
            if after is None:
                break
            context.log.info(f"more than {counted(looked_at, 'item')} examined, {counted(done.rows, 'row')} removed")
    if done.failed:
        context.log.warning(f"{counted(done.failed, 'item')} failed; the first: {done.failures[0]}")
    return done, time.monotonic() - start
