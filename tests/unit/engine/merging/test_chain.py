"""Merges that keep the source's commits: what becomes of each, what they say, and that they come all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graveler_core.engine.committing.draft import new_commit
from graveler_core.engine.merging import chain as merge_chain
from graveler_core.errors import Conflict, DirtyBranch, NoChanges
from graveler_core.facade.history import CommitRecord
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put, Remove
from graveler_core.testing.faulty_store import Fault, Late, LoseAnswer, LoseRequest
from tests.unit.engine.races import Interrupted, failing_swap, late_swaps
from tests.unit.engine.ten_keys import at_head, messages, ten_keys, update
from tests.unit.engine.world import World, entry

FAULTS = [(LoseAnswer(), 1), (LoseRequest(), 1), *[(Late(calls), sent) for calls, sent in late_swaps()]]
MERGED = {f"k{n}": n for n in range(10) if n not in (1, 2)} | {"a": 20, "b": 21, "theirs": 90}


@pytest.fixture
def world() -> World:
    """A branch of ten entries and one commit more; `dev` has three commits of its own since the ten."""
    made = ten_keys()
    repo = made.graveler().repository("repo")
    dev = repo.create_branch("dev", "main")
    dev.transact([Put("a", entry(20))], message="one", committer="ann", metadata={"ticket": "7"})
    dev.transact([Put("b", entry(21)), Remove("k1")], message="two", committer="bob")
    dev.transact([Remove("k2")], message="three")
    elsewhere(made)
    return made


def elsewhere(world: World, path: str = "theirs") -> CommitRecord:
    """A commit of somebody else on the branch."""
    return world.branch().transact([Put(path, entry(90))], message=path)


def chain(repo: Repository) -> list[CommitRecord]:
    """The branch's own commits, newest first."""
    return list(repo.log("main", first_parent=True))


def content(repo: Repository, ref: str) -> dict[str, int]:
    return {item.path: item.size for item in repo.at(ref).list() if isinstance(item, Entry)}


class TestRepeatedCommits:
    """One commit for each of the source."""

    def test_each_brings_its_own_step(self, world: World) -> None:
        repo = world.graveler().repository("repo")
        head = repo.commit("main")
        made = repo.merge("dev", into="main", replay=True)
        three, two, one, theirs, *_ = chain(repo)
        assert (made, theirs) == (three, head)
        assert [commit.message for commit in (one, two, three)] == ["one", "two", "three"]
        for mine, source in ((one, "dev~2"), (two, "dev~1"), (three, "dev")):
            assert content(repo, mine.id) == content(repo, source) | {"theirs": 90}
            changed = [(change.path, change.kind) for change in repo.diff(mine.parents[0], mine.id)]
            assert changed == [(change.path, change.kind) for change in repo.diff(f"{source}~1", source)]
        assert content(repo, "main") == MERGED

    def test_the_last_is_the_merge(self, world: World) -> None:
        repo = world.graveler().repository("repo")
        source = repo.commit("dev")
        repo.merge("dev", into="main", replay=True)
        three, two, one, theirs, *_ = chain(repo)
        assert three.parents == (two.id, source.id)
        assert (two.parents, one.parents) == ((one.id,), (theirs.id,))
        assert repo.merge_base("dev", "main") == source

    def test_each_keeps_what_was_said_of_it(self, world: World) -> None:
        repo = world.graveler().repository("repo")
        repo.merge("dev", into="main", replay=True)
        said = [(c.message, c.committer, dict(c.metadata)) for c in chain(repo)[:3]]
        assert said == [("three", "", {}), ("two", "bob", {}), ("one", "ann", {"ticket": "7"})]

    def test_what_the_call_says_is_of_the_last(self, world: World) -> None:
        repo = world.graveler().repository("repo")
        repo.merge("dev", into="main", replay=True, message="all", committer="me", metadata={"n": "1"})
        said = [(c.message, c.committer, dict(c.metadata)) for c in chain(repo)[:3]]
        assert said == [("all", "me", {"n": "1"}), ("two", "bob", {}), ("one", "ann", {"ticket": "7"})]

    def test_the_metadata_of_the_call_are_added_to_those_of_the_last(self, world: World) -> None:
        repo = world.graveler().repository("repo")
        own = {"ticket": "8", "job": "nightly"}
        repo.branch("dev").transact([Put("c", entry(5))], message="four", committer="ann", metadata=own)
        repo.merge("dev", into="main", replay=True, metadata={"ticket": "9", "n": "1"})
        last, before = chain(repo)[:2]
        assert (last.message, last.committer) == ("four", "ann")
        assert dict(last.metadata) == {"ticket": "9", "job": "nightly", "n": "1"}
        assert (before.message, dict(before.metadata)) == ("three", {})

    def test_the_next_merge_repeats_what_is_new(self, world: World) -> None:
        repo = world.graveler().repository("repo")
        repo.merge("dev", into="main", replay=True)
        repo.branch("dev").transact([Put("c", entry(5))], message="four")
        repo.merge("dev", into="main", replay=True)
        assert [commit.message for commit in chain(repo)[:5]] == ["four", "three", "two", "one", "theirs"]

    def test_what_changes_nothing_here_is_left_out(self, world: World) -> None:
        repo = world.graveler().repository("repo")
        repo.cherry_pick("dev~2", onto="main")
        world.branch().transact([Remove("k2")], message="as three")
        made = repo.merge("dev", into="main", replay=True)
        assert [commit.message for commit in chain(repo)[:4]] == ["two", "as three", "one", "theirs"]
        assert made.parents[1] == repo.commit("dev").id
        assert at_head(world) == MERGED

    def test_a_merge_in_the_source_is_repeated_as_what_it_brought(self, world: World) -> None:
        """Of what it brought from this very branch nothing is new."""
        repo = world.graveler().repository("repo")
        repo.merge("main", into="dev", message="caught up")
        side = repo.create_branch("side", "dev~2")
        side.transact([Put("s", entry(6))], message="on the side")
        repo.merge("side", into="dev", message="side into dev")
        repo.branch("dev").transact([Put("c", entry(5))], message="four")
        branch = world.branch()
        branch.transact([update(branch, "theirs", 91)], message="changed again")
        repo.merge("dev", into="main", replay=True)
        log = [commit.message for commit in chain(repo)[:6]]
        assert log == ["four", "side into dev", "three", "two", "one", "changed again"]
        assert at_head(world) == MERGED | {"theirs": 91, "s": 6, "c": 5}

    def test_conflicts_are_those_of_a_merge_in_one_commit(self, world: World) -> None:
        branch = world.branch()
        branch.transact([update(branch, "k1", 50)], message="changed")
        repo = world.graveler().repository("repo")
        found = []
        for replay in (False, True):
            with pytest.raises(Conflict) as refused:
                repo.merge("dev", into="main", replay=replay)
            found.append(refused.value.details)
        assert found[0] == found[1]
        assert [conflict.path for conflict in found[0]["conflicts"]] == ["k1"]
        assert messages(world)[0] == "changed"

    @pytest.mark.parametrize(("strategy", "there"), [("source", False), ("destination", True)])
    def test_a_strategy_decides(self, world: World, strategy: str, there: bool) -> None:
        branch = world.branch()
        branch.transact([update(branch, "k1", 50)], message="changed")
        repo = world.graveler().repository("repo")
        repo.merge("dev", into="main", replay=True, strategy=strategy)
        assert [commit.message for commit in chain(repo)[:3]] == ["three", "two", "one"]
        assert at_head(world) == MERGED | ({"k1": 50} if there else {})

    def test_a_resolved_value_is_a_commit_of_its_own(self, world: World) -> None:
        branch = world.branch()
        branch.transact([update(branch, "k1", 50)], message="changed")
        repo = world.graveler().repository("repo")
        repo.merge("dev", into="main", replay=True, resolve={"k1": entry(51)}, committer="me")
        last, three, *_ = chain(repo)
        assert [commit.message for commit in (last, three)] == ["Merge 'dev' into 'main'", "three"]
        assert (last.committer, last.parents) == ("me", (three.id, repo.commit("dev").id))
        assert [change.path for change in repo.diff(three.id, last.id)] == ["k1"]
        assert at_head(world) == MERGED | {"k1": 51}

    def test_a_dirty_destination_is_refused(self, world: World) -> None:
        world.branch().stage("beside", entry(1))
        with pytest.raises(DirtyBranch):
            world.graveler().repository("repo").merge("dev", into="main", replay=True)


class TestAllAtOnce:
    """One swap for any number of commits."""

    def test_one_swap(self, world: World) -> None:
        kv = Interrupted(world.kv)
        world.graveler(kv).repository("repo").merge("dev", into="main", replay=True)
        assert kv.met == 1

    def test_until_the_swap_nothing_is_seen(self, world: World) -> None:
        seen: list[list[str]] = []
        kv = Interrupted(world.kv, lambda: seen.append(messages(world)))
        world.graveler(kv).repository("repo").merge("dev", into="main", replay=True)
        assert seen == [["theirs", "begin"]]

    def test_a_lost_race_is_decided_again(self, world: World) -> None:
        kv = Interrupted(world.kv, lambda: elsewhere(world, "meanwhile"))
        world.graveler(kv).repository("repo").merge("dev", into="main", replay=True)
        repo = world.graveler().repository("repo")
        assert [commit.message for commit in chain(repo)[:5]] == ["three", "two", "one", "meanwhile", "theirs"]
        assert at_head(world) == MERGED | {"meanwhile": 90}

    def test_the_source_is_what_its_name_means_when_it_succeeds(self, world: World) -> None:
        dev = world.graveler().repository("repo").branch("dev")

        def meanwhile() -> None:
            dev.transact([Put("c", entry(5))], message="four")
            elsewhere(world, "meanwhile")

        world.graveler(Interrupted(world.kv, meanwhile)).repository("repo").merge("dev", into="main", replay=True)
        repo = world.graveler().repository("repo")
        assert [commit.message for commit in chain(repo)[:5]] == ["four", "three", "two", "one", "meanwhile"]

    def test_a_conflict_that_came_meanwhile(self, world: World) -> None:
        branch = world.branch()
        kv = Interrupted(world.kv, lambda: branch.transact([update(branch, "k1", 50)], message="changed"))
        with pytest.raises(Conflict):
            world.graveler(kv).repository("repo").merge("dev", into="main", replay=True)
        assert messages(world)[0] == "changed"

    @pytest.mark.parametrize("replay", [False, True])
    @pytest.mark.parametrize(("fault", "sent"), FAULTS)
    def test_a_lost_answer_repeats_nothing(self, world: World, fault: Fault, sent: int, replay: bool) -> None:
        kv = failing_swap(world.kv, *[fault] * sent)
        made = world.graveler(kv).repository("repo").merge("dev", into="main", replay=replay, message="merged")
        repo = world.graveler().repository("repo")
        expected = ["merged", "two", "one", "theirs"] if replay else ["merged", "theirs"]
        assert [commit.message for commit in chain(repo)[: len(expected)]] == expected
        assert repo.commit("main") == made
        assert at_head(world) == MERGED

    @pytest.mark.parametrize("later", [lambda world: None, elsewhere])
    def test_once_under_one_key(self, world: World, later: Callable[[World], object]) -> None:
        repo = world.graveler().repository("repo")
        first = repo.merge("dev", into="main", replay=True, idempotency_key="run")
        if later is elsewhere:
            elsewhere(world, "after")
        assert repo.merge("dev", into="main", replay=True, idempotency_key="run") == first

    def test_a_commit_that_is_built_again_keeps_its_nonce(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        nonces: list[str] = []

        def noted(*given: Any) -> Any:
            nonces.append(given[-1].nonce)
            return new_commit(*given)

        monkeypatch.setattr(merge_chain, "new_commit", noted)
        kv = Interrupted(world.kv, lambda: elsewhere(world, "meanwhile"))
        world.graveler(kv).repository("repo").merge("dev", into="main", replay=True)
        assert nonces[:3] == nonces[3:]
        assert len(set(nonces)) == 3


class TestCommitsThatCancelEachOtherOut:
    """What one commit does and a later one undoes."""

    @staticmethod
    def there_and_back(world: World) -> Repository:
        repo = world.graveler().repository("repo")
        source = repo.create_branch("source", "main")
        source.transact([Put("new", entry(30))], message="add")
        source.transact([Remove("new")], message="remove")
        return repo

    def test_they_are_repeated(self, world: World) -> None:
        repo = self.there_and_back(world)
        before, head = content(repo, "main"), repo.commit("main")
        made = repo.merge("source", into="main", replay=True)
        assert [commit.message for commit in chain(repo)[:3]] == ["remove", "add", head.message]
        assert made.parents[1] == repo.commit("source").id
        assert content(repo, "main") == before
        assert content(repo, "main~1") == before | {"new": 30}
        with pytest.raises(NoChanges):
            repo.merge("source", into="main", replay=True)

    def test_in_one_commit_they_change_nothing(self, world: World) -> None:
        repo = self.there_and_back(world)
        head = repo.commit("main")
        with pytest.raises(NoChanges):
            repo.merge("source", into="main")
        assert repo.commit("main") == head
