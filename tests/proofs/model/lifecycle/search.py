"""Explicit-state search: every interleaving of a few calls, each of which may crash, from one first state.

A state is what is stored and where each call stands: the positions and locals of its frames. Generators cannot be
copied, so a state is reached again by running its schedule from the first state; each state is expanded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.proofs.model.lifecycle.checks import check_end, check_step
from tests.proofs.model.lifecycle.registers import Broken, Flow, Former, Registers

Begin: TypeAlias = Callable[[Registers], list[Flow]]
"""Fills the registers and begins the calls."""
Choice: TypeAlias = tuple[int, bool]
"""Which call goes on, and whether it crashes instead."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is there at first, which calls meet, and how many of them may crash."""

    name: str
    begin: Begin
    crashes: int = 1


@dataclass(slots=True)
class Found:
    """What a search found: the number of states, and the first schedule that breaks a promise."""

    states: int = 0
    broken: str | None = None
    schedule: list[Choice] = field(default_factory=list)


class _Run:
    """The registers and the calls, at one state."""

    def __init__(self, configuration: Configuration, former: Former) -> None:
        self.registers = Registers(former)
        self.flows: list[Flow | None] = list(configuration.begin(self.registers))
        self.waits: list[Callable[[Registers], bool] | None] = [None] * len(self.flows)
        self.told: list[str] = [""] * len(self.flows)
        self.crashes = configuration.crashes
        self.taken: list[Choice] = []
        for at in range(len(self.flows)):
            self._resume(at)

    def step(self, choice: Choice) -> None:
        self.taken.append(choice)
        at, crashes = choice
        before = dict(self.registers.repositories)
        if crashes:
            self._crash(at)
        else:
            self._resume(at)
        check_step(self.registers, before)

    def choices(self) -> Iterator[Choice]:
        for at, flow in enumerate(self.flows):
            if flow is not None:
                if self.crashes:
                    yield at, True
                wait = self.waits[at]
                if wait is None or wait(self.registers):
                    yield at, False

    def key(self) -> int:
        return hash((self.registers.key(), self.crashes, tuple(map(_position, self.flows)), tuple(self.told)))

    def _resume(self, at: int) -> None:
        flow = self.flows[at]
        assert flow is not None
        try:
            self.waits[at] = next(flow)
        except StopIteration as end:
            self.flows[at] = None
            self.told[at] = end.value

    def _crash(self, at: int) -> None:
        flow = self.flows[at]
        assert flow is not None
        flow.close()
        self.crashes -= 1
        self.told[at] = "crashed"
        self.flows[at] = None


def search(configuration: Configuration, former: Former) -> Found:
    """Expand every state that can be reached, depth first, until one breaks a promise."""
    found = Found()
    seen: set[int] = set()
    schedules: list[tuple[Choice, ...]] = [()]
    while schedules:
        schedule = schedules.pop()
        run = _Run(configuration, former)
        try:
            for choice in schedule:
                run.step(choice)
            _follow(run, schedule, seen, schedules)
        except Broken as e:
            found.broken, found.schedule = str(e), list(run.taken)
            break
    found.states = len(seen)
    return found


def _follow(run: _Run, schedule: tuple[Choice, ...], seen: set[int], schedules: list[tuple[Choice, ...]]) -> None:
    """Go on from one state along its first choice, noting the others, until nothing is new."""
    while (key := run.key()) not in seen:
        seen.add(key)
        choices = list(run.choices())
        if not any(not crashes for _, crashes in choices):
            check_end(run.registers)
            return
        schedules.extend((*schedule, choice) for choice in choices[1:])
        schedule = (*schedule, choices[0])
        run.step(choices[0])


def _position(flow: Flow | None) -> tuple[object, ...]:
    """Where a call stands: the instruction of each of its frames, and what they hold."""
    frames: list[object] = []
    at: Any = flow
    while at is not None:
        frame = at.gi_frame
        held = tuple(value for value in frame.f_locals.values() if isinstance(value, _PLAIN))
        frames.append((frame.f_lasti, held))
        at = at.gi_yieldfrom
    return tuple(frames)


_PLAIN = (str, int, tuple, frozenset, type(None))
