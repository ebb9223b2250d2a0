"""The judges of a history: what each of them watches, and all that is wrong in the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from graveler_core.errors import NoChanges, NotFound
from tests.proofs.simulation import (
    approvals,
    cleaning,
    collecting,
    commits,
    compactions,
    erasing,
    protections,
    references,
    repositories,
    retirement,
    sweeping,
    unreached,
    uploading,
)
from tests.proofs.simulation.cast import Cast
from tests.proofs.simulation.checker import Judge
from tests.proofs.simulation.content import ContentJudge
from tests.proofs.simulation.headers import HeaderJudge
from tests.proofs.simulation.history import AFTERWARDS, History, Outcome
from tests.proofs.simulation.observe import Observer
from tests.proofs.simulation.repositories import Registers
from tests.proofs.simulation.world import World


@dataclass
class Judges:
    """All judges of a history. Some watch only the histories of their themes."""

    world: World
    history: History
    observer: Observer
    cast: Cast
    theme: str
    registers: Registers = field(init=False)
    content: ContentJudge = field(init=False)
    headers: HeaderJudge = field(init=False)

    def __post_init__(self) -> None:
        self.registers = Registers(self.world.kv, self.observer)
        self.headers = HeaderJudge(self.world, self.observer, self.history)
        judge = erasing.ErasureJudge if self.theme in erasing.THEMES else ContentJudge
        self.content = judge(self.world, self.observer, self.history)
        self._names = references.References(self.world.kv)
        self._reports = approvals.Approvals(self.world.kv)

    def look(self) -> None:
        """Note what has changed."""
        step = self.world.scheduler.step
        self.registers.look(step, self.world.scheduler.current)
        self.observer.look(step, self.world.scheduler.current, unheard=self.world.scheduler.unheard)
        if self.theme in collecting.THEMES:
            self.content.look()
        elif self.theme in unreached.THEMES:
            self.headers.look()
        elif self.theme == references.THEME:
            self._names.look()
        elif self.theme == approvals.THEME:
            self._reports.look(step)

    def violations(self, *, faultless: bool) -> list[str]:
        """All that is wrong with a history.

        Args:
            faultless: Whether no call has failed.
        """
        world, history, observer = self.world, self.history, self.observer
        for operation in history.operations:
            if operation.kind in ("merge", "replay") and operation.outcome in (Outcome.PENDING, Outcome.UNKNOWN):
                operation.may_set |= self.cast.side_values
        cleaning.grant(history, observer)
        gone = [*sweeping.violations(world, history)]
        if self.theme in unreached.THEMES:
            gone += self.headers.violations()
        # What is gone cannot be judged.
        found = gone or [
            *judged(history, observer, self.registers, faultless=faultless),
            *cleaning.violations(world, history, observer, self.registers, self.theme),
        ]
        if self.theme in collecting.THEMES:
            return [*self.content.violations(), *found]
        found += uploading.violations(world, history, observer)
        if self.theme == references.THEME:
            found += references.violations(world.process(), self._names)
        if self.theme == approvals.THEME:
            found += approvals.violations(history, observer, self.registers, self._reports, self.cast)
        return found


def judged(history: History, observer: Observer, registers: Registers, *, faultless: bool) -> Iterator[str]:
    """All that is wrong with a history of any theme."""
    yield from Judge(history, observer).violations()
    yield from commits.violations(history, observer)
    yield from compactions.violations(history, observer)
    # A write that is evaluated anew under other rules, or a conditional write, sets in the same token what it has set
    # before: one that came late looks like one that was not dropped. And a cleaner that waits for nobody forgets layers
    # to which calls under way may still write.
    repeated = ("protect", "put if", "clean", collecting.COLLECT)
    once = not any(operation.kind in repeated for operation in history.operations)
    yield from retirement.violations(observer, faultless=faultless and once)
    yield from repositories.violations(history, registers)
    yield from protections.violations(history, registers)
    yield from _undisturbed(history)


def _undisturbed(history: History) -> Iterator[str]:
    """Promise 6: who is alone is in nobody's way, and nothing that crashed is in theirs."""
    for operation in history.operations:
        alone = operation.actor == AFTERWARDS
        if alone and operation.error is not None and not isinstance(operation.error, NoChanges | NotFound):
            yield f"{operation}: nobody was in its way"
