"""A progress bar on stderr for whatever takes longer than a second, and only on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn, TaskID

DELAY_SECONDS = 1.0
Cancel = Callable[[], None]


def after_delay(action: Callable[[], None]) -> Cancel:
    """Run `action` on a thread of its own once the delay has passed, unless cancelled."""
    timer = threading.Timer(DELAY_SECONDS, action)
    timer.daemon = True
    timer.start()
    return timer.cancel


@dataclass(frozen=True, slots=True)
class Work:
    """What is going on: shown before the bar. Without a total there is a spinner and the time spent; a total of 0 is
    told later, by `Progress.reach`."""

    description: str
    total: int | None = None
    unit: str = "bytes"
    """Without a total, what is done is counted in any other one."""


class Progress:
    """A context during which the bar may appear. `advance` is cheap and may be called for every row.

    Args:
        work: What to show.
        stream: Where; stderr when not given. Nothing happens unless it is a terminal.
        later: Starts the display after the delay and returns how to cancel that.
    """

    def __init__(
        self, work: Work, *, stream: TextIO | None = None, later: Callable[[Callable[[], None]], Cancel] = after_delay
    ) -> None:
        self.done = 0
        self._work = work
        self._total = work.total
        self._stream = stream if stream is not None else sys.stderr
        self._later = later
        self._lock = threading.Lock()
        self._closed = False
        self._cancel: Cancel | None = None
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Progress:
        if self._stream.isatty():
            self._cancel = self._later(self._show)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._cancel is not None:
            self._cancel()
        with self._lock:
            self._closed = True
            if self._bar is not None:
                self._bar.stop()

    def advance(self, amount: int = 1) -> None:
        """Count work done, in the unit of the total."""
        self.done += amount
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self.done)

    def reach(self, done: int, total: int) -> None:
        """Say how much is done in all, and of how much; 0 where that is not known yet."""
        self.done, self._total = done, total
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total or None)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        with self._lock:
            if self._closed:
                return
            console = Console(file=self._stream)
            bar = Bar(*self._columns(), console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
            self._task = bar.add_task(self._work.description, total=self._total or None, completed=self.done)
            self._bar = bar
            bar.start()

    def _columns(self) -> list[str | ProgressColumn]:
        from rich import progress

        text = progress.TextColumn("{task.description}", markup=False)
        if self._work.total is None:
            done = [] if self._work.unit == "bytes" else [f"{{task.completed:,.0f}} {self._work.unit}"]
            return [progress.SpinnerColumn(), text, *done, progress.TimeElapsedColumn()]
        amount = progress.DownloadColumn() if self._work.unit == "bytes" else progress.MofNCompleteColumn()
        return [text, progress.BarColumn(), amount, progress.TimeRemainingColumn()]
