"""Sensor for orphaned sealed tokens, which an interrupted commit or compaction left behind.

Readers see the content of a sealed token, so nothing is lost. But each read must search it, and counters may not
include it. A tick reads branch records, one page at a time, and stops after half a minute. It cannot distinguish an
orphaned token from the layer of a small bulk write that waits for its commit. A branch whose newest layer has been the
same sealed token for long is compacted in both cases, which does not change what readers see.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from logging import Logger
from typing import TYPE_CHECKING, Literal

import dagster as dg
from pydantic import Field

from dagster_graveler.sensors import cursors
from dagster_graveler.sensors.compaction_requests import USUAL, Pace, ask, newest_layer
from dagster_graveler.sensors.skipping import skipped
from dagster_graveler.sensors.tick_time import SECONDS, TickTime, in_half_the_time
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.engine.staging.pressure import BranchPressure
    from graveler_core.facade.graveler import Graveler
    from graveler_core.model.entities import BranchRecord

_REMEMBERED = 500
"""Maximum number of branches with sealed tokens in a cursor."""


class _Cursor(cursors.Cursor):
    version: Literal[1] = 1
    after: cursors.Place = ""
    """Last listed branch; empty for the start."""
    seen: dict[str, tuple[str, float]] = Field(default_factory=dict)
    """For each branch (by uid) whose newest layer is a sealed token: the token, and the time when it was first seen, in
    seconds since 1970.
    """
    found: dict[str, tuple[str, float]] = Field(default_factory=dict)
    """The same for the current listing."""


def make_sealed_tokens_sensor(
    job: dg.JobDefinition,
    *,
    resource_key: str = "graveler",
    minutes: float = 60,
    pace: Pace = USUAL,
    interval_seconds: int = 120,
) -> dg.SensorDefinition:
    """Return a sensor that requests a compaction if the newest layer of a branch has been the same sealed token for
    long.

    Args:
        job: Job with the configuration of `dagster_graveler.sensors.compaction_requests`.
        resource_key: Key of a resource with a method `graveler()`.
        minutes: Time for which the same token must have been seen.
        pace: Limits on requests, and on the branches that a tick reads.
        interval_seconds: Minimum time between two ticks.

    Returns:
        The sensor `sealed_tokens`.
    """

    @dg.sensor(
        name="sealed_tokens",
        job=job,
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={resource_key},
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests the compaction of branches whose newest sealed token was left by an interrupted commit.",
    )
    def left_alone(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        graveler = getattr(context.resources, resource_key).graveler()
        cursor, now = cursors.read(_Cursor, context.cursor), time.time()
        page, last = _page(_branches(context.log, graveler, cursor.after), pace.page)
        sealed = {str(branch.uid): (repository, branch) for repository, branch in page if _sealed(branch)}
        since = {uid: _since(cursor.seen.get(uid), newest_layer(branch), now) for uid, (_, branch) in sealed.items()}
        old = [uid for uid, (_, first) in since.items() if now - first >= minutes * 60]
        wanted = _wanted(context.log, graveler, [sealed[uid] for uid in old], minutes)
        asked = ask(context.instance, job.name, wanted, pace)
        said = (
            f"{counted(len(page), 'branch')} examined, {len(sealed):,} with a sealed token as the newest layer, "
            f"{len(old):,} for longer than {counted(minutes, 'minute')}{asked.words()}"
        )
        if asked.requests:
            context.log.info(said)
        return dg.SensorResult(
            run_requests=asked.requests,
            skip_reason=None if asked.requests else said,
            cursor=_next(cursor, since, last).text(),
        )

    return left_alone


def _page(branches: Iterator[tuple[str, BranchRecord]], limit: int) -> tuple[list[tuple[str, BranchRecord]], str]:
    """Return the next branches, and the last one of them; an empty text instead of it if the listing is complete.

    Half of the time of the tick is for the listing. At least one branch is returned if there are any.
    """
    page: list[tuple[str, BranchRecord]] = []
    reading = TickTime(SECONDS / 2)
    for repository, branch in branches:
        page.append((repository, branch))
        if len(page) == limit or reading.is_over:
            return page, f"{repository}/{branch.id}"
    return page, ""


def _branches(log: Logger, graveler: Graveler, after: str) -> Iterator[tuple[str, BranchRecord]]:
    """Yield the branches of all repositories with their names, in order, after a given one."""
    from graveler_core.errors import NotFound
    from graveler_core.model.entities import RepositoryState

    last, _, branch = after.partition("/")
    for repository in graveler.list_repositories(start=last, damaged=skipped(log)):
        if repository.state is RepositoryState.ACTIVE:
            try:
                listed = repository.branches(after=branch if repository.id == last else "", damaged=skipped(log))
                yield from ((repository.id, record) for record in listed)
            except NotFound:
                continue  # deleted in the meantime


def _sealed(branch: BranchRecord) -> bool:
    return bool(branch.sealed_tokens) and branch.sealed_tokens[0].kind == "token"


def _since(seen: tuple[str, float] | None, layer: str, now: float) -> tuple[str, float]:
    """Return the newest layer and when it was first seen: now at the latest, if the clock was set back since."""
    return (layer, min(seen[1], now)) if seen is not None and seen[0] == layer else (layer, now)


def _wanted(
    log: Logger, graveler: Graveler, old: list[tuple[str, BranchRecord]], minutes: float
) -> Iterator[tuple[BranchPressure, str]]:
    """Yield the branches to compact, with the reason, for half of the time of the tick. The others wait."""
    from graveler_core.errors import CorruptData, NotFound

    for repository, branch in in_half_the_time(log, old):
        try:
            item = graveler.repository(repository).branch(branch.id).pressure()
        except NotFound:
            continue  # deleted in the meantime
        except CorruptData as damage:
            log.warning(f"branch {branch.id} of repository {repository} is skipped: {damage}")
            continue
        if newest_layer(item.branch) == newest_layer(branch):
            yield (
                item,
                f"{counted(item.load.layers, 'layer')}; the newest is a token that was sealed more than "
                f"{counted(minutes, 'minute')} ago",
            )


def _next(cursor: _Cursor, since: dict[str, tuple[str, float]], last: str) -> _Cursor:
    found = dict(list({**cursor.found, **since}.items())[:_REMEMBERED])
    if last:
        return _Cursor(after=last, seen=cursor.seen, found=found)
    return _Cursor(seen=found)
