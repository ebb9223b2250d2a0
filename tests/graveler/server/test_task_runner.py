"""Threads of tasks: a few, however many tasks wait."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from graveler.server.task_runner import MAX_TASKS, TaskRunner
from graveler_core.errors import Unavailable
from graveler_core.facade.repository import Repository


class SlowRepository:
    """Stands for a repository whose tasks run until the test lets them end."""

    uid = "repo"
    id = "repo"

    def __init__(self) -> None:
        self.ends = threading.Event()
        self.ran: list[str] = []
        self.threads: set[int] = set()
        self.running = threading.Semaphore(0)

    def run_task(self, id: str) -> Any:
        self.running.release()
        self.threads.add(threading.get_ident())
        self.ends.wait()
        self.ran.append(id)
        if id == "3":
            raise ValueError("a task that nobody expects to fail")
        raise Unavailable("the store is gone")


def test_a_few_threads_run_many_tasks() -> None:
    runner, repository = TaskRunner(), SlowRepository()
    before = threading.active_count()
    for number in range(100):
        for _ in range(2):
            runner.start(cast(Repository, repository), str(number))
    for _ in range(MAX_TASKS):
        repository.running.acquire()
    assert threading.active_count() <= before + MAX_TASKS
    assert not repository.running.acquire(blocking=False)
    assert not runner.idle
    repository.ends.set()
    while not runner.idle:
        threading.Event().wait(0.01)
    assert sorted(repository.ran, key=int) == [str(number) for number in range(100)]
    assert len(repository.threads) <= MAX_TASKS


def test_a_task_is_run_later_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    runner, repository = TaskRunner(), SlowRepository()
    repository.ends.set()

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        for _ in range(MAX_TASKS + 1):
            with pytest.raises(Unavailable, match="task '1': cannot be run, because no thread can be started"):
                runner.start(cast(Repository, repository), "1")
    assert runner.idle
    runner.start(cast(Repository, repository), "1")
    while not runner.idle:
        threading.Event().wait(0.01)
    assert repository.ran == ["1"]
