"""Calls of hooks in the background: in order, not too many at once, and never awaited for ever."""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from graveler_core.stores import Aside, HookCalls


@dataclass
class Hung:
    """A call that returns only when it is released."""

    begun: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        self.begun.set()
        self.released.wait()


@pytest.fixture
def hung() -> Iterator[Hung]:
    found = Hung()
    yield found
    found.released.set()


def noting(done: list[int], number: int) -> Callable[[], None]:
    return lambda: done.append(number)


def test_calls_are_made_in_order_and_an_error_ends_no_others() -> None:
    done = list[int]()
    calls = HookCalls()
    calls.start(noting(done, 1))
    calls.start(lambda: 1 / 0)
    calls.start(noting(done, 2))
    calls.close()
    assert done == [1, 2]


def test_a_call_that_exits_ends_no_others() -> None:
    done = list[int]()
    calls = HookCalls()
    calls.start(sys.exit)
    calls.close()
    calls.start(noting(done, 1))
    calls.close()
    assert done == [1]


def test_a_call_may_close_the_calls() -> None:
    done = list[int]()
    calls = HookCalls()

    def closing() -> None:
        calls.close()
        done.append(1)

    calls.start(closing)
    calls.start(noting(done, 2))
    calls.close()
    assert done == [1, 2]


def test_calls_can_be_made_after_a_close() -> None:
    done = list[int]()
    calls = HookCalls()
    for number in (1, 2):
        calls.start(noting(done, number))
        calls.close()
    assert done == [1, 2]


def test_the_exit_of_the_process_closes_calls_once() -> None:
    calls = HookCalls()
    before = atexit._ncallbacks()
    for _ in range(5):
        done = threading.Event()
        calls.start(done.set)
        done.wait()
        while calls._thread is not None:
            threading.Event().wait(0.001)
    assert atexit._ncallbacks() == before + 1
    calls.close()


def test_a_call_that_never_returns_ends_close_and_leaves_out_what_waits(hung: Hung) -> None:
    done = list[int]()
    calls = HookCalls(patience=0)
    calls.start(hung)
    hung.begun.wait()
    calls.start(noting(done, 1))
    calls.close()
    assert not calls._waiting
    hung.released.set()
    assert not done


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_calls_wait_than_permitted(hung: Hung, most: int) -> None:
    done = list[int]()
    calls = HookCalls(most)
    calls.start(hung)
    hung.begun.wait()
    for number in range(5):
        calls.start(noting(done, number))
    hung.released.set()
    calls.close()
    assert done == list(range(most))


def refused(*_: object, **__: object) -> None:
    raise RuntimeError("can't start new thread")


def test_a_thread_that_cannot_be_started_keeps_no_later_call_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    done = list[int]()
    calls = HookCalls()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refused)
        calls.start(noting(done, 1))
        calls.close()
    calls.start(noting(done, 2))
    calls.close()
    assert done == [2]


@pytest.mark.parametrize("method", [(ThreadPoolExecutor, "submit"), (threading.Thread, "start")], ids=str)
def test_work_is_done_at_once_if_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch, method: tuple[type, str]
) -> None:
    done = list[int]()
    background = Aside()
    with monkeypatch.context() as patched:
        patched.setattr(*method, refused)
        background.start(noting(done, 1))
        background.start(lambda: 1 / 0)
        assert done == [1]
    background.start(noting(done, 2))
    background.close()
    assert done == [1, 2]


LATE = """
import concurrent.futures.thread as pools
import sys
import threading
import time

import graveler_core

graveler = graveler_core.connect(f"sqlite:///{sys.argv[1]}/meta.db?durability=process")
repo = graveler.create_repository("repo", f"file://{sys.argv[1]}/data")
main = repo.branch("main")
main.put("a", b"a")
main.commit("a")
main.put("b", b"b")


def work():
    while not pools._shutdown:
        time.sleep(0.01)
    repo.create_branch("dev", "main")
    repo.create_tag("v1", "main")
    main.reset()
    main.hard_reset("main~1")
    repo.delete_branch("dev")
    print("done", [branch.id for branch in repo.branches()], [tag.id for tag in repo.tags()], list(main.list()))


threading.Thread(target=work).start()
"""


def test_changes_succeed_in_a_thread_that_outlives_the_main_thread(tmp_path: Path) -> None:
    """The interpreter gives no more work to pools by then."""
    ran = subprocess.run([sys.executable, "-c", LATE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.strip()) == (0, "done ['main'] ['v1'] []"), ran.stderr
