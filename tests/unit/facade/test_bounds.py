"""Seed 002, "All pageable operations": listings have a start and an end, and nothing beyond them is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from graveler_core.committed import trees
from graveler_core.errors import InvalidInput, Kind
from graveler_core.facade.listing import Listing
from graveler_core.kv.store import KeyValue
from graveler_core.kv.wrappers.passing import Passing
from graveler_core.model.bounds import Bounds
from graveler_core.model.entry import CommonPrefix
from tests.unit.engine.world import World, entry
from tests.unit.facade.test_every_listing import (
    branches,
    commits,
    committed,
    diverged,
    ends,
    events,
    main,
    moves,
    only_dev,
    repo,
    repositories,
    shown,
    staged,
    tags,
)

Bounded = Callable[..., Listing[Any]]
"""Listing of a world, with bounds as keyword arguments."""

BY_PATH: dict[str, tuple[Callable[[World], object], Bounded]] = {
    "list, of a branch": (staged, lambda w, **b: main(w).list(**b)),
    "list, of a commit": (committed, lambda w, **b: repo(w).at("main@").list(**b)),
    "uncommitted": (staged, lambda w, **b: main(w).uncommitted(**b)),
    "staged": (staged, lambda w, **b: main(w).staged(**b)),
    "diff": (only_dev, lambda w, **b: repo(w).diff("main", "dev", **b)),
    "conflicts": (diverged, lambda w, **b: repo(w).conflicts("dev", into="main", **b)),
    "changes of a commit": (only_dev, lambda w, **b: next(repo(w).log("dev")).changes(**b)),
}
BY_NAME: dict[str, tuple[Callable[[World], object], Bounded]] = {
    "repositories": (repositories, lambda w, **b: w.graveler().list_repositories(**b)),
    "branches": (branches, lambda w, **b: repo(w).branches(**b)),
    "tags": (tags, lambda w, **b: repo(w).tags(**b)),
    "commits": (commits, lambda w, **b: repo(w).commits(**b)),
    "commits, not first parents": (ends, lambda w, **b: repo(w).commits(not_first_parent=True, **b)),
}
BY_EVENT: dict[str, tuple[Callable[[World], object], Bounded]] = {
    "reflog": (events, lambda w, **b: repo(w).reflog(**b)),
    "reflog of a name": (moves, lambda w, **b: repo(w).reflog("main", **b)),
}
CASES = BY_PATH | BY_NAME | BY_EVENT


def place(item: Any) -> str:
    """What bounds name of an item."""
    found: str = next(getattr(item, name) for name in ("path", "token", "id") if hasattr(item, name))
    return found


@pytest.fixture(params=CASES.values(), ids=list(CASES))
def case(request: pytest.FixtureRequest) -> tuple[World, Bounded]:
    prepare, listing = request.param
    world = World()
    prepare(world)
    return world, listing


def test_start_is_inclusive_and_end_is_exclusive(case: tuple[World, Bounded]) -> None:
    world, listing = case
    whole = list(listing(world))
    assert len(whole) == 9
    for first, last in ((0, 9), (0, 4), (3, 7), (8, 9), (4, 4)):
        bounds = {"start": place(whole[first])} | ({"end": place(whole[last])} if last < 9 else {})
        assert shown(list(listing(world, **bounds))) == shown(whole[first:last])


def test_a_page_within_bounds_is_resumed_after_its_token(case: tuple[World, Bounded]) -> None:
    world, listing = case
    whole = list(listing(world))
    bounds = {"start": place(whole[2]), "end": place(whole[7])}
    first, *more = list(listing(world, **bounds).pages(2))
    assert [item for page in (first, *more) for item in shown(page.items)] == shown(whole[2:7])
    assert shown(list(listing(world, after=first.next, **bounds))) == shown(whole[4:7])


def test_an_end_that_is_not_greater_than_the_start_gives_an_empty_listing(case: tuple[World, Bounded]) -> None:
    world, listing = case
    whole = list(listing(world))
    for start, end in ((5, 5), (6, 2)):
        bounds = {"start": place(whole[start]), "end": place(whole[end])}
        assert list(listing(world, **bounds)) == []
        assert [page.items for page in listing(world, **bounds).pages(3)] == [[]]


@pytest.mark.parametrize("listing", [case[1] for case in (BY_PATH | BY_NAME).values()], ids=[*BY_PATH, *BY_NAME])
@pytest.mark.parametrize("bound", ["start", "end"])
def test_bounds_are_checked_when_the_listing_is_made(listing: Bounded, bound: str) -> None:
    world = World()
    diverged(world)
    with pytest.raises(InvalidInput, match="must not contain NUL"):
        listing(world, **{bound: "a\0b"})


def test_bounds_of_a_reflog_are_tokens_of_events() -> None:
    world = World()
    world.repository()
    with pytest.raises(InvalidInput, match="end 'yesterday': must be the token of an event"):
        repo(world).reflog(end="yesterday")


def test_branches_ordered_by_head_are_bounded_by_name() -> None:
    world = World()
    branches(world)
    found = repo(world).branches(start="n2", end="n6", order_by="commit_id")
    assert sorted(branch.id for branch in found) == ["n2", "n3", "n4", "n5"]


def test_a_group_is_listed_if_one_of_its_paths_is_within_the_bounds() -> None:
    world = World()
    world.repository()
    for path in ("a/1", "a/9", "b/1", "c/1", "c/9", "d"):
        main(world).stage(path, entry(1))

    def listed(**bounds: str) -> list[str]:
        items = list(main(world).list(delimiter="/", **bounds))
        assert all(isinstance(item, CommonPrefix) == item.path.endswith("/") for item in items)
        return [item.path for item in items]

    assert listed(start="a/5", end="c/5") == ["a/", "b/", "c/"]
    assert listed(start="a/95", end="c/1") == ["b/"]
    assert listed(start="a/5", end="c/5", after="a/") == ["b/", "c/"]
    assert listed(prefix="c/", start="b", end="c/5") == ["c/1"]
    assert listed(after="a/1", end="c/5") == ["a/", "b/", "c/"]
    assert listed(after="a/9", end="c/5") == ["b/", "c/"]


def test_bounds_hold_together_with_a_prefix_and_a_token() -> None:
    assert Bounds("b/", "b/2", "a", "b/4").interval() == (b"b/2\0", b"b/4")
    assert Bounds("b/", "", "b/3", "c").interval() == (b"b/3", b"b0")
    assert Bounds("b/", "", "c").interval() == (b"b0", b"b0")
    assert Bounds(end="").interval() == (b"", b"")


class Rows(Passing):
    """Store that notes the keys that its scans yield."""

    def __init__(self, world: World) -> None:
        super().__init__(world.kv)
        self.keys: list[bytes] = []

    def scan(self, partition: bytes, **keys: Any) -> Iterator[KeyValue]:
        for row in super().scan(partition, **keys):
            self.keys.append(row.key)
            yield row


NAMED = {
    "branches": lambda handle, **b: handle.repository("repo").branches(**b),
    "tags": lambda handle, **b: handle.repository("repo").tags(**b),
    "commits": lambda handle, **b: handle.repository("repo").commits(**b),
    "repositories": lambda handle, **b: handle.list_repositories(**b),
    "staged": lambda handle, **b: handle.repository("repo").branch("main").staged(**b),
    "uncommitted": lambda handle, **b: handle.repository("repo").branch("main").uncommitted(**b),
}


@pytest.mark.parametrize("listing", NAMED.values(), ids=NAMED)
def test_the_store_yields_no_row_beyond_the_bounds(listing: Bounded) -> None:
    world = World()
    repositories(world)
    made = world.repository()
    for number in range(9):
        made.create_branch(f"n{number}", "main").stage("x", entry(number))
        made.branch(f"n{number}").commit("one more")
        made.create_tag(f"t{number}", f"n{number}")
        main(world).stage(f"n{number}", entry(1))
    rows = Rows(world)
    whole = list(listing(world.graveler(rows)))
    bounds = {"start": place(whole[2]), "end": place(whole[5])}
    rows.keys.clear()
    assert shown(list(listing(world.graveler(rows), **bounds))) == shown(whole[2:5])
    assert [key.rsplit(b"/", 1)[1].decode() for key in rows.keys] == [place(item) for item in whole[2:5]]


@pytest.mark.parametrize("name", ["list, of a commit", "diff", "changes of a commit"])
def test_ranges_beyond_the_bounds_are_not_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty paths in many small ranges: fewer paths need fewer of them."""
    world = World()
    dev = world.repository().create_branch("dev", "main")
    for number in range(60):
        dev.stage(f"p{number:02}", entry(number))
    dev.commit("sixty")
    listings: dict[str, Bounded] = {
        "list, of a commit": lambda w, **b: repo(w).at("dev@").list(**b),
        "diff": BY_PATH["diff"][1],
        "changes of a commit": BY_PATH["changes of a commit"][1],
    }
    read: list[str] = []
    inner = trees._read

    def counted(of: trees.Trees, id: str, kind: Kind) -> bytes:
        read.append(id)
        return inner(of, id, kind)

    monkeypatch.setattr(trees, "_read", counted)

    def cost(**bounds: str) -> int:
        read.clear()
        world.ranges._held.clear()
        assert list(listings[name](world, **bounds))
        return len(read)

    whole = cost()
    assert cost(end="p05") < cost(end="p30") < whole
    assert cost(start="p30", end="p35") < whole / 2
