"""Real flows in all orders of their calls to the store, each of which may be the last of a flow that dies.

Flows are greenlets that give way before each call. A state is what is stored, and what each flow has been answered so
far: this fixes where it stands, as each has ids and a clock of its own. A state is reached again by running its
schedule from the start; each is expanded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import greenlet

from graveler_core.errors import GravelerError
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Call, Passing
from tests.unit.engine.world import CountedIds, FakeClock, World

T = TypeVar("T")
Flow = Callable[["Parts"], object]
Choice = tuple[int, bool]
"""Which flow goes on, and whether it dies instead."""


@dataclass(frozen=True)
class Parts:
    """What a flow works with."""

    kv: Store
    clock: FakeClock
    ids: CountedIds


class GivingWay(Passing):
    """Stops before each call, and remembers what it answered."""

    def __init__(self, inner: Store, hub: greenlet.greenlet) -> None:
        super().__init__(inner)
        self.answers: list[object] = []
        self._hub = hub

    def step(self, call: Call, work: Callable[[], T]) -> T:
        self._hub.switch()
        try:
            answer = work()
        except GravelerError as e:
            self.answers.append(e.kind)
            raise
        self.answers.append(_plain(answer))
        return answer


@dataclass
class Ended:
    """All flows have ended: in which world, and how."""

    world: World
    results: list[object]
    """Of each flow: None, the kind of its error, or "died"."""
    schedule: list[Choice]


@dataclass
class _Run:
    world: World
    flows: list[Flow]
    deaths: int
    taken: list[Choice] = field(default_factory=list)

    def __post_init__(self) -> None:
        hub = greenlet.getcurrent()
        self.stores = [GivingWay(self.world.kv, hub) for _ in self.flows]
        self.results: list[object] = [None] * len(self.flows)
        self.actors = [greenlet.greenlet(lambda n=n: self._play(n), hub) for n in range(len(self.flows))]
        for actor in self.actors:
            actor.switch()

    def _play(self, number: int) -> None:
        ids = CountedIds()
        ids.skip((number + 1) * 1_000)
        try:
            self.flows[number](Parts(self.stores[number], FakeClock(), ids))
        except GravelerError as e:
            self.results[number] = e.kind

    def step(self, choice: Choice) -> None:
        number, dies = choice
        self.taken.append(choice)
        if dies:
            self.deaths -= 1
            self.results[number] = "died"
            self.actors[number].throw(greenlet.GreenletExit)
        else:
            self.actors[number].switch()

    def choices(self) -> list[Choice]:
        alive = [number for number, actor in enumerate(self.actors) if not actor.dead]
        return [(number, False) for number in alive] + [(number, True) for number in alive if self.deaths]

    def key(self) -> int:
        stood = tuple((tuple(store.answers), actor.dead) for store, actor in zip(self.stores, self.actors, strict=True))
        return hash((_rows(self.world), stood, tuple(map(str, self.results)), self.deaths))

    def leave(self) -> None:
        """Let no greenlet wait for ever."""
        for actor in self.actors:
            if not actor.dead:
                actor.throw(greenlet.GreenletExit)


def ends(begin: Callable[[], World], flows: list[Flow], deaths: int = 0) -> Iterator[Ended]:
    """Every way in which the flows can end, from one beginning.

    Args:
        begin: Makes the same world each time.
        deaths: How many flows may die.
    """
    seen: set[int] = set()
    start = begin()
    schedules: list[tuple[Choice, ...]] = [()]
    while schedules:
        schedule = schedules.pop()
        run = _Run(start.fork(), flows, deaths)
        for choice in schedule:
            run.step(choice)
        while (key := run.key()) not in seen:
            seen.add(key)
            choices = run.choices()
            if not any(not dies for _, dies in choices):
                yield Ended(run.world, run.results, run.taken)
                break
            schedules.extend((*run.taken, choice) for choice in choices[1:])
            run.step(choices[0])
        run.leave()


def _rows(world: World) -> Any:
    assert isinstance(world.kv, MemoryStore)
    return tuple((row.key, row.value) for row in world.kv.scan(b"graveler_iam"))


def _plain(answer: object) -> object:
    """What an answer says, hashable: pages of a scan are objects of their own."""
    rows = getattr(answer, "rows", None)
    return str(answer) if rows is None else tuple((row.key, row.value) for row in rows)
