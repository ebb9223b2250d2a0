"""Time that passes in steps, while collections run, and the ids of commits that somebody knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from graveler_core.gc.collection import collect
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.model.collection import REMEMBERED
from graveler_core.model.ids import BranchId, CommitId, TagId
from graveler_core.records import layout as keys
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests.proofs.simulation.cast import MAIN, SIDE, WORK, Cast
from tests.proofs.simulation.headers import HeaderJudge
from tests.proofs.simulation.history import NEVER, REPO, Operation
from tests.proofs.simulation.sweeping import over
from tests.proofs.simulation.world import World

NAME = "name"
"""Calls that end within a grace period."""
GRACE = timedelta(days=1)
COLLECT = "collect"
ASIDE = BranchId("aside")
"""Branch that is there when a history begins. Others are created."""


@dataclass
class Days:
    """Steps of time, and the ids of commits that hooks and errors have told."""

    world: World
    cast: Cast
    judge: HeaderJudge
    passed: list[int] = field(default_factory=list)
    """Steps of the history at which time passed."""
    hooked: dict[str, int] = field(default_factory=dict)
    """By actor: the step at which its hook ended, or `NEVER` while it runs."""
    told: set[CommitId] = field(default_factory=set)

    def branch(self) -> BranchId:
        """A branch other than those of all themes, or `ASIDE` if there is none."""
        repo = self.cast.observer.repo()
        found = [] if repo is None else [name for name, _ in self.cast.observer.records.scan(keys.branches(repo))]
        return BranchId(self.cast.chance.choice(sorted({*found} - {MAIN, SIDE, WORK}) or [ASIDE]))

    def tag(self) -> TagId | None:
        """A tag, if there is one."""
        repo = self.cast.observer.repo()
        found = [] if repo is None else [name for name, _ in self.cast.observer.records.scan(keys.tags(repo))]
        return TagId(self.cast.chance.choice(found)) if found else None

    def some_id(self) -> CommitId | None:
        """A commit that somebody names: mostly one that no reference reaches, or that was removed."""
        chance, judge = self.cast.chance, self.judge
        drawn = chance.random()
        known = judge.unreached if drawn < 0.6 else sorted(judge.removed) if drawn < 0.8 else sorted(self.told)
        known = [id for id in known or sorted(judge.stored) if id in judge.removed or judge.is_whole(id)]
        return chance.choice(known) if known else None

    def some_pass(self, least: int = 1, most: int = 3) -> None:
        """Have half a grace period pass, a few times."""
        for _ in range(self.cast.chance.randint(least, most)):
            self._pass(partial(self._may_pass, long=False), GRACE / 2 + timedelta(hours=1))

    def many_pass(self) -> None:
        """Have so much time pass that the ids of removed commits are forgotten."""
        self._pass(partial(self._may_pass, long=True), REMEMBERED + GRACE)

    def pause(self, name: str) -> None:
        """Do nothing while others collect for days. Then go on at any time, perhaps amid a collection."""
        chance, scheduler = self.cast.chance, self.cast.scheduler
        if chance.random() < 0.4:
            for _ in range(chance.choice([0, 1, 2, 3])):
                self._collect_beside(name)
                self.some_pass()
        else:
            for _ in range(2):  # what was stored before the pause is announced, and is due then
                self.some_pass(least=2, most=2)
                self._collect_beside(name)
            self.some_pass(least=2, most=2)
            scheduler.later("a collection", partial(self._collect_beside, name))
        if chance.random() < 0.7:
            scheduler.wait(self.amid_collection(name))

    def amid_collection(self, name: str) -> Callable[[], bool]:
        """Return the function that says whether a collection has got somewhere, or nobody else is left."""
        scheduler, offset = self.cast.scheduler, self.cast.chance.randint(0, 70)

        def until() -> bool:
            running = (one for one in self.cast.history.operations if one.kind == COLLECT and one.returned == NEVER)
            return any(scheduler.step >= one.start + offset for one in running) or scheduler.alone(name)

        return until

    def _collect_beside(self, name: str) -> None:
        collect_once(self.cast, self.world.process(), f"{name} beside", dry_run=False)

    def _pass(self, may: Callable[[], bool], time: timedelta) -> None:
        self.cast.scheduler.wait(may)
        self.passed.append(self.cast.scheduler.step)
        self.cast.scheduler.jump(time)

    def _may_pass(self, *, long: bool) -> bool:
        names = (one for one in self.cast.history.operations if one.kind == NAME)
        return all(self._fits(one, long=long) for one in names)

    def _fits(self, operation: Operation, *, long: bool) -> bool:
        begun = max(operation.start, self.hooked.get(operation.actor, -1))
        last = self.cast.scheduler.step if long else self.passed[-1] if self.passed else -1
        return begun > last or over(operation, self.cast.scheduler) <= self.cast.scheduler.step


def collect_once(cast: Cast, stores: Stores, name: str, *, dry_run: bool) -> None:
    with cast.history.operation(COLLECT, name):
        repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
        collect(stores, repo, CollectionPlan(GRACE, dry_run=dry_run))
