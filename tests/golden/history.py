"""A repository with some of everything in it, always made by the same calls, and what it holds by a model of dicts."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import datetime

from graveler_core.facade.repository import Repository
from graveler_core.model.clock import Instant
from graveler_core.model.operations import Put, Remove
from tests.old_paths import any_path
from tests.unit.engine.flows import MANY, table
from tests.unit.engine.world import FakeClock, World, entry

NAME, NAMESPACE = "golden", "memory://golden/data"
State = dict[str, int]
"""Path to the number of its entry."""


class ClockOfThen(FakeClock):
    """A clock that does not move at the looks of flows that did not look at it when the histories were recorded.

    The dates of the commits, and so their ids, are then those of the records.
    """

    NEW = frozenset({Instant.of.__func__.__code__})

    def now(self) -> datetime:
        return self.time if sys._getframe(1).f_code in self.NEW else super().now()


def world_of_then() -> World:
    """A world in which the same calls give the recorded ids."""
    return World(clock=ClockOfThen())


@dataclass
class Expected:
    """What each ref shows."""

    states: dict[str, State] = field(default_factory=dict)

    def note(self, ref: str, state: State) -> None:
        """A ref shows a state from now on."""
        self.states[ref] = dict(sorted(state.items()))


def play(world: World) -> Expected:
    """Make the repository, and say what it holds."""
    repo = world.graveler().create_repository(NAME, NAMESPACE, committer="ann", adopt=True, ephemeral=True)
    expected = Expected()
    main = _large_and_small_commits(repo)
    expected.note("main~3", main)
    _branches_and_merge(repo, main)
    expected.note("v1", main)
    _transactions(repo, main)
    expected.note("main", main)
    work = _staged(repo, main)
    expected.note("work", work)
    expected.note("work@", main)
    compacted = _compacted(repo, main)
    expected.note("compacted", compacted)
    return expected


def _large_and_small_commits(repo: Repository) -> State:
    main, state = repo.branch("main"), State()
    state.update({f"data/{n:04}": n for n in range(70)} | {"é\U0001f600/\x01": 1})
    with any_path():
        main.stage_many(table(state))
    main.commit("many", committer="ann", metadata={"k": "ä"})
    for n in range(6):
        main.stage(f"data/{n * 12:04}", entry(n + 1_000, mtime=n))
        main.stage(f"few/{n}", entry(n))
        main.remove(f"data/{n * 12 + 1:04}")
        main.commit(f"few {n}", committer="bob")
        state |= {f"data/{n * 12:04}": n + 1_000, f"few/{n}": n}
        del state[f"data/{n * 12 + 1:04}"]
    return state


def _branches_and_merge(repo: Repository, state: State) -> None:
    side = repo.create_branch("side", "main")
    side.stage("side/1", entry(7))
    side.commit("on the side")
    repo.branch("main").stage("other", entry(8))
    repo.branch("main").commit("meanwhile")
    repo.merge("side", into="main", message="merge side", committer="ann")
    state |= {"side/1": 7, "other": 8}
    repo.create_tag("v1", "main", message="first", signature="sig")


def _transactions(repo: Repository, state: State) -> None:
    repo.branch("main").transact([Put("t", entry(9)), Remove("side/1")], message="transaction", idempotency_key="run/1")
    state["t"] = 9
    del state["side/1"]


def _staged(repo: Repository, main: State) -> State:
    """Uncommitted layers of every kind, one over the other."""
    work, state = repo.create_branch("work", "main"), dict(main)
    work.stage("few/1", entry(50))
    work.remove_prefix("data/00")
    work.stage_many(table(MANY))
    work.remove_prefix("few/")
    work.reset("few/")
    work.stage("last", entry(51))
    work.remove("other")
    state = {path: n for path, n in state.items() if not path.startswith("data/00")}
    state |= MANY | {"last": 51}
    del state["other"]
    return state


def _compacted(repo: Repository, main: State) -> State:
    branch, state = repo.create_branch("compacted", "main"), dict(main)
    branch.stage_many(table({f"c/{n}": n for n in range(40)}))
    branch.remove("t")
    branch.compact()
    branch.stage("after", entry(3))
    state |= {f"c/{n}": n for n in range(40)} | {"after": 3}
    del state["t"]
    return state
