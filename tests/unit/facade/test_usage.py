"""Entries and bytes by directory: as a count of the listing, at every depth and prefix, with pages of any size."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.errors import InvalidInput, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.entry import Entry
from graveler_core.model.usage import Usage
from tests.old_paths import any_path
from tests.smallest import patched
from tests.unit.engine.flows import table
from tests.unit.engine.world import World, entry

PAGE = "graveler_core.facade.readable_ref.ARROW_PAGE_ROWS"
PATHS = {"a": 1, "d/1": 2, "d/e/1": 4, "d/e/2": 8, "d/e/f/1": 16, "d/z": 32, "d0": 64, "x/y/1": 128}


@pytest.fixture
def world() -> World:
    """A repository with a commit of `PATHS`."""
    world = World()
    main = world.repository().branch("main")
    main.stage_many(table(PATHS))
    main.commit("all")
    return world


def told(at: Branch | Snapshot, prefix: str = "", depth: int = 1) -> list[tuple[str, int, int]]:
    return [(one.path, one.entries, one.size) for one in at.usage(prefix, depth)]


def counted(sizes: dict[str, int], prefix: str, depth: int) -> dict[str, tuple[int, int]]:
    """The same by a slow and simple way."""
    found = {prefix: (0, 0)}
    for path, size in sizes.items():
        if path.startswith(prefix):
            parts = path[len(prefix) :].split("/")[:-1]
            for level in range(min(depth, len(parts)) + 1):
                directory = prefix + "".join(f"{part}/" for part in parts[:level])
                entries, total = found.get(directory, (0, 0))
                found[directory] = entries + 1, total + size
    return found


def test_the_default_is_one_level_and_the_total(world: World) -> None:
    assert [*world.branch().usage()] == [Usage("d/", 5, 62), Usage("x/", 1, 128), Usage("", 8, 255)]


def test_a_directory_follows_those_that_it_contains(world: World) -> None:
    main = world.branch()
    assert told(main, depth=0) == [("", 8, 255)]
    assert told(main, depth=2) == [("d/e/", 3, 28), ("d/", 5, 62), ("x/y/", 1, 128), ("x/", 1, 128), ("", 8, 255)]
    assert told(main, depth=10**30)[:3] == [("d/e/f/", 1, 16), ("d/e/", 3, 28), ("d/", 5, 62)]


def test_below_a_prefix(world: World) -> None:
    main = world.branch()
    assert told(main, "d/") == [("d/e/", 3, 28), ("d/", 5, 62)]
    assert told(main, "d") == [("d/", 5, 62), ("d", 6, 126)]
    assert told(main, "a") == [("a", 1, 1)]
    assert told(main, "none/") == [("none/", 0, 0)]


def test_every_ref_and_what_is_staged(world: World) -> None:
    main, repo = world.branch(), world.graveler().repository("repo")
    repo.create_tag("v1", "main")
    before = told(main)
    main.stage("d/1", entry(1_000))
    main.remove("a")
    main.remove_prefix("x/")
    main.stage("new/1", entry(3))
    after = [("d/", 5, 1_060), ("new/", 1, 3), ("", 7, 1_127)]
    assert told(main) == told(repo.at("main")) == after
    assert [told(repo.at(ref)) for ref in ("v1", "main@", repo.commit("main").id)] == [before] * 3
    main.commit("more")
    assert told(repo.at("main@")) == after
    assert told(repo.at("v1")) == before


NAMES = st.lists(st.sampled_from(["", "a", "b", "é", "a0"]), min_size=1, max_size=5).map("/".join).filter(bool)


@given(
    sizes=st.dictionaries(NAMES, st.integers(0, 1_000), max_size=20),
    prefix=st.one_of(st.just(""), NAMES),
    depth=st.integers(0, 6),
    page=st.sampled_from([1, 2, 3, 65_536]),
)
def test_as_by_counting(sizes: dict[str, int], prefix: str, depth: int, page: int) -> None:
    world = World()
    main = world.repository().branch("main")
    with any_path():
        main.stage_many(table(sizes))
    with patched({PAGE: page}):
        found = told(main, prefix, depth)
    assert {path: (entries, size) for path, entries, size in found} == counted(sizes, prefix, depth)
    assert len({path for path, _, _ in found}) == len(found)
    assert _after_their_contents([path for path, _, _ in found])


def _after_their_contents(paths: Iterable[str]) -> bool:
    """Tell if a path follows those that begin with it, and all others are in byte order."""
    return all(one.startswith(other) or one.encode() < other.encode() for one, other in pairwise(paths))


def test_what_is_refused(world: World) -> None:
    main = world.branch()
    for depth in (-1, 1.5, "1"):
        with pytest.raises(InvalidInput, match="depth"):
            main.usage(depth=depth)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        main.usage("a\0")
    world.graveler().repository("repo").create_branch("gone", "main")
    gone = world.branch(name="gone")
    world.graveler().repository("repo").delete_branch("gone")
    with pytest.raises(NotFound):
        [*gone.usage()]


def test_a_total_may_be_larger_than_64_bits() -> None:
    main = World().repository().branch("main")
    for path in ("u/1", "u/2"):
        main.stage(path, Entry("content", size=1 << 62))
    assert told(main) == [("u/", 2, 1 << 63), ("", 2, 1 << 63)]
    main.commit("two large ones")
    assert told(main) == [("u/", 2, 1 << 63), ("", 2, 1 << 63)]
