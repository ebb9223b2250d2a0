"""Tests of the columns of ranges that a call decodes in a new process: only those that it needs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.committed.trees import DECISIVE
from graveler_core.errors import Conflict
from graveler_core.facade.repository import Repository
from tests.unit.committed.samples import decodings
from tests.unit.engine.budgets.measured import Measured, path
from tests.unit.engine.flows import table
from tests.unit.engine.world import entry

SOME = range(0, 300, 7)


@pytest.fixture(scope="module")
def measured() -> Measured:
    """Two branches of a tree of many ranges that have changed other paths, and one that changed the same."""
    measured = Measured()
    measured.unseen.create_tag("v0", "main")
    measured.unseen.create_branch("rival", source="v0")
    for name, first, value in (("dev", 0, 900), ("main", 1, 800), ("rival", 0, 700)):
        branch = measured.unseen.branch(name)
        branch.stage_many(table({path(number + first): value for number in SOME if number + first < 300}))
        branch.commit(name)
    return measured


def columns(measured: Measured, act: Callable[[Repository], object]) -> set[tuple[str, ...] | None]:
    with decodings() as seen:
        act(measured.newcomer())
    assert seen
    return {decoded.columns for decoded in seen}


def test_counting_differences(measured: Measured) -> None:
    assert columns(measured, lambda repo: repo.diff_summary("v0", "dev")) == {DECISIVE}


def test_listing_differences(measured: Measured) -> None:
    assert columns(measured, lambda repo: list(repo.diff("v0", "dev"))) == {None}


def test_merging(measured: Measured) -> None:
    measured.unseen.create_branch("into", source="main")
    assert columns(measured, lambda repo: repo.merge("dev", into="into")) == {DECISIVE}


def test_merging_with_conflicts(measured: Measured) -> None:
    def merge(repo: Repository) -> None:
        with pytest.raises(Conflict) as failed:
            repo.merge("dev", into="rival")
        first = failed.value.details["conflicts"][0]
        sizes = [side.size for side in (first.base, first.source, first.destination)]
        assert (first.path, sizes) == (path(0), [0, 900, 700])

    assert columns(measured, merge) == {DECISIVE, None}


@pytest.mark.parametrize("count", [1, 40])
def test_committing(measured: Measured, count: int) -> None:
    name = f"committing-{count}"
    branch = measured.unseen.create_branch(name, source="main")
    for number in range(0, 300, 300 // count):
        branch.stage(path(number), entry(600 + number))
    assert columns(measured, lambda repo: repo.branch(name).commit("m")) == {DECISIVE}
