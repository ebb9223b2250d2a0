"""The actor that deletes what nothing names, with the shortest grace that is right, and the judge of what it left.

A grace is longer than the two longest builds and what is taken for fresh. Here the shortest one is known: what was
written before all calls began that are under way now, and before those that were under way when these began, is older.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

from graveler_core.codec.record_format import TOMBSTONE_VALUE
from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.successor import small_successor
from graveler_core.engine.committing.commit import commit
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.compacting.index_maintenance import _foldable, start_maintenance
from graveler_core.engine.staging import write
from graveler_core.gc.fsck import fsck
from graveler_core.gc.sweep import LEAST_GRACE, SweepPlan, Swept, sweep
from graveler_core.model.entry import Entry
from graveler_core.objects.commits import CommitCache, read_commit
from graveler_core.refs.branches import get_branch
from graveler_core.refs.repositories import find
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import AtOnce, Stores
from tests.proofs.simulation.cast import PATHS, WORK, Cast
from tests.proofs.simulation.history import NEVER, REPO, History, Operation
from tests.proofs.simulation.schedule import Scheduler
from tests.proofs.simulation.substitutes import FRESH
from tests.proofs.simulation.world import World

SWEEP = "sweep"
SUSPENDED = "suspended builds"
BUILDS = ("commit", "compact", "transact", "merge", "replay", "fold")
"""Calls that write files and refer to them."""
THEMES = ("sweeps", "folds", SUSPENDED)
"""Themes that begin with what others left over."""


def sweep_all(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation(SWEEP, name) as operation:
        repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
        # The sweep reads the clock now, and counts the grace period from then on.
        plan = SweepPlan(grace(cast.history, cast.scheduler), alone=True)
        operation.answer = sweep(stores, repo, plan)


def sweep_after_a_day(cast: Cast, stores: Stores, name: str) -> None:
    """All other processes are suspended for a day, anywhere but in a request to write. Then somebody sweeps with the
    shortest grace period that is accepted beside others.
    """
    cast.scheduler.wait(_amid_builds(cast, name))
    cast.scheduler.jump(LEAST_GRACE)
    with cast.history.operation(SWEEP, name) as operation:
        repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
        operation.answer = sweep(stores, repo, SweepPlan(LEAST_GRACE))


def _amid_builds(cast: Cast, name: str) -> Callable[[], bool]:
    """Return the function that says whether a build has got somewhere, or nobody else is left."""
    scheduler, offset = cast.scheduler, cast.chance.randint(1, 30)

    def until() -> bool:
        building = (one for one in cast.history.operations if one.kind in BUILDS and one.returned == NEVER)
        amid = any(scheduler.step >= one.start + offset for one in building)
        return scheduler.nobody_writes() and (amid or scheduler.alone(name))

    return until


def fold_head(cast: Cast, stores: Stores, name: str) -> None:
    """What a commit does when it is done, by another process."""
    with cast.history.operation("fold", name):
        repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
        head = get_branch(stores.kv, repo, WORK).value.commit_id
        at_once = replace(stores, background=AtOnce())
        start_maintenance(at_once, repo, WORK, read_commit(stores.kv, stores.commits, repo, head))


def leftover(world: World, history: History) -> None:
    """Some commits that nobody has folded, and what processes left that died: of a fold of the head its tree, of a
    commit on it its objects. All of it long ago, and just what who comes next will make.
    """
    stores = world.process()
    repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
    for number in range(7):
        path = PATHS[number % 3]
        with history.operation("put", "somebody", sets={path: number}):
            write.stage(stores, REPO, WORK, path, Entry(address=f"data/{number}", size=number, checksum=str(number)))
        head = commit(stores, REPO, WORK, Draft(f"before {number}"))
    indexes, index = stores.indexes(repo), head.layout.index
    below = _foldable(stores, repo, index)
    if below is not None:
        fold(indexes, below)
    for write_object in small_successor(indexes, index, [(PATHS[0].encode(), TOMBSTONE_VALUE)]).writes:
        stores.kv.set(*write_object)
    world.scheduler.jump(timedelta(seconds=10))


def grace(history: History, scheduler: Scheduler) -> timedelta:
    """What is older was written before any call that may still name it."""
    spans = [(op.start, over(op, scheduler)) for op in history.operations if op.kind != SWEEP]
    begun = min((start for start, end in spans if end > scheduler.step), default=scheduler.step)
    before = min((start for start, end in spans if start <= begun <= end), default=begun)
    return scheduler.moment() - scheduler.moment(before) + FRESH + timedelta(milliseconds=1)


def over(operation: Operation, scheduler: Scheduler) -> int:
    """Return the step at which a call came back and nothing that it sent was under way any more."""
    sent = [c for c in scheduler.lates if c.actor == operation.actor and c.since >= operation.start]
    return max([operation.returned, *(c.until for c in sent if c.since <= operation.returned)])


def removed(history: History) -> int:
    """How many things all sweeps of a history deleted."""
    swept = [op.answer for op in history.operations if isinstance(op.answer, Swept)]
    return sum(one.objects + one.blobs for one in swept)


def violations(world: World, history: History) -> Iterator[str]:
    """Whatever a history deleted, all that branches lead to is whole."""
    if not any(operation.kind == SWEEP for operation in history.operations):
        return
    stores = replace(world.process(), commits=CommitCache())
    held = find(stores.kv, REPO)
    if held is not None and held.value.state == "active":
        for finding in fsck(stores, held.value, deep=True):
            if finding.damage:
                yield f"{finding.thing} {finding.id} is {finding.trouble}: {finding.why} ({finding.named_by})"
