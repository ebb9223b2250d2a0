"""Branches and tags: created once, deleted as read, never taking a later one's data with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest

from graveler_core.errors import CorruptData, InvalidInput, Kind, NotFound, NotUnique
from graveler_core.facade.repository import Repository
from graveler_core.model import past
from graveler_core.model.ids import BranchId
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World, entry


@pytest.fixture
def repo(world: World) -> Repository:
    return world.graveler().repository("repo")


def deletion_lost(world: World, others: Callable[[], object]) -> None:
    """Delete the tag v1. Others act before the deletion reaches the store, and the reply is lost."""
    rehearsal = Interposed(world.fork().kv)
    world.graveler(rehearsal).repository("repo").delete_tag("v1")
    delete = rehearsal.verbs.index("delete_if")
    kv = Interposed(world.kv)
    kv.before[delete] = others
    kv.lose[delete] = False
    world.graveler(kv).repository("repo").delete_tag("v1")


class TestBranches:
    @pytest.mark.parametrize("order_by", ["id", "commit_id"])
    def test_damaged_records_are_left_out_or_raised(
        self, world: World, repo: Repository, order_by: Literal["id", "commit_id"]
    ) -> None:
        for name in ("a", "b", "c"):
            repo.create_branch(name, "main")
        where = keys.branch(repo._record, BranchId("b"))
        world.kv.set(where.partition, where.key, b"junk")
        damaged: list[CorruptData] = []
        found = repo.branches(order_by=order_by, damaged=damaged.append)
        assert [branch.id for branch in found] == ["a", "c", "main"]
        assert [error.details["record"] for error in damaged] == ["b"]
        with pytest.raises(CorruptData, match=where.name):
            list(repo.branches(order_by=order_by))

    def test_created_at_what_a_ref_names(self, repo: Repository) -> None:
        main = repo.branch("main")
        main.stage("a", entry(1))
        first = main.commit("1")
        main.stage("a", entry(2))
        main.commit("2")
        main.stage("a", entry(3))
        repo.create_tag("v1", first.id)
        for name, source, size in [("b1", "main", 2), ("b2", "main~1", 1), ("b3", "v1", 1), ("b4", first.id[:10], 1)]:
            assert repo.create_branch(name, source).get("a").size == size

    @pytest.mark.parametrize("source", ["nobody", "main~9", "main^2", "ffffffff"])
    def test_unknown_sources(self, repo: Repository, source: str) -> None:
        with pytest.raises(NotFound) as caught:
            repo.create_branch("dev", source)
        assert caught.value.kind is Kind.RefNotFound
        assert [branch.id for branch in repo.branches()] == ["main"]

    @pytest.mark.parametrize("name", ["", "a/b", "int", "a..b", "-a", ".a", "a b", "ä", "a~1", "a$"])
    def test_bad_names(self, repo: Repository, name: str) -> None:
        calls: list[Callable[[str], object]] = [
            lambda n: repo.create_branch(n, "main"),
            lambda n: repo.create_tag(n, "main"),
            repo.delete_branch,
            repo.delete_tag,
            repo.branch,
            lambda n: repo.merge("main", into=n),
        ]
        for call in calls:
            with pytest.raises(InvalidInput) as caught:
                call(name)
            assert caught.value.kind is Kind.InvalidName
            assert repr(name) in caught.value.message

    def test_a_name_is_a_branch_or_a_tag(self, repo: Repository) -> None:
        repo.create_tag("v1", "main")
        with pytest.raises(NotUnique) as caught:
            repo.create_branch("v1", "main")
        assert caught.value.kind is Kind.TagExists
        with pytest.raises(NotUnique) as caught:
            repo.create_tag("main", "main")
        assert caught.value.kind is Kind.BranchExists
        with pytest.raises(NotUnique) as caught:
            repo.create_branch("main", "main")
        assert caught.value.kind is Kind.BranchExists
        with pytest.raises(NotUnique) as caught:
            repo.create_tag("v1", "main")
        assert caught.value.kind is Kind.TagExists

    def test_the_default_branch_stays(self, repo: Repository) -> None:
        with pytest.raises(InvalidInput) as caught:
            repo.delete_branch("main")
        assert caught.value.kind is Kind.DefaultBranch
        assert repo.branch("main").record()

    def test_deletion_takes_what_is_staged_and_leaves_commits(self, world: World, repo: Repository) -> None:
        dev = repo.create_branch("dev", "main")
        dev.stage("a", entry(1))
        made = dev.commit("on dev")
        dev.stage("b", entry(2))
        token = dev.record().staging_token
        repo.delete_branch("dev")
        assert list(world.kv.scan(token.encode())) == []
        assert repo.at(made.id).get("a").size == 1
        with pytest.raises(NotFound) as caught:
            dev.get("a")
        assert caught.value.kind is Kind.BranchNotFound
        with pytest.raises(NotFound):
            repo.delete_branch("dev")

    def test_a_lost_deletion_of_a_branch_that_moved_tears_nothing_down(self, world: World, repo: Repository) -> None:
        """The reply is lost, the branch has a new record of the same uid: it was not deleted, so nothing is emptied."""
        dev = repo.create_branch("dev", "main")
        rehearsal = Interposed(world.fork().kv)
        world.graveler(rehearsal).repository("repo").delete_branch("dev")
        delete = rehearsal.verbs.index("delete_if")
        kv = Interposed(world.kv)
        found: list[int] = []

        def others() -> None:
            # The token was empty, so it stays, under a new record.
            dev.remove_prefix("nothing/")
            dev.stage("b", entry(2))

        kv.before[delete] = others
        kv.lose[delete] = False
        kv.before[delete + 3] = lambda: found.append(dev.get("b").size)
        world.graveler(kv).repository("repo").delete_branch("dev")
        assert found == [2]


class TestTags:
    def test_a_tag_stays_where_it_is(self, repo: Repository) -> None:
        main = repo.branch("main")
        main.stage("a", entry(1))
        first = main.commit("1")
        tag = repo.create_tag("v1", "main", message="first", signature="sig")
        assert (tag.commit_id, tag.message, tag.signature) == (first.id, "first", "sig")
        main.stage("a", entry(2))
        main.commit("2")
        assert repo.at("v1").get("a").size == 1
        assert list(repo.tags()) == [tag]

    def test_deleted_and_created_elsewhere(self, repo: Repository) -> None:
        repo.create_tag("v1", "main")
        repo.delete_tag("v1")
        with pytest.raises(NotFound) as caught:
            repo.delete_tag("v1")
        assert caught.value.kind is Kind.TagNotFound
        with pytest.raises(NotFound):
            repo.at("v1")
        repo.create_tag("v1", "main")

    @pytest.mark.parametrize("assignments", [0, past.MOST_MOVES])
    @pytest.mark.parametrize("known", [True, False], ids=["created", "without creation"])
    def test_a_lost_deletion_of_a_tag_that_was_assigned_is_tried_again(
        self, world: World, repo: Repository, known: bool, assignments: int
    ) -> None:
        """The reply is lost, and the tag has a later record: it was not deleted."""
        heads = [repo.branch("main").commit(str(number), allow_empty=True).id for number in range(2)]
        made = repo.create_tag("v1", heads[0])
        if not known:
            access.write(world.kv, keys.tag(repo._record, made.id), made.model_copy(update={"past": ""}))
        for number in range(assignments):
            repo.assign_tag("v1", heads[(number + 1) % 2], expected=heads[number % 2])
        deletion_lost(world, lambda: repo.assign_tag("v1", heads[1], expected=heads[0]))
        assert list(repo.tags()) == []

    def test_a_lost_deletion_of_a_tag_leaves_another_one_with_its_name(self, world: World, repo: Repository) -> None:
        repo.create_tag("v1", "main")

        def others() -> None:
            repo.delete_tag("v1")
            repo.create_tag("v1", "main")

        deletion_lost(world, others)
        assert [tag.id for tag in repo.tags()] == ["v1"]

    def test_what_is_staged_cannot_be_tagged(self, repo: Repository) -> None:
        with pytest.raises(InvalidInput) as caught:
            repo.create_tag("v1", "main$")
        assert caught.value.kind is Kind.InvalidRef

    def test_listed_in_order(self, repo: Repository) -> None:
        for name in ("b", "a", "c.1", "B", "_"):
            repo.create_tag(name, "main")
        assert [tag.id for tag in repo.tags()] == ["B", "_", "a", "b", "c.1"]
        assert [tag.id for tag in repo.tags(prefix="c")] == ["c.1"]
        assert [tag.id for tag in repo.tags(after="_", limit=2)] == ["a", "b"]
