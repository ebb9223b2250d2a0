"""One history from one seed: set up, let the actors loose, look at what is left, judge.

python -m tests.simulation.run SEED [SEED …] [--trace]
python -m tests.simulation.run --histories 100000 [--from SEED]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from unittest.mock import patch

from graveler_core.engine import bulk, commit, repository
from graveler_core.engine.branching import create_branch
from graveler_core.engine.draft import Draft
from graveler_core.engine.read import get
from graveler_core.engine.repository import NewRepository
from graveler_core.errors import NoChanges, NotFound
from graveler_core.model.ids import BranchId
from graveler_core.stores import Stores
from tests.simulation.actors import ACTS, PATHS, REPO, SIDE, WORK, Act, Cast, life
from tests.simulation.checker import Judge
from tests.simulation.history import History, Outcome
from tests.simulation.observe import Observer
from tests.simulation.schedule import Scheduler
from tests.simulation.world import World

MAIN = BranchId("main")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A history and what is wrong with it."""

    seed: int
    violations: list[str]
    history: History
    trace: list[str]
    steps: int

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {len(self.violations)} violations", *self.violations, "", *self.trace]
        return "\n".join([*lines, "", *(str(operation) for operation in self.history.operations)])


def simulate(seed: int, acts: Sequence[Act] | None = None, *, trace: bool = False) -> Verdict:
    """The history of a seed, judged."""
    chance = random.Random(seed)
    scheduler = Scheduler(chance, trace=[] if trace else None)
    world = World(scheduler)
    history = History(lambda: scheduler.step)
    observer = Observer(world.kv, world.held, PATHS, REPO, WORK)
    with patch.object(bulk, "SEGMENT_ROWS", chance.choice([1, 1_000])):
        _set_up(world)
        observer.look(0)
        world.changed = lambda: observer.look(scheduler.step)
        cast = Cast(history, observer, chance, count(100), set())
        _people(world, cast, acts)
        scheduler.fault_rate = chance.choice([0.0, 0.0, 0.01, 0.05])
        scheduler.run()
        _settle(world, history)
    for operation in history.operations:
        if operation.kind == "merge" and operation.outcome in (Outcome.PENDING, Outcome.UNKNOWN):
            operation.may_set = frozenset(cast.side_values)
    violations = list(Judge(history, observer).violations())
    return Verdict(seed, violations, history, scheduler.trace or [], scheduler.step)


def _set_up(world: World) -> None:
    """A repository with a branch that has some history and nothing staged, and a side branch."""
    stores = world.process()
    repository.create_repository(stores, NewRepository(REPO, "memory://simulation/repo", MAIN))
    create_branch(stores, REPO, SIDE, "main")
    create_branch(stores, REPO, WORK, "main")


def _people(world: World, cast: Cast, acts: Sequence[Act] | None) -> None:
    """Actors of random kinds; some processes have read the branch before, and hold an old record of it."""
    kinds, weights = list(ACTS), list(ACTS.values())
    for number in range(cast.chance.randint(3, 6)):
        plan = acts or cast.chance.choices(kinds, weights, k=cast.chance.randint(1, 4))
        stores = world.process()
        if cast.chance.random() < 0.7:
            get(stores, REPO, WORK, PATHS[0])
        name = f"{number}-{plan[0].__name__}"
        world.scheduler.spawn(name, life(cast, stores, name, plan))


def _settle(world: World, history: History) -> None:
    """After the storm, a new process reads and commits: whatever crashed, the next try completes."""
    world.scheduler.fault_rate = 0
    stores = world.process()
    for act in (_read_all, _commit_rest, _read_all):
        try:
            act(stores, history)
        except NotFound:
            return


def _read_all(stores: Stores, history: History) -> None:
    with history.operation("list", "afterwards") as operation:
        found = {path: get(stores, REPO, WORK, path) for path in PATHS}
        operation.answer = {path: entry and entry.size for path, entry in found.items()}


def _commit_rest(stores: Stores, history: History) -> None:
    with history.operation("commit", "afterwards") as operation:
        try:
            operation.answer = commit.commit(stores, REPO, WORK, Draft("rest")).id
        except NoChanges:
            operation.answer = "no changes"
            raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run seeds, print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--histories", type=int, default=0)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args(arguments)
    seeds = options.seeds or range(options.first, options.first + options.histories)
    begun, bad = time.perf_counter(), 0
    for seed in seeds:
        verdict = simulate(seed, trace=options.trace)
        if verdict.violations or options.trace:
            bad += bool(verdict.violations)
            print(verdict)
    spent = time.perf_counter() - begun
    print(f"{len(seeds):,} histories, {bad} with violations, {len(seeds) / spent:,.0f} a second")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
