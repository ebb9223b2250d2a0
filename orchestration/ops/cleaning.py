"""Clean up: each deleted repository whose time is over in a step of its own, everything else in the last one.

All steps are idempotent: what is gone is gone, and whoever comes next goes on. What cannot be removed fails no step: it
is told in the metadata, and tried again by the next run.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import dagster as dg

from orchestration.cleaning import CHECK, LEFTOVERS, cleaned_metadata, evaluated, leftovers, leftovers_metadata
from orchestration.ops.failures import RETRIES, retries, told_to_dagster
from orchestration.resources.graveler import GravelerResource

if TYPE_CHECKING:
    from graveler_core.engine.cleaning import Cleaned
    from graveler_core.facade.graveler import Graveler

POOL = "graveler_cleaning"
"""Dagster's pool for all cleaning: its limit, if one is set, is how many steps are at work together."""
CALL = 10_000
"""Things that a cleaner looks at before it says how far it is."""


@dataclass(frozen=True, slots=True)
class Times:
    """How long deleted repositories are left, and how long they may be there at all; how many steps a run has."""

    undelete_within: timedelta
    allowed: timedelta
    most: int


def make_find_deleted(times: Times) -> dg.OpDefinition:
    """The op that finds the deleted repositories to be emptied: a dynamic output for each name."""

    @dg.op(
        name="find_deleted",
        description="The names of deleted repositories that cannot be restored any more.",
        out=dg.DynamicOut(str),
        retry_policy=RETRIES,
    )
    def find_deleted(context: dg.OpExecutionContext, graveler: GravelerResource) -> Iterator[dg.DynamicOutput[str]]:
        with told_to_dagster(context.retry_number):
            names = _due(graveler.graveler(), times)
        context.log.info(f"{len(names):,} names of deleted repositories to be emptied")
        for name in names[: times.most]:
            yield dg.DynamicOutput(name, mapping_key=name.replace("-", "_"))

    return find_deleted


def make_empty_repository(times: Times) -> dg.OpDefinition:
    """The op that empties what was deleted under one name."""

    @dg.op(
        name="empty_repository",
        description="Remove for good what the deleted repositories of a name have left.",
        out=dg.Out(dg.Nothing),
        retry_policy=RETRIES,
        pool=POOL,
    )
    def empty_repository(context: dg.OpExecutionContext, graveler: GravelerResource, name: str) -> None:
        done, seconds = _cleaned(context, graveler, times, name)
        context.add_output_metadata({"repository": name, **cleaned_metadata(done, seconds), **retries(context)})

    return empty_repository


def make_clean_rest(times: Times) -> dg.OpDefinition:
    """The op that cleans up everything else, and tells what is left on the store."""

    @dg.op(
        name="clean_rest",
        description="Remove what crashes and committed layers left in all repositories; tell what waits.",
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


def _due(graveler: "Graveler", times: Times) -> list[str]:
    from graveler_core.model.entities import DeletedState

    before = datetime.now(UTC) - times.undelete_within
    due: dict[str, None] = {}
    for entry in graveler.deleted_repositories():
        waits = entry.state is not DeletedState.PURGING and entry.since > before and entry.repository.was_active
        if not waits:
            due[entry.repository.id] = None
    return list(due)


def _cleaned(
    context: dg.OpExecutionContext, graveler: GravelerResource, times: Times, name: str | None
) -> tuple["Cleaned", float]:
    """Clean up to the end, in calls of bounded work; gives what was done, and the seconds that it took."""
    from graveler_core.engine.cleaning import Cleaned

    start, done, after, looked_at = time.monotonic(), Cleaned(), None, 0
    with told_to_dagster(context.retry_number):
        opened = graveler.graveler()
        while True:
            step = opened.clean(undelete_within=times.undelete_within, repository=name, limit=CALL, after=after)
            done, after, looked_at = done.plus(step), step.next, looked_at + CALL
            if after is None:
                break
            context.log.info(f"more than {looked_at:,} things looked at, {done.rows:,} rows removed")
    if done.failed:
        context.log.warning(f"{done.failed:,} things failed; the first: {done.failures[0]}")
    return done, time.monotonic() - start
