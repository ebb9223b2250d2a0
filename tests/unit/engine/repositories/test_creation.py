"""Repositories from creation to deletion: seen whole or not at all, whatever crashes and whoever else creates."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest

from graveler_core.errors import (
    Conflict,
    CorruptData,
    GravelerError,
    InvalidInput,
    Kind,
    LimitExceeded,
    NotFound,
    NotUnique,
)
from graveler_core.facade.graveler import Graveler
from graveler_core.model.entities import DeletedState, RepositoryState
from graveler_core.model.ids import RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World, entry

NAME = RepositoryId("repo")


@pytest.fixture
def world() -> World:
    """Nothing in it yet."""
    return World()


@pytest.fixture
def g(world: World) -> Graveler:
    return world.graveler()


def names(world: World) -> list[str]:
    return [repo.id for repo in world.graveler().list_repositories()]


def claims(world: World) -> list[str]:
    return [uri for uri, _ in access.scan(world.kv, keys.NAMESPACES)]


def rows(world: World) -> dict[bytes, dict[bytes, bytes]]:
    """All that the store holds."""
    partitions = (keys.GRAVELER, keys.DELETED)
    return {p: {row.key: row.value for row in world.kv.scan(p)} for p in partitions}


class TestCreate:
    def test_what_it_makes(self, world: World, g: Graveler) -> None:
        repo = g.create_repository("repo", world.namespace() + "/./x/", default_branch="trunk", committer="me")
        assert (repo.id, repo.default_branch, repo.storage_namespace) == ("repo", "trunk", world.namespace("data/x"))
        (first,) = repo.log("trunk")
        assert (first.message, first.committer, first.parents) == ("Repository created", "me", ())
        assert list(repo.branch("trunk").list()) == []
        assert [branch.id for branch in repo.branches()] == ["trunk"]
        held = repositories.find(world.kv, NAME)
        assert held is not None
        assert held.value.state is RepositoryState.ACTIVE

    def test_a_bare_one_has_no_branch(self, world: World, g: Graveler) -> None:
        repo = g.create_bare_repository("repo", world.namespace())
        assert list(repo.branches()) == []
        with pytest.raises(NotFound) as caught:
            repo.branch("main")
        assert caught.value.kind is Kind.BranchNotFound

    def test_names_are_taken_once(self, world: World, g: Graveler) -> None:
        g.create_repository("repo", world.namespace())
        before = rows(world)
        with pytest.raises(NotUnique) as caught:
            g.create_repository("repo", world.namespace("elsewhere"))
        assert caught.value.kind is Kind.RepositoryExists
        assert rows(world) == before

    @pytest.mark.parametrize("other", ["data", "data/", "data/inside/deep", "", "data/../data"])
    def test_namespaces_are_taken_once(self, world: World, g: Graveler, other: str) -> None:
        """The same, one inside it, one around it; the name stays free."""
        g.create_repository("repo", world.namespace("data"))
        before = rows(world)
        with pytest.raises((NotUnique, InvalidInput)) as caught:
            g.create_repository("second", world.namespace(other))
        assert caught.value.kind in (Kind.NamespaceInUse, Kind.InvalidNamespace)
        assert rows(world) == before
        g.create_repository("second", world.namespace("data-2"))

    def test_neighbours_are_no_overlap(self, world: World, g: Graveler) -> None:
        for name in ("data", "data2", "dat", "data-x", "more/data"):
            g.create_repository(f"repo-{name.replace('/', '-')}", world.namespace(name))
        assert len(names(world)) == 5

    @pytest.mark.parametrize(("mine", "theirs"), [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a/b", "")])
    def test_overlapping_creations_never_both_succeed(self, mine: str, theirs: str) -> None:
        for number in range(40):
            world = World()
            kv = Interposed(world.kv)
            ended: list[str] = []

            def others(world: World = world, ended: list[str] = ended) -> None:
                ended.extend(_tried(world.graveler(), world, "theirs", theirs))

            kv.before[number] = others
            ended.extend(_tried(world.graveler(kv), world, "mine", mine))
            assert len(ended) <= 1, f"before call {number} of {kv.verbs}: both succeeded"
            assert names(world) == ended
            assert len(claims(world)) == len(ended)
            if kv.before:
                break
        assert number > 5

    def test_one_name_created_at_once(self) -> None:
        for number in range(40):
            world = World()
            kv = Interposed(world.kv)

            def others(world: World = world) -> None:
                _tried(world.graveler(), world, "repo", "theirs")

            kv.before[number] = others
            mine = _tried(world.graveler(kv), world, "repo", "mine")
            assert names(world) == ["repo"]
            made = world.graveler().repository("repo").storage_namespace
            assert made == world.namespace("mine" if mine else "theirs")
            if kv.before:
                break
        assert number > 5

    @pytest.mark.parametrize(
        "bad",
        [
            {"name": "Repo"}, {"name": "a"}, {"name": "-ab"}, {"name": "a" * 64}, {"name": "a/b"}, {"name": ""},
            {"storage_namespace": "nowhere"}, {"storage_namespace": "ftp://x/y"}, {"storage_namespace": ""},
            {"storage_namespace": "file:///"}, {"storage_namespace": "s3://b/../x"}, {"storage_namespace": "memory:"},
            {"default_branch": "a/b"}, {"default_branch": "int"}, {"default_branch": ""},
            {"committer": "\ud800"}, {"committer": "c" * 40_000},
        ],
        ids=str,
    )  # fmt: skip
    def test_bad_input_changes_nothing(self, world: World, g: Graveler, bad: dict[str, str]) -> None:
        before = rows(world)
        with pytest.raises(InvalidInput):
            g.create_repository(**{"name": "repo", "storage_namespace": world.namespace()} | bad)
        assert rows(world) == before

    def test_a_namespace_too_long_for_the_store_changes_nothing(self, world: World, g: Graveler) -> None:
        before = rows(world)
        with pytest.raises(LimitExceeded):
            g.create_repository("repo", world.namespace("x" * 1_100))
        assert rows(world) == before
        g.create_repository("repo", world.namespace())

    def test_a_namespace_that_cannot_be_written_changes_nothing(self, world: World, g: Graveler) -> None:
        before = rows(world)
        with pytest.raises(GravelerError) as caught:
            g.create_repository("repo", "file:///proc/graveler")
        assert caught.value.kind in (
            Kind.BucketNotFound,
            Kind.StoreReadOnly,
            Kind.StoreUnreachable,
            Kind.PermissionDenied,
        )
        assert rows(world) == before
        g.create_repository("repo", world.namespace())


def _tried(g: Graveler, world: World, name: str, place: str) -> list[str]:
    """The names that were created."""
    with suppress(NotUnique):
        return [g.create_repository(name, world.namespace(place)).id]
    return []


class TestCrash:
    def test_a_creation_that_crashes_is_never_seen(self) -> None:
        for number in range(40):
            world = World()
            kv = Interposed(world.kv)
            kv.fail[number] = Crash()
            try:
                world.graveler(kv).create_repository("repo", world.namespace())
            except Crash:
                self.is_never_seen(world)
                self.can_be_made_elsewhere(world)
            else:
                break
        assert number > 5

    def is_never_seen(self, world: World) -> None:
        assert names(world) == []
        with pytest.raises(NotFound) as caught:
            world.graveler().repository("repo")
        assert caught.value.kind is Kind.RepositoryNotFound

    def can_be_made_elsewhere(self, world: World) -> None:
        """At once if nothing was begun; else after it was declared failed, and deleted."""
        g = world.graveler()
        if repositories.find(world.kv, NAME) is not None:
            with pytest.raises(NotUnique):
                g.create_repository("repo", world.namespace("second"))
            with pytest.raises(NotFound):
                g.delete_repository("repo")
            world.clock.sleep(121)
            with pytest.raises(NotFound) as caught:
                g.repository("repo")
            assert caught.value.kind is Kind.RepositoryDeleting
            with pytest.raises(NotFound) as caught:
                g.create_repository("repo", world.namespace("second"))
            assert caught.value.kind is Kind.RepositoryDeleting
            assert names(world) == []
            g.delete_repository("repo")
        g.create_repository("repo", world.namespace("second")).branch("main").stage("a", entry(1))

    def test_a_deletion_that_crashes_is_ended_by_the_next(self) -> None:
        for number in range(40):
            world = World()
            world.repository()
            kv = Interposed(world.kv)
            kv.fail[number] = Crash()
            try:
                world.graveler(kv).delete_repository("repo")
            except Crash:
                self.is_whole_or_deleting(world)
            else:
                break
        assert number >= 4

    def is_whole_or_deleting(self, world: World) -> None:
        g = world.graveler()
        held = repositories.find(world.kv, NAME)
        if held is not None and held.value.state is RepositoryState.ACTIVE:
            g.repository("repo").branch("main").stage("a", entry(1))
        else:
            with pytest.raises(NotFound):
                g.repository("repo")
            assert names(world) == []
        if held is not None:
            g.delete_repository("repo")
        g.create_repository("repo", world.namespace("second"))


class TestDelete:
    def test_it_is_gone_and_its_name_is_free(self, world: World, g: Graveler) -> None:
        repo = world.repository()
        main = repo.branch("main")
        main.stage("a", entry(1))
        g.delete_repository("repo")
        for call in (lambda: main.get("a"), main.record, lambda: list(main.list()), lambda: main.stage("b", entry(1)),
                     lambda: repo.at("main"), lambda: repo.branch("main"), lambda: main.commit("m"), main.reset,
                     lambda: list(repo.log("main")), lambda: repo.create_branch("dev", "main"), repo.tags,
                     repo.branches, lambda: repo.create_tag("v", "main"), lambda: main.remove_prefix("a"),
                     lambda: repo.merge("main", into="main"), lambda: main.read("a"), main.compact,
                     lambda: main.hard_reset("main"), lambda: list(repo.diff("main", "main")),
                     lambda: g.delete_repository("repo"), lambda: list(main.uncommitted()),
                     lambda: repo.delete_branch("main"), lambda: repo.delete_tag("v")):  # fmt: skip
            with pytest.raises(NotFound) as caught:
                call()
            assert caught.value.kind is Kind.RepositoryNotFound
        g.create_repository("repo", world.namespace("new"))

    def test_a_handle_shows_what_its_name_means_now(self, world: World, g: Graveler) -> None:
        repo = world.repository()
        main = repo.branch("main")
        main.put("a", b"old")
        old = main.commit("old")
        g.delete_repository("repo")
        again = g.create_repository("repo", world.namespace("new"))
        again.branch("main").put("a", b"new")
        new = again.branch("main").commit("new")
        assert main.read("a") == b"new"
        assert main.record().commit_id == new.id
        assert [commit.id for commit in repo.log("main")] == [commit.id for commit in again.log("main")]
        assert repo.merge_base("main", "main~1").id == new.parents[0]
        assert repo.at("main@").read("a") == b"new"
        with pytest.raises(NotFound):
            repo.at(old.id)

    def test_the_cleaner_finds_it_and_keeps_its_namespace_till_then(self, world: World, g: Graveler) -> None:
        uid = world.repository()._record.uid
        g.delete_repository("repo")
        left = access.read(world.kv, keys.deleted_repository(NAME, uid))
        assert left is not None
        assert left.value.state is DeletedState.DELETED
        assert left.value.repository.uid == uid
        with pytest.raises(NotUnique) as caught:
            g.create_repository("repo", world.namespace("repo"))
        assert caught.value.kind is Kind.NamespaceInUse

    def test_a_late_deletion_spares_the_next_repository(self) -> None:
        """Between any two calls of a deletion another one ends and the name is used anew."""
        for number in range(40):
            world = World()
            first = world.repository()._record.uid
            kv = Interposed(world.kv)

            def others(world: World = world) -> None:
                g = world.graveler()
                g.delete_repository("repo")
                g.create_repository("repo", world.namespace("new"))

            kv.before[number] = others
            world.graveler(kv).delete_repository("repo")
            held = repositories.find(world.kv, NAME)
            if kv.before:
                break
            # Before the first call it is the new one that is deleted; afterwards nothing of it may be touched.
            assert number <= 1 or (held is not None and held.value.state is RepositoryState.ACTIVE)
            assert access.read(world.kv, keys.deleted_repository(NAME, first)) is not None
        assert number >= 4

    @pytest.mark.parametrize("name", ["nobody", "repo2"])
    def test_unknown(self, g: Graveler, name: str) -> None:
        with pytest.raises(NotFound) as caught:
            g.delete_repository(name)
        assert caught.value.kind is Kind.RepositoryNotFound


class TestSlowCreation:
    def test_a_creation_declared_failed_does_not_come_alive(self) -> None:
        """Somebody declares it failed at each point; then it ends as a conflict, and nothing is seen."""
        outcomes: set[str] = set()
        for number in range(1, 40):
            world = World()
            kv = Interposed(world.kv)

            def others(world: World = world) -> None:
                world.clock.time += timedelta(minutes=3)
                with pytest.raises(NotFound):
                    world.graveler().repository("repo")

            kv.before[number] = others
            with suppress(Conflict):
                world.graveler(kv).create_repository("repo", world.namespace())
                outcomes.add("made")
            if kv.before:
                break
            assert names(world) == []
            assert not outcomes
        assert number > 5


class TestList:
    def test_in_order_with_prefix_after_and_limit(self, world: World, g: Graveler) -> None:
        for name in ("b-1", "a-1", "a-2", "b-2", "c-1"):
            g.create_repository(name, world.namespace(name))
        g.delete_repository("c-1")
        assert names(world) == ["a-1", "a-2", "b-1", "b-2"]
        assert [repo.id for repo in g.list_repositories(prefix="b")] == ["b-1", "b-2"]
        assert [repo.id for repo in g.list_repositories(after="a-1", limit=2)] == ["a-2", "b-1"]
        assert [page.next for page in g.list_repositories().pages(2)] == ["a-2", None]

    def test_damaged_records_are_left_out_or_raised(self, world: World, g: Graveler) -> None:
        for name in ("a-1", "a-2", "a-3"):
            g.create_repository(name, world.namespace(name))
        where = keys.repository(RepositoryId("a-2"))
        world.kv.set(where.partition, where.key, b"junk")
        damaged: list[CorruptData] = []
        assert [repo.id for repo in g.list_repositories(damaged=damaged.append)] == ["a-1", "a-3"]
        assert [error.details["name"] for error in damaged] == [where.name]
        with pytest.raises(CorruptData, match=where.name):
            list(g.list_repositories())


def test_a_write_reaches_no_earlier_repository_with_the_name(world: World, g: Graveler) -> None:
    """Another process has deleted that, so this one still knows its staging token."""
    first = g.create_repository("repo", world.namespace("first"))
    first.branch("main").put("a", b"first")
    world.graveler().delete_repository("repo")
    second = g.create_repository("repo", world.namespace("second"))
    second.branch("main").put("a", b"second")
    world.graveler().delete_repository("repo")
    restored = world.graveler().undelete_repository("repo", uid=first.uid)
    assert restored.branch("main").read("a") == b"first"
