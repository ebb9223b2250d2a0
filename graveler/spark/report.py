"""Report for people: the place where work runs, and its progress. A cluster sends its decisions and progress to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from graveler_core.model.counting import counted

_STEPS: Final = 20
"""Maximum number of progress messages per stage: one for every twentieth of its tasks."""


def _ignore(said: str) -> None:
    """Ignore the message."""


@dataclass
class Report:
    """Decisions since `begin`. One flow after the other uses it."""

    say: Callable[[str], None] = _ignore
    flow: str = ""
    """Name of the current operation: commit, merge."""
    rows: int | None = None
    """Rows of the largest work that was planned; `None` if no work was large enough to plan."""
    tasks: int = 1
    threshold: int = 0
    elsewhere: bool = False
    """True if Spark ran work that cannot run in this process."""
    _told: tuple[str, int] = field(default=("", 0))

    def begin(self, say: Callable[[str], None] = _ignore, flow: str = "") -> Report:
        """Reset the report. From now on, send messages to `say`, prefixed with the flow's name."""
        self.say, self.flow, self.rows = say, flow, None
        self.tasks, self.elsewhere, self._told = 1, False, ("", 0)
        return self

    def decided(self, rows: int, threshold: int, tasks: int) -> None:
        """Record that work on `rows` rows was divided into tasks. One task means that it runs in this process, reported
        once.
        """
        if self.rows is None or rows > self.rows:
            if self.rows is None or tasks > 1:
                where = f"in {tasks} tasks on Spark" if tasks > 1 else "in this process"
                self._tell(
                    f"processing about {counted(rows, 'row')} {where} (Spark is used from {counted(threshold, 'row')})"
                )
            self.rows, self.threshold = rows, threshold
        self.tasks = max(self.tasks, tasks)

    def placed(self) -> None:
        """Record that Spark processes rows that are on its machines, regardless of their number."""
        self.elsewhere = True
        self._tell("Spark processes the rows of a DataFrame")

    def progressed(self, stage: str, done: int, total: int) -> None:
        """Report that some of the tasks of a stage are done."""
        now = (stage, done * _STEPS // total)
        if now != self._told:
            self._told = now
            self._tell(f"{done:,} of {counted(total, 'task')} of {stage}")

    @property
    def engine(self) -> str:
        """`spark` if any work ran there, otherwise `local`."""
        return "spark" if self.elsewhere or self.tasks > 1 else "local"

    def facts(self) -> dict[str, str | int]:
        """Return the engine, and, if any work was planned: rows, threshold and number of tasks."""
        if self.rows is None:
            return {"engine": self.engine}
        asked = {"rows planned": self.rows, "spark from rows": self.threshold, "tasks": self.tasks}
        return {"engine": self.engine, **asked}

    def _tell(self, said: str) -> None:
        self.say(f"{self.flow}: {said}" if self.flow else said)
