"""Reset: of everything, of a prefix, of the head."""

from __future__ import annotations

from contextlib import suppress
from itertools import count

import pytest

from graveler_core.errors import InvalidInput, NoChanges, NotFound
from graveler_core.facade.branch import Branch
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World, entry


@pytest.fixture
def main(world: World) -> Branch:
    """a, p/1 and p/2 committed; a changed, p/1 removed, p/3 added."""
    branch = world.branch()
    for path in ("a", "p/1", "p/2"):
        branch.stage(path, entry(0))
    branch.commit("base")
    branch.stage("a", entry(1))
    branch.remove("p/1")
    branch.stage("p/3", entry(2))
    return branch


def content(branch: Branch) -> dict[str, int]:
    return {item.path: getattr(item, "size", -1) for item in branch.list()}


def test_everything(world: World, main: Branch) -> None:
    before = main.record()
    main.reset()
    after = main.record()
    assert content(main) == {"a": 0, "p/1": 0, "p/2": 0}
    assert after.sealed_tokens == ()
    assert after.epoch == before.epoch + 1
    assert after.staging_token != before.staging_token
    assert list(world.kv.scan(before.staging_token.encode())) == []
    assert list(main.uncommitted()) == []


@pytest.mark.parametrize("compacted", [False, True])
def test_a_prefix_looks_through_to_the_head(main: Branch, compacted: bool) -> None:
    if compacted:
        main.compact()
    main.reset("p/")
    assert content(main) == {"a": 1, "p/1": 0, "p/2": 0}
    assert [change.path for change in main.uncommitted()] == ["a"]
    main.stage("p/4", entry(4))
    assert content(main) == {"a": 1, "p/1": 0, "p/2": 0, "p/4": 4}
    main.commit("after")
    assert content(main) == {"a": 1, "p/1": 0, "p/2": 0, "p/4": 4}


@pytest.mark.parametrize("below", ["nothing", "tree", "layer"])
@pytest.mark.parametrize("path", ["a", "p/1", "p/3"])
def test_a_path_looks_through_to_the_head_alone(main: Branch, path: str, below: str) -> None:
    """Of a changed, a removed and an added path. Paths that begin with the path keep their changes."""
    committed, longer = {"a": 0, "p/1": 0, "p/2": 0}, f"{path}/x"
    main.stage(longer, entry(5))
    if below == "tree":
        main.compact()
    if below == "layer":
        main.remove_prefix("q/")
    before, epoch = content(main), main.record().epoch
    main.reset(path=path)
    expected = {**before, path: committed.get(path)}
    assert content(main) == {each: size for each, size in expected.items() if size is not None}
    deleted = below == "nothing" and path != "p/1"
    assert main.record().epoch == epoch + (not deleted)
    assert {change.path for change in main.uncommitted()} == {"a", "p/1", "p/3", longer} - {path}
    main.commit("after")
    assert content(main) == {each: size for each, size in expected.items() if size is not None}
    main.stage(path, entry(6))
    assert main.get(path).size == 6


def test_the_only_change_leaves_a_clean_branch(world: World) -> None:
    branch = world.branch()
    branch.stage("a", entry(0))
    branch.commit("base")
    branch.stage("a", entry(1))
    branch.reset(path="a")
    branch.hard_reset("main")  # refused if anything is staged


def test_a_path_without_a_change_gets_no_layer(main: Branch) -> None:
    main.reset(path="a")
    before = main.record()
    for path in ("a", "p/2", "absent"):
        main.reset(path=path)
    assert main.record() == before


def test_a_removal_above_a_change_that_is_being_committed_is_discarded(world: World) -> None:
    """In every order of its calls with the commit: either one is first."""
    branch = world.branch()

    def removed_and_reset() -> None:
        branch.remove("new")
        branch.reset(path="new")

    for call in count():
        branch.stage("new", entry(10 + call))
        kv = Interposed(world.kv)
        kv.before[call] = removed_and_reset
        with suppress(NoChanges):
            world.branch(kv).commit("theirs")
        assert list(branch.uncommitted("new")) == []
        if call >= len(kv.verbs):
            break
        branch.remove("new")
        branch.commit("clean", allow_empty=True)
    assert call > 5


def test_one_argument_only(main: Branch) -> None:
    before = main.record()
    for arguments in ({"prefix": "p/", "path": "p/1"}, {"path": ""}):
        with pytest.raises(InvalidInput):
            main.reset(**arguments)
    assert main.record() == before


def test_the_reset_of_a_path_reverts_no_concurrent_commit(world: World, main: Branch) -> None:
    """In every order of its calls with the commit: either one is first."""
    for call in count():
        main.stage("a", entry(10 + call))
        kv = Interposed(world.kv)
        kv.before[call] = lambda: main.commit("theirs")
        world.branch(kv).reset(path="a")
        assert list(main.uncommitted("a")) == []
        if call >= len(kv.verbs):
            break
    assert call > 5


def test_removals_and_restorations_on_top_of_each_other(main: Branch) -> None:
    main.remove_prefix("p/")
    assert content(main) == {"a": 1}
    main.reset("p/1")
    assert content(main) == {"a": 1, "p/1": 0}
    main.remove_prefix("")
    main.reset("a")
    assert content(main) == {"a": 0}
    main.compact()
    assert content(main) == {"a": 0}


def test_the_head_moves_both_ways(main: Branch) -> None:
    last = main.commit("second").id
    epoch = main.record().epoch
    assert main.hard_reset("main~1").message == "base"
    assert content(main) == {"a": 0, "p/1": 0, "p/2": 0}
    assert main.record().epoch == epoch + 1
    assert main.hard_reset(last).id == last
    assert content(main) == {"a": 1, "p/2": 0, "p/3": 2}


def test_nowhere(main: Branch) -> None:
    main.reset()
    before = main.record()
    for ref in ("main~7", "nobody", "abcd"):
        with pytest.raises(NotFound):
            main.hard_reset(ref)
    assert main.record() == before
