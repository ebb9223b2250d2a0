"""Merges that make one commit with one parent, and the merges after them."""

from __future__ import annotations

import pytest

from graveler_core.errors import Conflict, Kind, NoChanges
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put, Remove
from graveler_core.testing.faulty_store import Fault, Late, LoseAnswer, LoseRequest
from tests.unit.engine.races import failing_swap, late_swaps
from tests.unit.engine.ten_keys import at_head, messages, ten_keys, update
from tests.unit.engine.world import World, entry

FAULTS = [(LoseAnswer(), 1), (LoseRequest(), 1), *[(Late(calls), sent) for calls, sent in late_swaps()]]
SQUASHED = {f"k{n}": n for n in range(10) if n != 1} | {"a": 20, "b": 21, "theirs": 90}


@pytest.fixture
def world() -> World:
    """A branch of ten entries and one commit more; `dev` has two commits of its own since the ten."""
    made = ten_keys()
    dev = made.graveler().repository("repo").create_branch("dev", "main")
    dev.transact([Put("a", entry(20)), Remove("k1")], message="one")
    dev.transact([Put("b", entry(21))], message="two")
    made.branch().transact([Put("theirs", entry(90))], message="theirs")
    return made


@pytest.fixture
def repo(world: World) -> Repository:
    return world.graveler().repository("repo")


def content(repo: Repository, ref: str = "main") -> dict[str, int]:
    return {item.path: item.size for item in repo.at(ref).list() if isinstance(item, Entry)}


def test_it_is_one_commit_whose_parent_is_the_head(repo: Repository) -> None:
    head, base = repo.commit("main").id, repo.merge_base("dev", "main")
    made = repo.merge("dev", into="main", squash=True, committer="me", metadata={"n": "1"})
    assert made.parents == (head,)
    assert (made.message, made.committer, dict(made.metadata)) == ("Squash 'dev' into 'main'", "me", {"n": "1"})
    assert content(repo) == SQUASHED
    assert repo.merge_base("dev", "main") == base


def test_the_same_changes_merge_again_without_a_conflict(repo: Repository) -> None:
    """The base stays, but both sides made equal changes."""
    squashed = repo.merge("dev", into="main", squash=True)
    for words in ({}, {"squash": True}, {"replay": True}):
        with pytest.raises(NoChanges) as nothing:
            repo.merge("dev", into="main", **words)
        assert nothing.value.details["commit"] == squashed.id
    repo.branch("dev").transact([Put("c", entry(5))], message="three")
    repo.merge("dev", into="main", squash=True)
    assert content(repo) == SQUASHED | {"c": 5}


def test_a_further_change_of_a_squashed_path_is_a_conflict(repo: Repository) -> None:
    """As in Git. An empty merge with the side of the destination records the source, and the next one is clean."""
    repo.merge("dev", into="main", squash=True)
    dev = repo.branch("dev")
    merged = repo.commit("dev").id
    dev.transact([update(dev, "a", 30)], message="a again")
    with pytest.raises(Conflict) as refused:
        repo.merge("dev", into="main")
    assert [conflict.path for conflict in refused.value.details["conflicts"]] == ["a"]
    assert len(repo.merge(merged, into="main", allow_empty=True).parents) == 2
    repo.merge("dev", into="main")
    assert content(repo)["a"] == 30


def test_an_empty_squash_is_made_if_it_is_allowed(repo: Repository) -> None:
    head = repo.merge("dev", into="main", squash=True)
    made = repo.merge("dev", into="main", squash=True, allow_empty=True)
    assert made.parents == (head.id,)
    repo.merge("dev", into="main", allow_empty=True)
    with pytest.raises(NoChanges):
        repo.merge("dev", into="main", squash=True, allow_empty=True)


def test_resolutions_and_conflicts(repo: Repository, world: World) -> None:
    world.branch().transact([Put("a", entry(40))], message="ours")
    with pytest.raises(Conflict):
        repo.check_merge("dev", into="main", squash=True)
    with pytest.raises(Conflict):
        repo.merge("dev", into="main", squash=True)
    repo.check_merge("dev", into="main", squash=True, resolve={"a": entry(60)})
    repo.merge("dev", into="main", squash=True, resolve={"a": entry(60)})
    assert content(repo) == SQUASHED | {"a": 60}


def test_a_prefix_that_a_squash_changed_has_changed_since_the_base(repo: Repository) -> None:
    repo.merge("dev", into="main", squash=True, unchanged=["a"])
    repo.branch("dev").transact([Put("c", entry(5))], message="three")
    with pytest.raises(Conflict) as refused:
        repo.merge("dev", into="main", squash=True, unchanged=["a"])
    assert refused.value.kind is Kind.PrefixChanged


def test_required_checks_are_those_of_the_source(repo: Repository) -> None:
    repo.require_checks("main", ["rows"])
    with pytest.raises(Exception, match="rows") as refused:
        repo.merge("dev", into="main", squash=True)
    assert getattr(refused.value, "kind", None) is Kind.ChecksRequired
    repo.report_check("rows", True, commit="dev")
    assert len(repo.merge("dev", into="main", squash=True).parents) == 1


@pytest.mark.parametrize(("fault", "sent"), FAULTS)
def test_a_lost_answer_repeats_nothing(world: World, fault: Fault, sent: int) -> None:
    kv = failing_swap(world.kv, *[fault] * sent)
    made = world.graveler(kv).repository("repo").merge("dev", into="main", squash=True)
    assert messages(world)[:2] == ["Squash 'dev' into 'main'", "theirs"]
    assert world.graveler().repository("repo").commit("main") == made
    assert at_head(world) == SQUASHED


def test_a_key_names_one_squash(repo: Repository, world: World) -> None:
    first = repo.merge("dev", into="main", squash=True, idempotency_key="run")
    repo.branch("dev").transact([Put("c", entry(5))], message="three")
    world.branch().transact([Put("later", entry(1))], message="later")
    assert repo.merge("dev", into="main", squash=True, idempotency_key="run") == first
