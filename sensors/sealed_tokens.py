"""A sensor for sealed tokens that nobody takes: a commit or a compaction sealed them, and did not live to end.

Readers see what is in them, so nothing is lost; but each read asks them, and perhaps no counter names the branch.

A tick reads branch records, a page at a time. It cannot tell an orphan from the layer of a small bulk write that waits
for its commit: what has stood on a branch for long as its newest layer is compacted either way, which changes nothing
that anybody reads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Literal

import dagster as dg
from pydantic import Field

from sensors import cursors
from sensors.compaction_requests import USUAL, Pace, ask, newest_layer

if TYPE_CHECKING:
    from graveler_core.engine.pressure import BranchPressure
    from graveler_core.facade.graveler import Graveler
    from graveler_core.model.entities import Branch

_REMEMBERED = 500
"""Branches with sealed tokens that a cursor remembers."""


class _Cursor(cursors.Cursor):
    version: Literal[1] = 1
    after: cursors.Place = ""
    """The listing goes on behind this branch; empty: from the start."""
    seen: dict[str, tuple[str, float]] = Field(default_factory=dict)
    """By uid of a branch with a sealed token on top: that token, and when it was first seen, in seconds since 1970."""
    found: dict[str, tuple[str, float]] = Field(default_factory=dict)
    """Those of the listing that is under way."""


def make_sealed_tokens_sensor(
    job: dg.JobDefinition,
    *,
    resource_key: str = "graveler",
    minutes: float = 60,
    pace: Pace = USUAL,
    interval_seconds: int = 120,
) -> dg.SensorDefinition:
    """A sensor that requests a compaction where the newest layer is a sealed token, and has been for long.

    Args:
        job: Started with the op's configuration: see `sensors.compaction_requests`.
        resource_key: The resource with a method `graveler()`.
        minutes: How long the same token must have been seen.
        pace: How fast runs are asked for, and how many branches a tick reads.
        interval_seconds: Least time between two ticks.
    """

    @dg.sensor(
        name="sealed_tokens",
        job=job,
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={resource_key},
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Has branches compacted whose sealed tokens nobody takes.",
    )
    def left_alone(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        graveler = getattr(context.resources, resource_key).graveler()
        cursor, now = cursors.read(_Cursor, context.cursor), time.time()
        page = list(islice(_branches(graveler, cursor.after), pace.page))
        last = "/".join((page[-1][0], page[-1][1].id)) if len(page) == pace.page else ""
        sealed = {str(branch.uid): (repository, branch) for repository, branch in page if _sealed(branch)}
        since = {uid: _since(cursor.seen.get(uid), newest_layer(branch), now) for uid, (_, branch) in sealed.items()}
        old = [uid for uid, (_, first) in since.items() if now - first >= minutes * 60]
        wanted = _wanted(graveler, [sealed[uid] for uid in old], minutes)
        asked = ask(context.instance, job.name, wanted, pace)
        said = (
            f"{len(page):,} branches read, {len(sealed):,} with a sealed token on top, "
            f"{len(old):,} for longer than {minutes:g} minutes{asked.words()}"
        )
        if asked.requests:
            context.log.info(said)
        return dg.SensorResult(
            run_requests=asked.requests,
            skip_reason=None if asked.requests else said,
            cursor=_next(cursor, since, last).text(),
        )

    return left_alone


def _branches(graveler: Graveler, after: str) -> Iterator[tuple[str, Branch]]:
    """All branches with the names of their repositories, in order, behind one of them."""
    from graveler_core.errors import NotFound

    last, _, branch = after.partition("/")
    for repository in graveler.list_repositories():
        if repository.id >= last:
            try:
                for record in repository.branches(after=branch if repository.id == last else ""):
                    yield repository.id, record
            except NotFound:
                continue  # deleted meanwhile


def _sealed(branch: Branch) -> bool:
    return bool(branch.sealed_tokens) and branch.sealed_tokens[0].kind == "token"


def _since(seen: tuple[str, float] | None, layer: str, now: float) -> tuple[str, float]:
    return seen if seen is not None and seen[0] == layer else (layer, now)


def _wanted(graveler: Graveler, old: list[tuple[str, Branch]], minutes: float) -> Iterator[tuple[BranchPressure, str]]:
    from graveler_core.errors import NotFound

    for repository, branch in old:
        try:
            item = graveler.repository(repository).branch(branch.id).pressure()
        except NotFound:
            continue  # deleted meanwhile
        if newest_layer(item.branch) == newest_layer(branch):
            yield item, f"{item.load.layers} layers, the newest a token sealed for more than {minutes:g} minutes"


def _next(cursor: _Cursor, since: dict[str, tuple[str, float]], last: str) -> _Cursor:
    found = dict(list({**cursor.found, **since}.items())[:_REMEMBERED])
    if last:
        return _Cursor(after=last, seen=cursor.seen, found=found)
    return _Cursor(seen=found)
