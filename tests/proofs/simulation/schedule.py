"""Who runs next, and what befalls them: one seeded generator decides both, so a seed replays its history exactly.

Actors are greenlets that run real engine code. Before each call to a store they give way to the scheduler, which may
let them do the call, fail it, or stop them for ever.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum

import greenlet

from graveler_core.errors import GravelerError

MAX_STEPS = 20_000
START = datetime(2026, 1, 1, tzinfo=UTC)
SWAPS = ("set_if", "write_and_swap", "delete_if", "delete_together", "create")
NOBODY = -1
"""The process of a late call."""


class Fate(Enum):
    """What befalls a call."""

    DONE = "done"
    REFUSED = "refused"
    """Not done, and the caller knows: slow down."""
    LOST_REQUEST = "lost request"
    """Not done, and nobody knows."""
    LOST_ANSWER = "lost answer"
    """Done, and nobody knows."""
    LATE = "late"
    """Done later, when nobody waits for it any more."""
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"


FAULTS = (Fate.REFUSED, Fate.LOST_REQUEST, Fate.LOST_ANSWER, Fate.LATE, Fate.CRASH_BEFORE, Fate.CRASH_AFTER)


class Hang(Exception):
    """The history does not end: no actor makes progress."""


@dataclass(slots=True)
class Actor:
    """One thread of a process: its greenlet, and how urgent it is in a priority schedule."""

    name: str
    greenlet: greenlet.greenlet
    priority: float
    process: int
    dead: bool = False
    until: Callable[[], bool] | None = None
    """What it waits for."""
    sure: bool = False
    """Whether no fault strikes it."""
    sleeps: bool = False
    writes: bool = False
    """True while its request to write is under way."""


@dataclass(slots=True)
class Late:
    """A call that its actor gave up: from when on, and until when it may still come."""

    actor: str
    since: int
    until: int = MAX_STEPS * 2


@dataclass
class Scheduler:
    """Runs actors to their ends.

    Half of all seeds draw uniformly among the runnable actors; the other half run the most urgent one and change
    priorities at a few random steps, which finds rare orders far sooner (Burckhardt et al., 2010).
    """

    chance: random.Random
    fault_rate: float = 0.0
    faults: Sequence[Fate] = FAULTS
    swaps_only: bool = False
    """Whether faults strike nothing but conditional writes."""
    outages: bool = False
    """Whether a store whose request or answer was lost stays away for a few steps, as one that is restarted does."""
    slow_answers: float = 0.15
    """Of reads: how many give way once more when they are done."""
    changes: int = 3
    step: int = 0
    ahead: timedelta = timedelta(0)
    """How far the wall clock has jumped."""
    jumps: list[tuple[int, timedelta]] = field(default_factory=list)
    """At which steps, and how far it was ahead then."""
    actors: list[Actor] = field(default_factory=list)
    trace: list[str] | None = None
    lates: list[Late] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._hub = greenlet.getcurrent()
        self._away_until = 0
        self._uniform = self.chance.random() < 0.5
        self._change_at = {self.chance.randrange(1, 400) for _ in range(self.changes)}
        self._current: Actor | None = None
        self._alive: list[Actor] = []

    def spawn(self, name: str, process: int, body: Callable[[], None]) -> None:
        """Add an actor. It begins when it is first chosen."""
        self.actors.append(Actor(name, greenlet.greenlet(body, self._hub), self.chance.random(), process))

    def later(self, what: str, work: Callable[[], object]) -> None:
        """Have a call done that its actor does not wait for any more, at any time, even after the actor's end."""
        actor = self._current
        assert actor is not None
        call = Late(actor.name, self.step)
        self.lates.append(call)

        def body() -> None:
            self.give_way(f"late: {what}", writes=True)
            # Nobody hears of a failure.
            with suppress(GravelerError):
                work()
            call.until = self.step

        late = Actor(actor.name, greenlet.greenlet(body, self._hub), self.chance.random(), NOBODY, sure=True)
        self._alive.append(late)

    @property
    def current(self) -> str:
        """The name of the actor that runs."""
        return "" if self._current is None else self._current.name

    @property
    def unheard(self) -> bool:
        """Whether a late call runs, whose actor does not wait for it any more."""
        return self._current is not None and self._current.process == NOBODY

    def give_way(self, what: str, *, writes: bool) -> Fate:
        """Called by an actor before a call to a store; comes back with what befalls the call.

        Outside of actors (setting up, looking at the end) nothing is scheduled.
        """
        actor = self._current
        if actor is None:
            return Fate.DONE
        if actor.dead:
            raise greenlet.GreenletExit
        actor.writes = writes
        self._hub.switch()
        actor.writes = False
        if actor.dead:
            raise greenlet.GreenletExit
        self.step += 1
        fate = Fate.DONE if actor.sure else self._fate(what, writes)
        if self.trace is not None:
            self.trace.append(f"{self.step:5d} {actor.name:14s} {what} {'' if fate is Fate.DONE else fate.value}")
        if fate in (Fate.CRASH_BEFORE, Fate.CRASH_AFTER):
            actor.dead = True
        if fate is Fate.CRASH_BEFORE:
            raise greenlet.GreenletExit
        return fate

    def answer(self) -> None:
        """Called by an actor after a read: its answer may take a while, and be out of date when it comes."""
        actor = self._current
        if actor is not None and self.chance.random() < self.slow_answers:
            self._hub.switch()
            if actor.dead:
                raise greenlet.GreenletExit

    def moment(self, step: int | None = None) -> datetime:
        """The time by the wall clock, now or when an earlier step was taken."""
        if step is None:
            return START + self.ahead + timedelta(milliseconds=self.step)
        before = [ahead for jumped_at, ahead in self.jumps if jumped_at < step]
        return START + (before[-1] if before else timedelta(0)) + timedelta(milliseconds=step)

    def jump(self, time: timedelta) -> None:
        """Have the wall clock jump ahead."""
        self.ahead += time
        self.jumps.append((self.step, self.ahead))

    def sleep(self) -> None:
        """Called by an actor that has nothing to do for a while. When all have, time jumps on."""
        actor = self._current
        if actor is not None:
            actor.sleeps = True
        self.give_way("sleep", writes=False)
        if actor is None or all(other.sleeps or other.until is not None for other in self._alive):
            self.jump(timedelta(minutes=1))
        if actor is not None:
            actor.sleeps = False

    def wait(self, until: Callable[[], bool]) -> None:
        """Called by an actor that waits for another thread of its process."""
        actor = self._current
        while actor is not None and not until():
            actor.until = until
            self._hub.switch()
            if actor.dead:
                raise greenlet.GreenletExit
            actor.until = None

    def nobody_writes(self) -> bool:
        """Return `True` if no request to write is under way."""
        return not any(actor.writes for actor in self._alive)

    def alone(self, name: str) -> bool:
        """Return `True` if all other actors have ended, or wait."""
        return all(actor.until is not None for actor in self._alive if actor.name != name)

    def run(self) -> None:
        """Until all actors have ended or crashed. A crash ends all threads of its process."""
        self._alive = list(self.actors)
        try:
            while self._alive:
                ready = [actor for actor in self._alive if actor.until is None or actor.until()]
                if not ready or self.step > MAX_STEPS:
                    raise Hang(f"{self.step} steps, and {[a.name for a in self._alive]} still run or wait")
                actor = self._choose(ready)
                self._current = actor
                actor.greenlet.switch()
                self._current = None
                if actor.dead:
                    self._kill([other for other in self._alive if other.process == actor.process])
                if actor.greenlet.dead:
                    self._alive = [other for other in self._alive if not other.greenlet.dead]
        finally:
            self._kill(self._alive)

    def _kill(self, actors: Sequence[Actor]) -> None:
        for actor in actors:
            actor.dead = True
        for actor in actors:
            self._current = actor
            actor.greenlet.throw(greenlet.GreenletExit)
        self._current = None

    def _choose(self, alive: list[Actor]) -> Actor:
        if self._uniform:
            return self.chance.choice(alive)
        if self.step in self._change_at:
            self._change_at.discard(self.step)
            self.chance.choice(alive).priority = self.chance.random() - 1
        # A little noise, or two actors that wait for each other would be watched for ever.
        if self.chance.random() < 0.02:
            return self.chance.choice(alive)
        return max(alive, key=lambda actor: actor.priority)

    def _fate(self, what: str, writes: bool) -> Fate:
        if self.step < self._away_until:
            return Fate.REFUSED
        if self.fault_rate == 0 or self.chance.random() >= self.fault_rate:
            return Fate.DONE
        if self.swaps_only and not what.startswith(SWAPS):
            return Fate.DONE
        fate = self.chance.choice(self.faults)
        if self.outages and fate in (Fate.LOST_REQUEST, Fate.LOST_ANSWER):
            self._away_until = self.step + self.chance.randint(2, 8)
        # A read that is lost is a read that is asked again: refused says it all.
        return fate if writes or fate in (Fate.CRASH_BEFORE, Fate.CRASH_AFTER) else Fate.REFUSED
