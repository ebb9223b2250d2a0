"""Every flow of many steps, killed after each of its writes to a store: a new process reads, repeats it, and is done.

A death between two writes leaves the same in the stores, whatever has been read in between.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import greenlet
import pytest

from graveler_core.engine.reading.branch import entries_page
from graveler_core.engine.reading.listing import Window, items
from graveler_core.engine.references.branching import create_branch
from graveler_core.engine.repositories import creation as repository
from graveler_core.engine.repositories.creation import NewRepository
from graveler_core.errors import NotFound
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import Store
from graveler_core.model.entry import Entry
from graveler_core.stores import RetryBudget, Stores
from graveler_core.testing.plain_store import PlainStore
from tests.proofs.simulation.cast import MAIN, OTHER, PATHS, SIDE, WORK
from tests.proofs.simulation.crash_flows import FLOWS, Flow
from tests.proofs.simulation.history import REPO, History
from tests.proofs.simulation.judges import judged
from tests.proofs.simulation.observe import Observer, Tree
from tests.proofs.simulation.repositories import Registers
from tests.proofs.simulation.schedule import START, Fate
from tests.proofs.simulation.world import TINY, TINY_SIZES, Held, Serial, SimBlobs, SimIds, SimStore

MAX_WRITES = 200


@dataclass
class Countdown:
    """Lets a number of writes through, then kills the process at its next call."""

    left: int
    step: int = 0
    slept: timedelta = timedelta(0)

    def give_way(self, what: str, *, writes: bool) -> Fate:
        if self.left == 0:
            raise greenlet.GreenletExit
        self.left -= writes
        self.step += 1
        return Fate.DONE

    def answer(self) -> None:
        """At once."""

    def later(self, what: str, work: Callable[[], object]) -> None:
        raise AssertionError(what)

    def now(self) -> datetime:
        return START + self.slept + timedelta(milliseconds=self.step)

    def monotonic(self) -> float:
        return (self.now() - START).total_seconds()

    def sleep(self, seconds: float) -> None:
        self.slept += timedelta(seconds=seconds)


@dataclass
class Place:
    """What outlives a process, and all who watch."""

    plain: bool
    steps: Countdown = field(default_factory=lambda: Countdown(-1))
    kv: Store = field(default_factory=lambda: open_memory("memory://"))

    def __post_init__(self) -> None:
        self.history = History(lambda: self.steps.step)
        self.held = Held(self.steps.now)
        self.observer = Observer(self.kv, self.held, PATHS, REPO, WORK)
        self.registers = Registers(self.kv, self.observer)
        self._ids = SimIds(random.Random(0))
        self._watched = False

    def process(self) -> Stores:
        """A new process: nothing cached."""
        kv = SimStore(self.kv, self.steps, self.changed)
        return Stores(
            kv=PlainStore(kv) if self.plain else kv,
            blobs=SimBlobs(self.held, self.steps),
            clock=self.steps,  # type: ignore[arg-type]
            ids=self._ids,
            executor=Serial(),
            cutting=TINY,
            sizes=TINY_SIZES,
            retry_budget=RetryBudget(total=1e9),
        )

    def watch(self) -> None:
        """From now on; what the branch holds was given by somebody before."""
        self._watched = True
        self.changed()
        state = self.observer.states[-1]
        with self.history.operation("made ready", "somebody", sets=state.shown or {}) as operation:
            operation.may_set = frozenset((state.head or {}).items())

    def changed(self) -> None:
        if not self._watched:
            return
        self.registers.look(self.steps.step, "somebody")
        self.observer.look(self.steps.step, "somebody")

    def seen(self) -> tuple[Tree | None, bool]:
        """What a new process sees: the branch, and whether there is a second repository."""
        stores = self.process()
        others = any(repo.id == OTHER for repo in repository.repositories.active(stores.kv))
        try:
            page = items(lambda span, rows: entries_page(stores, REPO, WORK, span, rows), Window())
            return {entry.path: entry.size for entry in page if isinstance(entry, Entry)}, others
        except NotFound:
            return None, others


def _ready(flow: Flow, *, plain: bool) -> Place:
    place = Place(plain)
    stores = place.process()
    repository.create_repository(stores, NewRepository(REPO, "memory://bucket/first", MAIN, adopt=True))
    for branch in (SIDE, WORK):
        create_branch(stores, REPO, branch, MAIN)
    flow.ready(stores)
    place.watch()
    return place


def _call(place: Place, flow: Flow) -> None:
    """One call in a process of its own, perhaps killed."""
    stores = place.process()
    place.steps.step += 1
    kind = flow.kind if flow.kind != "create repository" else "creations"
    with place.history.operation(kind, "somebody", sets=dict(flow.sets), discards=flow.discards) as operation:
        operation.answer = flow.call(stores)


def _killed_after(flow: Flow, writes: int, *, plain: bool) -> tuple[Place, bool]:
    """A place where the flow was killed, and whether it was: else it had ended before."""
    place = _ready(flow, plain=plain)
    place.steps.left = writes
    try:
        _call(place, flow)
    except greenlet.GreenletExit:
        return place, True
    finally:
        place.steps.left = -1
    return place, False


@pytest.mark.parametrize("plain", [False, pytest.param(True, marks=pytest.mark.ci)], ids=["able", "plain"])
@pytest.mark.parametrize("name", FLOWS)
def test_flow_is_completed_by_the_next_try(name: str, *, plain: bool) -> None:
    flow = FLOWS[name]
    before = _ready(flow, plain=plain).seen()
    done, killed = _killed_after(flow, MAX_WRITES, plain=plain)
    assert not killed
    after = done.seen()
    for writes in range(MAX_WRITES):
        place, killed = _killed_after(flow, writes, plain=plain)
        if not killed:
            assert writes, "a flow that writes nothing"
            return
        assert place.seen() in (before, after), f"killed after {writes} writes"
        _call(place, flow)
        again = place.history.operations[-1].error
        assert again is None or isinstance(again, flow.done), f"killed after {writes} writes: {again}"
        assert place.seen() == after, f"killed after {writes} writes and repeated"
        wrong = list(judged(place.history, place.observer, place.registers, faultless=False))
        assert not wrong, f"killed after {writes} writes: {wrong}"
    raise AssertionError("the flow does not end")
