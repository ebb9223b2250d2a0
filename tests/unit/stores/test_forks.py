"""A forked child goes on, although threads of the parent were in the middle of something."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest

from graveler_core.blobs.disk_cache import DiskCache
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.committed.cache import TreeCache
from graveler_core.kv.backends.etcd.client import EtcdClient
from graveler_core.kv.backends.etcd.client import parse_url as etcd_target
from graveler_core.objects.commits import CommitCache
from graveler_core.stores import SharedReads
from graveler_core.stores.background import Aside, HookCalls
from graveler_core.stores.executor import Threads
from graveler_core.stores.noted_events import NotedEvents
from graveler_core.stores.registers import RegisterCache
from graveler_core.stores.turns import Turns
from graveler_core.stores.underway import Underway

KEY = ("repo", "main")


def code_of_child(work: Callable[[], bool]) -> int:
    """Return the exit code of a forked child: 0 if the work is done and true, 1 if not, the signal if it hangs."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def in_another_thread(work: Callable[[Event, Event], Any]) -> Iterator[None]:
    """Run work in a thread: it sets the first event when it has begun, and waits for the second one."""
    begun, let_go = Event(), Event()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work, begun, let_go)
        try:
            assert begun.wait(10)
            yield
        finally:
            let_go.set()
        done.result()


def test_a_child_does_not_wait_for_a_read_of_its_parent() -> None:
    reads = SharedReads[bool]()

    def fetch(begun: Event, let_go: Event) -> bool:
        begun.set()
        return let_go.wait(10)

    with in_another_thread(lambda begun, let_go: reads.read(*KEY, lambda: fetch(begun, let_go))):
        assert code_of_child(lambda: reads.read(*KEY, lambda: True)) == 0


def test_a_child_does_not_wait_for_a_turn_of_its_parent() -> None:
    turns = Turns()

    def flow(begun: Event, let_go: Event) -> None:
        with turns.turn(*KEY):
            begun.set()
            assert let_go.wait(10)

    def in_child() -> bool:
        with turns.turn(*KEY):
            return True

    with in_another_thread(flow):
        assert code_of_child(in_child) == 0


def test_a_child_that_is_forked_in_a_turn_may_leave_it() -> None:
    turns = Turns()

    def leave() -> bool:
        turns._pass_on(KEY)
        return True

    with turns.turn(*KEY):
        assert code_of_child(leave) == 0


def test_a_child_does_the_work_that_its_parent_has_begun() -> None:
    underway = Underway()
    assert underway.begin("folding")
    assert code_of_child(lambda: underway.begin("folding")) == 0
    assert not underway.begin("folding")


@pytest.mark.parametrize(
    "make",
    [
        Aside,
        CommitCache,
        HookCalls,
        NotedEvents,
        OpenedBlobs,
        RegisterCache,
        SharedReads,
        Threads,
        TreeCache,
        Turns,
        Underway,
        lambda: DiskCache("/nowhere"),
        lambda: EtcdClient(etcd_target("etcd://host/prefix")),
    ],
)
def test_a_child_has_a_free_lock(make: Callable[[], Any]) -> None:
    owner = make()
    with owner._lock:
        assert code_of_child(lambda: bool(owner._lock.acquire(timeout=5))) == 0
        assert owner._lock.locked()
