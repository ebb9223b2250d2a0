"""Cherry-pick and revert as a person calls them: words, merge commits, and there and back again."""

from __future__ import annotations

import pytest

from graveler_core.errors import Conflict, InvalidInput, NoChanges
from graveler_core.facade.repository import Repository
from graveler_core.model.operations import Put, Remove
from tests.unit.engine.ten_keys import at_head, messages, ten_keys, update
from tests.unit.engine.world import World, entry


@pytest.fixture
def world() -> World:
    """`main` and `dev` have gone apart, and `work` holds the merge of both."""
    made = ten_keys()
    repo = made.graveler().repository("repo")
    dev = repo.create_branch("dev", "main")
    dev.transact([Put("a", entry(20)), Remove("k1")], message="dev's", committer="ann", metadata={"ticket": "7"})
    made.branch().transact([Put("m", entry(30))], message="main's")
    repo.create_branch("work", "main")
    repo.merge("dev", "work", message="merged")
    return made


@pytest.fixture
def repo(world: World) -> Repository:
    """The repository."""
    return world.graveler().repository("repo")


TEN = {f"k{n}": n for n in range(10)}
DEVS = {f"k{n}": n for n in range(10) if n != 1} | {"a": 20}


class TestCherryPick:
    """One commit, repeated elsewhere."""

    def test_it_keeps_message_committer_and_metadata(self, world: World, repo: Repository) -> None:
        made = repo.cherry_pick("dev", "main")
        assert (made.message, made.committer, dict(made.metadata)) == ("dev's", "ann", {"ticket": "7"})
        assert made.parents == (repo.commit("main~1").id,)
        assert at_head(world) == DEVS | {"m": 30}

    def test_unless_others_are_given(self, repo: Repository) -> None:
        made = repo.cherry_pick("dev", "main", message="picked", committer="bob")
        assert (made.message, made.committer, dict(made.metadata)) == ("picked", "bob", {"ticket": "7"})

    @pytest.mark.parametrize(("message", "committer"), [("again", ""), ("", "bob")])
    def test_on_its_own_base_too(self, repo: Repository, message: str, committer: str) -> None:
        """No fast-forward, which would keep the old words."""
        branch = repo.create_branch("same", "dev~1")
        made = repo.cherry_pick("dev", "same", message=message, committer=committer)
        assert (made.message, made.committer) == (message or "dev's", committer or "ann")
        assert branch.record().commit_id == made.id != repo.commit("dev").id

    def test_twice(self, world: World, repo: Repository) -> None:
        repo.cherry_pick("dev", "main")
        with pytest.raises(NoChanges):
            repo.cherry_pick("dev", "main")
        assert messages(world) == ["dev's", "main's", "begin"]

    @pytest.mark.parametrize(("mainline", "brought"), [(1, {"a": 20}), (2, {"m": 30})])
    def test_a_merge_commit(self, repo: Repository, mainline: int, brought: dict[str, int]) -> None:
        """What it brought to the parent that is called its mainline."""
        branch = repo.create_branch("target", "main~1")
        repo.cherry_pick("work", "target", mainline=mainline)
        held = {item.path for item in branch.list()}
        assert held == set(TEN) - ({"k1"} if mainline == 1 else set()) | set(brought)

    @pytest.mark.parametrize(("ref", "mainline"), [("dev", 2), ("work", 3), ("work", 0), ("work", -1)])
    def test_no_such_mainline(self, world: World, repo: Repository, ref: str, mainline: int) -> None:
        """Also where the commit stands on the branch's very head."""
        for onto in ("main", "dev"):
            with pytest.raises(InvalidInput, match=", and no parent number"):
                repo.cherry_pick(ref, onto, mainline=mainline)
        repo.create_branch("base", "dev~1")
        with pytest.raises(InvalidInput, match=", and no parent number"):
            repo.cherry_pick(ref, "base", mainline=mainline)


class TestRevert:
    """One commit, undone."""

    def test_it_undoes_one_commit_and_no_other(self, world: World, repo: Repository) -> None:
        repo.merge("dev", "main", message="merged")
        repo.revert("dev", "main")
        assert at_head(world) == TEN | {"m": 30}

    def test_its_message_names_the_commit(self, repo: Repository) -> None:
        commit = repo.commit("main")
        made = repo.revert("main", "main", committer="bob")
        assert made.message == f'Revert "main\'s"\n\nThis reverts commit {commit.id}.'
        assert made.committer == "bob"
        assert repo.revert("main", "main", message="back").message == "back"

    def test_a_long_message_is_not_repeated(self, world: World, repo: Repository) -> None:
        """Else the revert of the longest message that is allowed would have one that is not."""
        world.branch().transact([Put("x", entry(1))], message="é" * 15_990 + "\nmore")
        assert len(repo.revert("main", "main").message) < 400
        world.branch().transact([Put("x", entry(1))], message="first line\nsecond line")
        assert repo.revert("main", "main").message.startswith('Revert "first line"\n\nThis reverts')

    def test_a_revert_of_a_revert_restores(self, world: World, repo: Repository) -> None:
        repo.cherry_pick("dev", "main")
        tree = repo.at("main@").tree_id()
        first = repo.revert("main", "main")
        assert at_head(world) == TEN | {"m": 30}
        second = repo.revert(first.id, "main")
        assert repo.at("main@").tree_id() == tree
        assert second.message.startswith('Revert "Revert "dev\'s""')

    @pytest.mark.parametrize(("mainline", "left"), [(1, TEN | {"m": 30}), (2, DEVS)])
    def test_a_merge_commit(self, repo: Repository, mainline: int, left: dict[str, int]) -> None:
        repo.revert("work", "work", mainline=mainline)
        assert [item.path for item in repo.branch("work").list()] == sorted(left)

    def test_what_was_changed_since_is_a_conflict(self, world: World, repo: Repository) -> None:
        branch = world.branch()
        branch.transact([update(branch, "m", 31)], message="since")
        with pytest.raises(Conflict) as raised:
            repo.revert("main~1", "main")
        assert [conflict.path for conflict in raised.value.details["conflicts"]] == ["m"]
        assert messages(world) == ["since", "main's", "begin"]

    def test_what_was_undone_already(self, repo: Repository) -> None:
        repo.revert("main", "main")
        with pytest.raises(NoChanges):
            repo.revert("main~1", "main")

    def test_what_was_never_done_here(self, repo: Repository) -> None:
        """A commit that would be next on the branch is neither undone nor brought in."""
        branch = repo.create_branch("base", "dev~1")
        with pytest.raises(NoChanges):
            repo.revert("dev", "base")
        assert branch.record().commit_id == repo.commit("dev~1").id

    def test_a_root_commit(self, repo: Repository) -> None:
        root = list(repo.log("main"))[-1]
        with pytest.raises(InvalidInput, match="has 0 parents"):
            repo.revert(root.id, "main")
