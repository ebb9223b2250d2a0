"""A repository with commits that no reference has reached, and flows that come to lead to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from graveler_core.errors import Kind, NotFound, SlowDown
from graveler_core.facade.repository import Repository
from graveler_core.gc.commits import HistoryGraph
from graveler_core.gc.sweep import GRACE
from graveler_core.kv import bulk
from graveler_core.kv.store import Item, Predicate, Store
from graveler_core.model.collection import Collections
from graveler_core.model.ids import CommitId
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.gc.lake import NOW, Lake

DAY = timedelta(days=1)
GONE = Kind.CommitNotFound, Kind.RefNotFound
"""Kinds of the error for a commit that was removed: its id is looked up among the stored ones, or was known before."""


class Killed(Interposed):
    """A plain store whose process is killed between the records of a commit and the swap."""

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        bulk.set_many(self.inner, items)
        raise Crash


def headers(lake: Lake) -> set[CommitId]:
    """All stored headers."""
    return {CommitId(name) for name, _ in access.scan(lake.world.kv, keys.commits(lake.record))}


def layouts(lake: Lake) -> set[str]:
    return {name for name, _ in access.scan(lake.world.kv, keys.commit_layouts(lake.record))}


def lose(lake: Lake, message: str = "lost", branch: str = "main", **texts: object) -> CommitId:
    """Have a process killed before the swap of a commit. Return the commit. Its content stays staged."""
    before = headers(lake)
    lake.branch(branch).put("x", message.encode())
    with suppress(Crash):
        lake.world.graveler(Killed(lake.world.kv)).repository("repo").branch(branch).commit(message, **texts)
    (made,) = headers(lake) - before
    return made


def prepared(root: Path) -> tuple[Lake, CommitId, set[CommitId]]:
    """A repository that has adopted old commits, a lost commit that is older than the grace period, and the others."""
    lake = Lake(root)
    lake.branch().put("a", b"a")
    lake.branch().commit("first")
    lake.repo.create_branch("dev", source="main")
    lake.collect(NOW)
    made = lose(lake)
    lake.sleep(GRACE + DAY)
    return lake, made, headers(lake) - {made}


def record(lake: Lake) -> Collections:
    held = access.read(lake.world.kv, keys.collections(lake.record.id, lake.record.uid))
    assert held is not None
    return held.value


def whole(lake: Lake, once: set[CommitId]) -> None:
    """References lead to commits that exist, with all ancestors and layouts, and nothing that was reached is gone."""
    here = headers(lake)
    assert once <= here
    graph = HistoryGraph(lake.world.kv, keys.history(lake.record), lambda more: None)
    for reference in (*lake.repo.branches(), *lake.repo.tags()):
        assert not list(graph.reach(CommitId(reference.commit_id), reference.id))
    assert graph.reachable <= layouts(lake)
    assert not lake.missing()


def depend(repo: Repository, how: str, on: CommitId) -> None:
    """Make something lead to a commit whose id somebody has told."""
    match how:
        case "branch":
            repo.create_branch("new", source=on)
        case "tag":
            repo.create_tag("v1", on)
        case "hard reset":
            repo.branch("dev").hard_reset(on)
        case "merge":
            repo.merge(on, into="dev")
        case "transplant":
            repo.transplant([on], "dev")
        case "tag for a moment":
            repo.create_tag("v1", on)
            repo.delete_tag("v1")


FLOWS = ["branch", "tag", "hard reset", "merge", "transplant", "tag for a moment"]


def attempted(act: Callable[[], object]) -> bool:
    """Act. Return `False` if the commit was removed."""
    try:
        act()
    except NotFound as refused:
        if refused.kind not in GONE:
            raise
        return False
    return True


def later(lake: Lake) -> None:
    for _ in range(3):
        lake.sleep(GRACE + DAY)
        lake.collect()


class Slow(Interposed):
    """A plain store. The process pauses between the records of its first commit and the swap."""

    def __init__(self, inner: Store, pause: Callable[[], object]) -> None:
        super().__init__(inner)
        self.pause: Callable[[], object] | None = pause

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        bulk.set_many(self.inner, items)
        pause, self.pause = self.pause, None
        if pause is not None:
            pause()
        return self.inner.set_if(*swapped, predicate)


def slow_commit(lake: Lake, pause: Callable[[], object]) -> CommitId | None:
    """Commit on `dev` with a pause before the swap. Return the commit, or `None` if the call was refused."""
    lake.branch("dev").put("x", b"slow")
    slow = lake.world.graveler(Slow(lake.world.kv, pause)).repository("repo").branch("dev")
    with suppress(SlowDown):
        return CommitId(slow.commit("slow").id)
    return None
