"""Real flows in all orders of their calls to the store, some of which fail: the search behind `test_orders`.

Flows are greenlets that give way before each call. A state is what is stored, and what each flow has been answered so
far: this fixes where it stands, as each has ids and a clock of its own. A state is reached again by running its
schedule from the start; each is expanded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

import greenlet

from graveler_core.errors import GravelerError, Kind, OutcomeUnknown
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from tests.unit.engine.world import CountedIds, FakeClock, World

T = TypeVar("T")
Flow = Callable[["Parts"], object]


class Fate(Enum):
    """What befalls the next call of a flow."""

    DONE = "done"
    DIES = "dies"
    """The flow ends before the call."""
    UNHEARD = "unheard"
    """Done, and the flow does not know."""
    LATE = "late"
    """Done later, or never, and the flow does not know."""


FAULTS = (Fate.DIES, Fate.UNHEARD, Fate.LATE)
Choice = tuple[int, Fate]
"""Which flow goes on, and what befalls it; -1: the late call is done."""
NOBODY = -1
UNCLEAR = ("died", Kind.OutcomeUnknown)
"""How a flow ends of which nobody knows what it did."""


@dataclass(frozen=True)
class Parts:
    """What a flow works with."""

    kv: Store
    clock: FakeClock
    ids: CountedIds


class GivingWay(Passing):
    """Stops before each call until it is told the call's fate, and remembers what it answered."""

    def __init__(self, inner: Store, hub: greenlet.greenlet) -> None:
        super().__init__(inner)
        self.answers: list[object] = []
        self.next: StoreCall | None = None
        self.late: list[Callable[[], object]] = []
        self._hub = hub

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        self.next = call
        fate = self._hub.switch()
        self.next = None
        try:
            answer = self._done(fate, work)
        except GravelerError as e:
            self.answers.append(e.kind)
            raise
        self.answers.append(_plain(answer))
        return answer

    def _done(self, fate: Fate, work: Callable[[], T]) -> T:
        if fate is Fate.LATE:
            self.late.append(work)
        elif fate is Fate.UNHEARD:
            with suppress(GravelerError):
                work()
        else:
            return work()
        raise OutcomeUnknown("the answer was lost")


@dataclass
class Ended:
    """All flows have ended: in which world, and how."""

    world: World
    results: list[object]
    """Of each flow: None, the kind of its error, or "died"."""
    late: list[Callable[[], object]]
    """A call that has not arrived yet."""
    schedule: list[Choice]

    def arrive(self) -> None:
        """Let the late call arrive."""
        while self.late:
            with suppress(GravelerError):
                self.late.pop()()


@dataclass
class _Run:
    world: World
    flows: list[Flow]
    faults: int
    fates: tuple[Fate, ...]
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
        number, fate = choice
        self.taken.append(choice)
        self.faults -= fate is not Fate.DONE
        if number == NOBODY:
            with suppress(GravelerError):
                next(store.late for store in self.stores if store.late).pop()()
        elif fate is Fate.DIES:
            self.results[number] = "died"
            self.actors[number].throw(greenlet.GreenletExit)
        else:
            self.actors[number].switch(fate)

    def choices(self) -> list[Choice]:
        alive = [number for number, actor in enumerate(self.actors) if not actor.dead]
        found = [(number, Fate.DONE) for number in alive]
        if alive and any(store.late for store in self.stores):
            found.append((NOBODY, Fate.DONE))
        if self.faults:
            possible = [(number, fate) for number in alive for fate in self.fates]
            found += [choice for choice in possible if choice[1] is Fate.DIES or self._writes(choice[0])]
        return found

    def _writes(self, number: int) -> bool:
        call = self.stores[number].next
        return call is not None and call.writes

    def key(self) -> int:
        stood = tuple(
            (tuple(store.answers), len(store.late), actor.dead)
            for store, actor in zip(self.stores, self.actors, strict=True)
        )
        return hash((_rows(self.world), stood, tuple(map(str, self.results)), self.faults))

    def leave(self) -> None:
        """Let no greenlet wait for ever."""
        for actor in self.actors:
            if not actor.dead:
                actor.throw(greenlet.GreenletExit)


def ends(
    begin: Callable[[], World], flows: list[Flow], faults: int = 0, fates: tuple[Fate, ...] = FAULTS
) -> Iterator[Ended]:
    """Every way in which the flows can end, from one beginning.

    Args:
        begin: Makes the same world each time.
        faults: How many calls may fail.
        fates: And how.
    """
    seen: set[int] = set()
    start = begin()
    schedules: list[tuple[Choice, ...]] = [()]
    while schedules:
        schedule = schedules.pop()
        run = _Run(start.fork(), flows, faults, fates)
        for choice in schedule:
            run.step(choice)
        while (key := run.key()) not in seen:
            seen.add(key)
            choices = run.choices()
            if not choices:
                late = [work for store in run.stores for work in store.late]
                yield Ended(run.world, run.results, late, run.taken)
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
