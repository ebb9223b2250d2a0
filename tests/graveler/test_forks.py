"""A forked child opens the stores that it needs, although a thread of its parent was opening some."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

import pytest

from graveler.fs import handles as of_files
from graveler.spark import connection as of_spark
from graveler_core.blobs import open as blobs
from graveler_core.kv.backends import memory
from graveler_core.stores.opening import Reopening
from graveler_core.wiring import handles as of_pickles
from tests.forked_child import code_of_child, in_another_thread

CASES: dict[str, tuple[ModuleType, str, Callable[[str], Any]]] = {
    "a pickle": (
        of_pickles,
        "connect",
        lambda url: of_pickles.reopen(Reopening(of_pickles.reopen, url, False, (), None, None, None, None), False),
    ),
    "a file system": (of_files, "connect", lambda url: of_files.handle(url, None)),
    "a worker of Spark": (of_spark, "_open", lambda url: of_spark.opened(of_spark.Connection(url))),
    "objects": (blobs.uuid, "uuid4", lambda url: blobs.OpenedBlobs()),
    "a store in memory": (memory, "_Memory", lambda url: memory.open_memory("memory://forks")),
}
"""Function that opens something, and the call in it that takes long."""


@pytest.mark.parametrize("case", CASES)
def test_a_child_does_not_wait_for_what_its_parent_opens(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, opened = CASES[case]
    real, parent = getattr(module, name), os.getpid()
    reached: list[tuple[Event, Event]] = []

    def slow(*arguments: Any, **options: Any) -> Any:
        if os.getpid() == parent:
            begun, let_go = reached[0]
            begun.set()
            assert let_go.wait(30)
        return real(*arguments, **options)

    def slowly(begun: Event, let_go: Event) -> None:
        reached.append((begun, let_go))
        opened(url).close()

    url = f"sqlite:///{tmp_path}/store.db"
    monkeypatch.setattr(module, name, slow)
    with in_another_thread(slowly):
        assert code_of_child(lambda: opened(url) is not None) == 0
