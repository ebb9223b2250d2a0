"""Tests of the number of rows of a large partition that a call reads: never all at once, and none repeatedly."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import islice

import pytest

from graveler_core.codec.entry import normalise
from graveler_core.codec.records import encode
from graveler_core.errors import DirtyBranch
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.kv.bulk import set_many
from graveler_core.kv.paging import FIRST_PAGE_ROWS, PAGE_ROWS, KeyBounds, RowPage
from graveler_core.model.ids import BranchId
from graveler_core.records import layout as keys
from graveler_core.segments.boundary import Cutting
from graveler_core.staging import area
from tests.unit.engine.flows import table
from tests.unit.engine.world import TINY_SIZES, World, entry

STAGED = 12_345
FEW = 10


class RowsRead(MemoryStore):
    """A store in memory that remembers how many rows each page of a scan had."""

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner._memory)
        self.pages: list[int] = []

    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        page = super()._page(partition, keys, rows)
        self.pages.append(len(page.keys))
        return page


@pytest.fixture
def kv(world: World) -> RowsRead:
    """The world's store, with a token of many records on `main`."""
    assert isinstance(world.kv, MemoryStore)
    records = normalise(table({f"k/{number:06}": number for number in range(STAGED)}))
    area.put_table(world.kv, world.branch().record().staging_token, records)
    return RowsRead(world.kv)


@pytest.fixture
def repo(world: World, kv: RowsRead) -> Repository:
    """The repository, with ranges as large as in production."""
    return Graveler(replace(world.stores(kv), cutting=Cutting())).repository("repo")


@pytest.fixture
def main(repo: Repository, kv: RowsRead) -> Branch:
    """The branch, of which nothing was read yet."""
    branch = repo.branch("main")
    kv.pages.clear()
    return branch


def test_a_few_entries_cost_a_few_rows(main: Branch, kv: RowsRead) -> None:
    assert len(list(main.list(limit=FEW))) == FEW
    assert len(list(main.list(after="k/006000", limit=FEW))) == FEW
    assert kv.pages == [FEW, FEW]


def test_a_listing_reads_each_row_once(main: Branch, kv: RowsRead) -> None:
    assert len(list(main.list())) == STAGED
    assert (sum(kv.pages), max(kv.pages)) == (STAGED, FIRST_PAGE_ROWS)


def test_uncommitted_changes_cost_each_row_once(main: Branch, kv: RowsRead) -> None:
    assert len(list(main.uncommitted())) == STAGED
    assert (sum(kv.pages), max(kv.pages)) == (STAGED, FIRST_PAGE_ROWS)


def test_tombstones_in_between_cost_no_more_than_a_second_page(main: Branch, kv: RowsRead) -> None:
    for number in range(0, STAGED, 500):
        main.remove(f"k/{number:06}")
    kv.pages.clear()
    assert len(list(main.list())) == STAGED - 25
    assert sum(kv.pages) < 2.1 * STAGED
    assert max(kv.pages) == FIRST_PAGE_ROWS


def test_groups_are_passed_by_not_read(main: Branch, kv: RowsRead) -> None:
    main.stage("l", entry(1))
    kv.pages.clear()
    assert [item.path for item in main.list(delimiter="/")] == ["k/", "l"]
    assert kv.pages == [FIRST_PAGE_ROWS, 1]


def test_columns_are_read_in_large_pages(repo: Repository, kv: RowsRead) -> None:
    at = repo.at("main$")
    kv.pages.clear()
    assert at.to_arrow().read_all().num_rows == STAGED
    assert kv.pages == [PAGE_ROWS, STAGED - PAGE_ROWS]


@pytest.mark.parametrize(
    ("act", "looks"),
    [(lambda branch: branch.commit("m"), {0, 1, TINY_SIZES.small_elements + 1}), (Branch.compact, {0, 1})],
)
def test_what_takes_all_takes_it_page_by_page(
    main: Branch, kv: RowsRead, act: Callable[[Branch], object], looks: set[int]
) -> None:
    """A look whether there is anything, one whether it is more than a few, all of it once, and a look for counters."""
    act(main)
    *pages, large, rest = sorted(kv.pages)
    assert [rest, large] == [PAGE_ROWS, STAGED - PAGE_ROWS]
    assert len(pages) == len(set(pages))
    assert set(pages) <= looks


@pytest.mark.parametrize(
    "act",
    [
        lambda repo: repo.branch("main").stage_many(table({"a": 1})),
        lambda repo: repo.branch("main").remove_prefix("k/"),
        lambda repo: repo.branch("main").reset("k/"),
        lambda repo: repo.branch("main").hard_reset("v1"),
        lambda repo: repo.merge("v1", into="main"),
    ],
    ids=["stage_many", "remove_prefix", "reset", "hard_reset", "merge"],
)
def test_whether_anything_is_staged_costs_one_row(
    repo: Repository, kv: RowsRead, act: Callable[[Repository], object]
) -> None:
    repo.create_tag("v1", "main")
    kv.pages.clear()
    with suppress(DirtyBranch):
        act(repo)
    assert kv.pages == [1]


def test_the_first_branches_cost_one_page(world: World, repo: Repository, kv: RowsRead) -> None:
    record = world.branch().record()
    where = keys.branches(repo._record)
    names = [f"b{number:05}" for number in range(2 * FIRST_PAGE_ROWS)]
    set_many(kv, [(where.partition, where.at(n).key, encode(record.model_copy(update={"id": n}))) for n in names])
    kv.pages.clear()
    assert [branch.id for branch in islice(repo.branches(), FEW)] == [BranchId(name) for name in names[:FEW]]
    assert kv.pages == [FIRST_PAGE_ROWS]
