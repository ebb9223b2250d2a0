"""Nessie's behaviours of commits and their logs (27, 28, 30-33), as they hold here.

Left out: the empty id (27, 30, 33: a root has no parents, so nothing ever names it); the tail of up to 20 ancestors in
each commit (29: generations tell where a walk may stop); a log of ids alone (31: the order needs the headers, so it
would read as much); the empty token for a null key (32: a log without `after` begins at its start).
"""

from __future__ import annotations

import pytest

from graveler_core.errors import Kind, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.objects.commits import CommitCache, prepare, read_commit, read_commits
from graveler_core.records import layout as keys
from tests.unit.engine.world import World

UNKNOWN = "f" * 64


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def repo(world: World) -> Repository:
    """Three commits on main above the root; left and right, with one commit each, from the second."""
    made = world.repository()
    for number in range(3):
        made.branch("main").commit(f"main {number}", allow_empty=True)
    for name in ("left", "right"):
        made.create_branch(name, "main~1").commit(name, allow_empty=True)
    return made


def test_27_two_commits_keep_their_places_and_one_asked_for_twice_comes_twice(world: World, repo: Repository) -> None:
    one, two = repo.commit("main").id, repo.commit("left").id
    for wanted in ([one, two], [two, one], [one, one], [two, one, two]):
        found = read_commits(world.kv, CommitCache(), repo._record, wanted)
        assert [commit.id for commit in found] == wanted


def test_28_the_first_commit_has_generation_1_and_each_child_one_more(repo: Repository) -> None:
    assert [commit.generation for commit in repo.log("main")] == [4, 3, 2, 1]
    merged = repo.merge("left", into="right", allow_empty=True)
    assert merged.generation == 1 + repo.commit("left").generation


def test_30_the_log_runs_from_newest_to_oldest_up_to_an_end(repo: Repository) -> None:
    """The end commit is left out, as Git's `end..ref` does, and with it all that it has: what is new since then."""
    whole = [commit.message for commit in repo.log("main")]
    assert whole == ["main 2", "main 1", "main 0", "Repository created"]
    for at, end in enumerate(repo.log("main")):
        assert [commit.message for commit in repo.log("main", since=end.id)] == whole[:at]
    assert [commit.message for commit in repo.log("main", since="left")] == ["main 2"]


def test_30_an_unknown_commit_fails_when_the_log_comes_to_it(world: World, repo: Repository) -> None:
    """A ref that names nothing is refused at once."""
    lost = repo.commit("main~2").id
    where = keys.commit(repo._record, lost)
    world.kv.delete(where.partition, where.key)
    walk = world.graveler().repository("repo").log("main")
    assert [next(walk).message for _ in range(2)] == ["main 2", "main 1"]
    with pytest.raises(NotFound) as caught:
        next(walk)
    assert (caught.value.kind, caught.value.details["commit"]) == (Kind.CommitNotFound, lost)
    with pytest.raises(NotFound) as caught:
        repo.log(UNKNOWN)
    assert caught.value.kind is Kind.RefNotFound


def test_31_ids_come_in_the_order_of_the_log(repo: Repository) -> None:
    ids = [commit.id for commit in repo.log("main")]
    assert ids == [repo.commit(f"main~{number}").id for number in range(4)]


def test_32_every_element_yields_a_token_to_go_on_from(repo: Repository) -> None:
    """Behind the element, as with every listing here, so that no element comes twice; the last one's ends the log."""
    whole = list(repo.log("main"))
    for at, element in enumerate(whole):
        assert list(repo.log("main", after=element.token)) == whole[at + 1 :]


def test_33_a_branch_and_itself(repo: Repository) -> None:
    assert repo.merge_base("main", "main") == repo.commit("main")


def test_33_sibling_branches_meet_where_they_forked(repo: Repository) -> None:
    fork = repo.commit("main~1")
    for pair in (("left", "right"), ("right", "left"), ("left", "main")):
        assert repo.merge_base(*pair) == fork


def test_33_unrelated_histories_have_none_and_the_error_says_so(world: World, repo: Repository) -> None:
    root = read_commit(world.kv, CommitCache(), repo._record, repo.commit("main~3").id)
    stranger, writes = prepare(repo._record, root.header.model_copy(update={"nonce": "other"}), root.layout)
    for write in writes:
        world.kv.set(*write)
    with pytest.raises(NotFound, match="no common ancestor") as caught:
        repo.merge_base("main", stranger.id)
    assert caught.value.kind is Kind.NoMergeBase


@pytest.mark.parametrize("pair", [("main", UNKNOWN), (UNKNOWN, "main"), (UNKNOWN, UNKNOWN)])
def test_33_unknown_commits_are_not_found(repo: Repository, pair: tuple[str, str]) -> None:
    with pytest.raises(NotFound) as caught:
        repo.merge_base(*pair)
    assert caught.value.kind is Kind.RefNotFound
    with pytest.raises(NotFound):
        list(repo.log("main", since=UNKNOWN))
