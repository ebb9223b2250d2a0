"""A forked child goes on, although threads of the parent were in the middle of something."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from obstore.store import MemoryStore

from graveler_core.blobs.disk_cache import DiskCache
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.committed.cache import TreeCache
from graveler_core.kv.backends.bucket.requests import BucketRequests
from graveler_core.kv.backends.etcd.client import EtcdClient
from graveler_core.kv.backends.etcd.client import parse_url as etcd_target
from graveler_core.kv.backends.sqlite.turns import TurnFile
from graveler_core.objects.commits import CommitCache
from graveler_core.stores import SharedReads
from graveler_core.stores.background import Aside, HookCalls
from graveler_core.stores.executor import Threads
from graveler_core.stores.noted_events import NotedEvents
from graveler_core.stores.registers import RegisterCache
from graveler_core.stores.turns import Turns
from graveler_core.stores.underway import Underway
from graveler_core.wiring.shared_handles import SharedHandles
from tests.forked_child import code_of_child, in_another_thread

KEY = ("repo", "main")


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
        SharedHandles,
        SharedReads,
        Threads,
        TreeCache,
        Turns,
        Underway,
        lambda: BucketRequests(MemoryStore(), MemoryStore(), "bucket"),
        lambda: DiskCache("/nowhere"),
        lambda: EtcdClient(etcd_target("etcd://host/prefix")),
        lambda: TurnFile(Path("nowhere")),
    ],
)
def test_a_child_has_a_free_lock(make: Callable[[], Any]) -> None:
    owner = make()
    with owner._lock:
        assert code_of_child(lambda: bool(owner._lock.acquire(timeout=5))) == 0
        assert owner._lock.locked()


def test_a_child_closes_a_bucket_whose_threads_its_parent_uses() -> None:
    requests = BucketRequests(MemoryStore(), MemoryStore(), "bucket")

    def closed() -> bool:
        requests.close()
        return True

    with requests._pool()._shutdown_lock:
        assert code_of_child(closed) == 0
    requests.close()
