"""The progress bar: late, on a terminal only, and gone afterwards."""

from __future__ import annotations

import io
from collections.abc import Callable

from graveler_core.cli.progress import Cancel, Progress, ProgressWork


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Later:
    """The delay, ended by the test."""

    def __init__(self) -> None:
        self.show: Callable[[], None] = lambda: None
        self.cancelled = False

    def __call__(self, action: Callable[[], None]) -> Cancel:
        self.show = action
        return self._cancel

    def _cancel(self) -> None:
        self.cancelled = True


def test_shows_nothing_when_the_work_ends_before_the_delay() -> None:
    stream, later = Terminal(), Later()
    with Progress(ProgressWork("uploading", 10), stream=stream, later=later) as progress:
        progress.advance(10)
    later.show()
    assert later.cancelled
    assert stream.getvalue() == ""


def test_shows_what_was_done_before_and_after_it_appears() -> None:
    stream, later = Terminal(), Later()
    with Progress(ProgressWork("uploading", 4_000, "bytes"), stream=stream, later=later) as progress:
        progress.advance(1_000)
        later.show()
        progress.advance(3_000)
    shown = stream.getvalue()
    assert "uploading" in shown
    assert "1.0/4.0 kB" in shown
    assert "4.0/4.0 kB" in shown


def test_learns_later_how_much_there_is() -> None:
    for early in (True, False):
        stream, later = Terminal(), Later()
        with Progress(ProgressWork("dumping", 0, "steps"), stream=stream, later=later) as progress:
            progress.reach(5, 0)
            if early:
                later.show()
            progress.reach(10, 40)
            if not early:
                later.show()
        assert progress.done == 10
        assert "10/40" in stream.getvalue()


def test_shows_a_spinner_when_the_end_is_unknown() -> None:
    stream, later = Terminal(), Later()
    with Progress(ProgressWork("committing"), stream=stream, later=later):
        later.show()
    assert "committing" in stream.getvalue()


def test_shows_how_much_is_done_when_the_end_is_unknown() -> None:
    stream, later = Terminal(), Later()
    with Progress(ProgressWork("copying", unit="rows"), stream=stream, later=later) as progress:
        later.show()
        progress.advance(12_345)
    assert "12,345 rows" in stream.getvalue()


def test_never_starts_in_a_pipe() -> None:
    stream, later = io.StringIO(), Later()
    with Progress(ProgressWork("committing"), stream=stream, later=later) as progress:
        later.show()
        progress.advance()
    assert progress.done == 1
    assert stream.getvalue() == ""


def test_learns_how_much_remains() -> None:
    stream, later = Terminal(), Later()
    with Progress(ProgressWork("checking", 0, "items"), stream=stream, later=later) as progress:
        progress.advance(5)
        progress.expect(35)
        later.show()
    assert "5/40" in stream.getvalue()
