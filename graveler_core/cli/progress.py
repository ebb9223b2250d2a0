"""Progress bar on stderr for work that takes longer than a second, shown only on a terminal."""

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
    """Run `action` on a new thread after the delay, unless it is cancelled."""
    timer = threading.Timer(DELAY_SECONDS, action)
    timer.daemon = True
    timer.start()
    return timer.cancel


@dataclass(frozen=True, slots=True)
class ProgressWork:
    """Work whose progress is shown. Its description precedes the bar.

    Without a total, a spinner and the elapsed time are shown. A total of 0 is set later by `Progress.reach`.
    """

    description: str
    total: int | None = None
    unit: str = "bytes"
    """Unit of the progress. Without a total, units other than bytes are shown as a count."""


class Progress:
    """Context manager that may show a progress bar. `advance` is cheap and may be called for every row.

    Args:
        work: Description, total and unit of the work.
        stream: Stream to write to; `None` means stderr. Nothing is shown unless it is a terminal.
        later: Function that starts the display after the delay and returns a function that cancels it.
    """

    def __init__(
        self,
        work: ProgressWork,
        *,
        stream: TextIO | None = None,
        later: Callable[[Callable[[], None]], Cancel] = after_delay,
    ) -> None:
        self.done = 0
        self._work = work
        self._total = work.total
        self._stream = stream if stream is not None else sys.stderr
        self._later = later
        self._lock = threading.Lock()
        self._counting = threading.Lock()
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
        """Count work done, in the unit of the total. Thread-safe."""
        with self._counting:
            self.done += amount
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self.done)

    def reach(self, done: int, total: int) -> None:
        """Set the amount of work done and the total, which is 0 while it is unknown."""
        self.done, self._total = done, total
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total or None)

    def expect(self, remaining: int) -> None:
        """Set the total to the amount of work done plus the amount that remains."""
        self.reach(self.done, self.done + remaining)

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
