"""The staged records of a branch: the newest of each path, tombstones among them, as the layers hold them."""

from __future__ import annotations

import pytest

from graveler_core.engine.reading.listing import PAGE_ROWS
from graveler_core.errors import InvalidInput
from graveler_core.facade.branch import Branch
from graveler_core.testing.counting_store import Counting
from tests.unit.engine.flows import table
from tests.unit.engine.world import World, entry


def shown(branch: Branch, prefix: str = "", after: str = "", limit: int | None = None) -> dict[str, int | None]:
    return {r.path: None if r.entry is None else r.entry.size for r in branch.staged(prefix, after, limit)}


@pytest.fixture
def main() -> Branch:
    """Committed a, p/1, p/2, q; then staged in several layers."""
    branch = World().repository().branch("main")
    branch.stage_many(table({"a": 1, "p/1": 1, "p/2": 1, "q": 1}))
    branch.commit("first")
    return branch


def test_entries_and_tombstones_of_all_layers(main: Branch) -> None:
    assert shown(main) == {}
    main.stage("a", entry(1))
    main.stage("z", entry(2))
    main.remove("q")
    assert shown(main) == {"a": 1, "q": None, "z": 2}
    main.stage_many(table({"a": 3, "m": 4}))
    assert shown(main) == {"a": 3, "m": 4, "q": None, "z": 2}
    main.stage("q", entry(5))
    assert shown(main) == {"a": 3, "m": 4, "q": 5, "z": 2}
    (record,) = main.staged(after="a", limit=1)
    assert record.entry == main.get("m")


def test_prefix_operations_hide_what_is_older(main: Branch) -> None:
    main.stage("p/1", entry(7))
    main.stage("p/9", entry(7))
    main.remove_prefix("p/")
    assert shown(main) == {}
    main.stage("p/9", entry(8))
    assert shown(main) == {"p/9": 8}
    main.reset("p/")
    assert shown(main) == {}


def test_what_is_compacted_or_committed_is_not_staged(main: Branch) -> None:
    for end in (main.compact, lambda: main.commit("more")):
        main.stage("x", entry(9))
        assert shown(main) == {"x": 9}
        end()
        assert shown(main) == {}


def test_by_prefix_and_in_pieces(main: Branch) -> None:
    rows = {f"r/{number:04}": number for number in range(PAGE_ROWS + 10)}
    main.stage_many(table({**rows, "s": 1, "b": 1}))
    assert shown(main, "r/") == rows
    assert shown(main, "r/", "r/1005", 2) == {"r/1006": 1006, "r/1007": 1007}
    pages = list(main.staged("r/").pages(600))
    assert [len(page.items) for page in pages] == [600, 410]
    assert [page.next for page in pages] == ["r/0599", None]


def test_nothing_is_read_before_it_is_asked_for_and_little_for_little() -> None:
    world = World()
    world.repository().branch("main").stage_many(table({f"r/{number:04}": number for number in range(50)}))
    kv = Counting(world.kv)
    branch = world.branch(kv)
    kv.reset()
    records = branch.staged()
    assert kv.round_trips == 0
    assert next(records).path == "r/0000"
    assert kv.round_trips <= 6


@pytest.mark.parametrize("given", [{"prefix": "\ud800"}, {"after": "\ud800"}, {"limit": -1}])
def test_refusals(main: Branch, given: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        list(main.staged(**given))  # type: ignore[arg-type]
