"""Where work was done and how far it is, for people: the decisions of a cluster, and its progress, as they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_STEPS: Final = 20
"""Of a stage, each told once: a line for every twentieth of its pieces."""


def _nobody(said: str) -> None:
    """Nobody asked to be told."""


@dataclass
class Report:
    """What was decided since `begin`. Written by one flow after the other."""

    say: Callable[[str], None] = _nobody
    flow: str = ""
    """What is under way, as people call it: commit, merge."""
    rows: int | None = None
    """Of the largest piece of work that was planned; None: none was large enough to ask."""
    pieces: int = 1
    threshold: int = 0
    elsewhere: bool = False
    """Spark was given work that only it could do."""
    _told: tuple[str, int] = field(default=("", 0))

    def begin(self, say: Callable[[str], None] = _nobody, flow: str = "") -> Report:
        """Forget what was; from now on tell `say`, in the name of a flow."""
        self.say, self.flow, self.rows = say, flow, None
        self.pieces, self.elsewhere, self._told = 1, False, ("", 0)
        return self

    def decided(self, rows: int, threshold: int, pieces: int) -> None:
        """Work on `rows` rows was cut into `pieces`; 1: it is done in this process, which is told once."""
        if self.rows is None or rows > self.rows:
            if self.rows is None or pieces > 1:
                where = f"in {pieces} pieces on Spark" if pieces > 1 else "here"
                self._tell(f"work on about {rows:,} rows is done {where} (Spark from {threshold:,} rows on)")
            self.rows, self.threshold = rows, threshold
        self.pieces = max(self.pieces, pieces)

    def placed(self) -> None:
        """Work on rows that lie on Spark's machines is done there, however few they are."""
        self.elsewhere = True
        self._tell("the rows of a DataFrame are worked on by Spark")

    def progressed(self, stage: str, done: int, total: int) -> None:
        """So many of the pieces of a stage are done."""
        now = (stage, done * _STEPS // total)
        if now != self._told:
            self._told = now
            self._tell(f"{done} of {total} pieces of {stage}")

    @property
    def engine(self) -> str:
        """`spark` if anything was done there, else `local`."""
        return "spark" if self.elsewhere or self.pieces > 1 else "local"

    def facts(self) -> dict[str, str | int]:
        """Engine, and if anybody asked: rows, threshold and pieces."""
        if self.rows is None:
            return {"engine": self.engine}
        asked = {"rows planned": self.rows, "spark from rows": self.threshold, "pieces": self.pieces}
        return {"engine": self.engine, **asked}

    def _tell(self, said: str) -> None:
        self.say(f"{self.flow}: {said}" if self.flow else said)
