"""Many commits in little memory, by calls that take many rows each."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.counting_store import Counting
from graveler_core.transfer.commit_graph import CommitGraph
from tests.unit.engine.world import World
from tests.unit.transfer.many import fill
from tests.unit.transfer.test_commit_graph import header, id_of

T = TypeVar("T")
FIXED = 20 << 20
"""Bytes: pages of scans, a frame of the dump, a batch."""
A_COMMIT = 150
"""Bytes."""


def peak_of(call: Callable[[], T]) -> tuple[T, int]:
    """What a call gives, and the most bytes that Python and numpy held meanwhile beyond those before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        return call(), tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def there_and_back(directory: Path, source: str, count: int) -> None:
    """Dump so many commits and restore them on disk, within the bounds."""
    place = (directory / "data").as_uri()
    with (
        closing(open_store(source)) as here,
        closing(open_store(f"sqlite:///{directory}/there.db?durability=process")) as there,
    ):
        one = World(kv=here)
        fill(one, one.graveler().create_repository("repo", place, ephemeral=True), count)
        kv = Counting(here)
        repo = one.graveler(kv).repository("repo")
        kv.reset()
        dumped, peak = peak_of(lambda: repo.dump_refs((directory / "many.dump").as_uri()))
        assert dumped.commits == count + 1
        assert peak < FIXED + A_COMMIT * count
        assert kv.round_trips < 20 + count / 500
        kv = Counting(there)
        target = World(kv=there).graveler(kv).create_bare_repository("repo", place, adopt=True, ephemeral=True)
        kv.reset()
        _, peak = peak_of(lambda: target.restore_refs(dumped.uri))
        assert peak < FIXED + A_COMMIT * count
        assert kv.round_trips < 40 + count / 100
        assert target.commit("main").generation == repo.commit("main").generation > count // 2


@pytest.mark.parametrize("count", [4_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_thousands_of_commits(tmp_path: Path, count: int) -> None:
    there_and_back(tmp_path, "memory://", count)


@pytest.mark.slow
def test_a_hundred_thousand_commits(tmp_path: Path) -> None:
    there_and_back(tmp_path, f"sqlite:///{tmp_path}/here.db?durability=process", 100_000)


def test_what_a_commit_takes() -> None:
    count = 20_000
    order = sorted(range(1, count), key=id_of)
    graph, peak = peak_of(lambda: _graph(order))
    assert peak < 90 * count
    _, peak = peak_of(graph.complete)
    assert peak < 90 * count


def _graph(order: list[int]) -> CommitGraph:
    graph = CommitGraph()
    for number in order:
        graph.add(id_of(number), header([number // 2] if number > 1 else [], 1))
    return graph
