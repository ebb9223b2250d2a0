"""The budgets of the storage model, in round trips to a store that reads and writes many keys at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.kv.wrappers.counting import Counting
from tests.unit.engine.world import World, entry

SCANS = ("scan", "scan_arrow")


class Counted:
    """A warm process on a counting store."""

    def __init__(self, world: World) -> None:
        self.kv = Counting(world.kv)
        self.repo: Repository = world.graveler(self.kv).repository("repo")
        self.main: Branch = self.repo.branch("main")
        self.main.stage("x", entry(0))
        self.main.commit("warm")
        self.dev = self.repo.create_branch("dev", "main")

    def spent(self, act: Callable[[], object]) -> tuple[int, int]:
        """Round trips besides scans, and scans."""
        self.kv.reset()
        act()
        scans = sum(self.kv.counts[verb] for verb in SCANS)
        return self.kv.round_trips - scans, scans


@pytest.fixture
def counted(world: World) -> Counted:
    return Counted(world)


def test_stage(counted: Counted) -> None:
    assert counted.spent(lambda: counted.main.stage("a", entry(1))) == (2, 0)


def test_remove(counted: Counted) -> None:
    counted.main.stage("a", entry(1))
    assert counted.spent(lambda: counted.main.remove("a")) == (2, 0)


@pytest.mark.parametrize("path", ["a", "x"], ids=["staged", "committed"])
def test_get(counted: Counted, path: str) -> None:
    counted.main.stage("a", entry(1))
    counted.main.get("x")
    assert counted.spent(lambda: counted.main.get(path)) == (2, 0)


def test_get_through_many_layers(counted: Counted) -> None:
    """All tokens are asked at once."""
    for number in range(5):
        counted.main.stage("a", entry(number))
        counted.main.remove_prefix("p/")
    counted.main.get("x")
    assert counted.spent(lambda: counted.main.get("x")) == (2, 0)


def test_get_at_a_commit(counted: Counted) -> None:
    at = counted.repo.at("main@")
    at.get("x")
    assert counted.spent(lambda: at.get("x")) == (1, 0)


def test_commit(counted: Counted) -> None:
    """Records, seal, header + layout + cleanup, advance, drop; scans: is anything staged, and what."""
    counted.main.stage("a", entry(1))
    assert counted.spent(lambda: counted.main.commit("m")) == (5, 2)


def test_merge(counted: Counted) -> None:
    """Destination's records, source, header + layout, swap; scan: is anything staged."""
    counted.dev.stage("a", entry(1))
    counted.dev.commit("on dev")
    spent, scans = counted.spent(lambda: counted.repo.merge("dev", into="main"))
    assert spent + scans <= 6
    assert scans == 1


def test_create_branch(counted: Counted) -> None:
    """Repository, source, a tag of the name, swap. The budget is 3, with the tag asked for together with the source."""
    assert counted.spent(lambda: counted.repo.create_branch("new", "main")) == (4, 0)


def test_a_page(counted: Counted) -> None:
    """A page of a listing is one scan of the token and the closing re-read, however many entries it has."""
    for number in range(20):
        counted.main.stage(f"p/{number}", entry(number))
    list(counted.main.list())
    assert counted.spent(lambda: list(counted.main.list())) == (1, 1)


def test_a_removal_of_everything_costs_nothing_more(counted: Counted) -> None:
    """Records and swap; scan: is anything staged."""
    counted.main.stage("a", entry(1))
    assert counted.spent(lambda: counted.main.remove_prefix("")) == (2, 1)
