"""The log of references, rules of protection and the read-only flag go where the repository goes."""

from __future__ import annotations

import pytest

from graveler_core.engine.references.events import fold
from graveler_core.errors import CorruptData, Kind, PermissionDenied
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Store
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.testing.plain_store import PlainStore
from graveler_core.transfer.format import RowKind as Rows
from tests.examples import places
from tests.golden.history import NAME
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World, entry
from tests.unit.transfer.moves import Original, bare, content, elsewhere, fresh_uri, require_alike
from tests.unit.transfer.test_damaged_dumps import count


@pytest.fixture
def world(made: Original) -> World:
    """A copy of the original."""
    return elsewhere(made, made.world.fork().kv)


def repo_of(world: World, kv: Store | None = None) -> Repository:
    return world.graveler(kv).repository(NAME)


def restored(made: Original, uri: str) -> tuple[World, Repository]:
    world = elsewhere(made)
    bare(world).restore_refs(uri)
    return world, repo_of(world)


def test_what_the_original_has(made: Original) -> None:
    """Rows of every kind but foreign commits and erasures, so the tests of damage meet them all."""
    others = {Rows.FOREIGN, Rows.ERASURE, Rows.ERASED, Rows.END}
    assert {kind for kind in Rows if count(made, kind)} == set(Rows) - others


def test_a_branch_that_was_deleted_before_the_dump_comes_back(made: Original, kv: Store) -> None:
    """Whether its deletion is logged or waits."""
    world = elsewhere(made, kv)
    bare(world).restore_refs(made.dumped.uri)
    head = made.repo.commit("main").id
    for name in ("lost-0", "lost-3", "lost"):
        repo_of(world).undelete_branch(name)
        assert repo_of(world).commit(name).id == head
    assert not [finding for finding in repo_of(world).fsck(deep=True) if finding.damage]


def test_the_log_goes_on(made: Original) -> None:
    """What is folded and deleted in the restored repository joins what came with the dump."""
    world, repo = restored(made, made.dumped.uri)
    before = list(repo.reflog())
    assert fold(world.stores(), repo._record) > 0
    assert list(repo_of(world).reflog()) == before
    side = repo_of(world).commit("side").id
    repo_of(world).delete_branch("side")
    newest, *others = repo_of(world).reflog()
    assert (newest.name, newest.kind, newest.before) == ("side", "deleted", side)
    assert [event for event in others if event.name != "side"] == [event for event in before if event.name != "side"]
    fold(world.stores(), repo._record)
    repo_of(world).undelete_branch("side")
    assert repo_of(world).commit("side").id == side
    again = repo_of(world).dump_refs(fresh_uri())
    there, back = restored(made, again.uri)
    assert list(back.reflog()) == list(repo_of(world).reflog())
    assert content(there, back.dump_refs(fresh_uri()).uri) == content(world, again.uri)


def test_a_repository_without_a_log(made: Original) -> None:
    """It has rows of none of the kinds, and what its records remember is the reflog."""
    world = elsewhere(made)
    repo = world.graveler().create_repository("other", world.namespace("other"), ephemeral=True)
    repo.branch("main").stage("a", entry(1))
    repo.branch("main").commit("a")
    dumped = repo.dump_refs(fresh_uri())
    there = elsewhere(made)
    back = there.graveler().create_bare_repository("back", world.namespace("other"), adopt=True, ephemeral=True)
    back.restore_refs(dumped.uri)
    assert access.read(there.kv, keys.reference_log(back._record)) is None
    assert list(back.reflog("main")) == list(repo.reflog("main"))
    assert len(list(back.reflog("main"))) == 2


class TestMeanwhile:
    def test_references_come_and_go(self, made: Original) -> None:
        """At any moment of a dump: what it calls deleted does not stand, and deletions there are logged once."""
        calls = 0
        for number in places(80):
            world = elsewhere(made, made.world.fork().kv)
            kv = Interposed(world.kv)

            def others(world: World = world) -> None:
                repo = repo_of(world)
                repo.delete_branch("side")
                repo.delete_tag("v1")
                repo.create_branch("late", "main")
                fold(world.stores(), repo._record)

            kv.before[number] = others
            uri = repo_of(world, kv).dump_refs(fresh_uri()).uri
            if kv.before:
                calls = number
                break
            there, back = restored(made, uri)
            stands = {branch.id for branch in back.branches()} | {tag.id for tag in back.tags()}
            newest = {event.name: event.kind for event in reversed(list(back.reflog()))}
            assert not [name for name in stands if newest.get(name) == "deleted"]
            assert set(newest) >= {"lost", "lost-0", "lost-3"}
            assert fold(there.stores(), back._record) >= 0
            if "side" in stands:
                head = back.commit("side").id
                back.delete_branch("side")
                back.undelete_branch("side")
                assert back.commit("side").id == head
            assert not [finding for finding in repo_of(there).fsck() if finding.damage]
        assert calls > 15

    def test_an_intent_that_came_to_nothing(self, made: Original, world: World) -> None:
        """Somebody was about to delete a branch, and died: it stands, in the restored repository too."""
        kv, probe = Interposed(world.kv), Interposed(world.fork().kv)
        repo_of(world, probe).delete_branch("side")
        kv.fail[probe.verbs.index("delete_if")] = Crash()
        with pytest.raises(Crash):
            repo_of(world, kv).delete_branch("side")
        there, back = restored(made, repo_of(world).dump_refs(fresh_uri()).uri)
        fold(there.stores(), back._record)
        assert [event for event in repo_of(there).reflog("side") if event.kind == "deleted"] == []
        back.branch("side").stage("x", entry(1))
        head = back.branch("side").commit("later").id
        back.delete_branch("side")
        back.undelete_branch("side")
        assert back.commit("side").id == head

    def test_a_fold_changes_bytes_and_says_the_same(self, made: Original, world: World) -> None:
        assert fold(world.stores(), repo_of(world)._record) > 0
        _, back = restored(made, repo_of(world).dump_refs(fresh_uri()).uri)
        require_alike(made, back)


class TestDamagedLog:
    def test_it_is_told_and_mended(self, made: Original, world: World) -> None:
        where = keys.reference_log(repo_of(world)._record)
        held = access.read(world.kv, where)
        assert held is not None
        commit = keys.internal_history(repo_of(world)._record).headers.at(held.value.commit_id)
        world.kv.delete(commit.partition, commit.key)
        uri = fresh_uri()
        with pytest.raises(CorruptData, match="the log of references refers to it") as caught:
            repo_of(world).dump_refs(uri)
        assert caught.value.kind is Kind.CorruptCommit
        assert repo_of(world).mend_reflog()
        _, back = restored(made, repo_of(world).dump_refs(uri).uri)
        assert list(back.reflog()) == list(repo_of(world).reflog())

    def test_a_commit_of_a_fold_that_lost_is_left_out(self, made: Original, world: World) -> None:
        """On a store that writes the commit before the swap."""
        forked = world.fork()
        kv, probe = Interposed(world.kv), Interposed(forked.kv)
        fold(forked.stores(PlainStore(probe)), repo_of(world)._record)
        kv.fail[probe.verbs.index("set_if")] = Crash()
        with pytest.raises(Crash):
            fold(world.stores(PlainStore(kv)), repo_of(world)._record)
        assert content(world, repo_of(world).dump_refs(fresh_uri()).uri) == made.data


class TestReadOnly:
    def test_it_is_restored_with_the_last_swap(self, made: Original, world: World, kv: Store) -> None:
        repo_of(world).set_read_only(True)
        dumped = repo_of(world).dump_refs(fresh_uri())
        there = elsewhere(made, kv)
        back = bare(there)
        for _ in range(2):
            assert back.restore_refs(dumped.uri).repository.read_only
        require_alike(made, back)
        with pytest.raises(PermissionDenied):
            back.branch("main").stage("x", entry(1))
        assert content(there, back.dump_refs(fresh_uri()).uri) == content(world, dumped.uri)

    def test_a_bare_one_that_is_made_so_meanwhile(self, made: Original) -> None:
        world = elsewhere(made)
        repo = bare(world)
        probe = elsewhere(made)
        bare(probe)
        counted = Interposed(probe.kv)
        repo_of(probe, counted).restore_refs(made.dumped.uri)
        kv = Interposed(world.kv)
        kv.before[counted.verbs.index("set_many")] = lambda: repo.set_read_only(True)
        with pytest.raises(PermissionDenied):
            repo_of(world, kv).restore_refs(made.dumped.uri)
        assert repo_of(world)._record.bare
        repo.set_read_only(False)
        repo_of(world).restore_refs(made.dumped.uri)
        require_alike(made, repo_of(world))

    def test_rules_of_the_bare_one_make_place(self, made: Original) -> None:
        world = elsewhere(made)
        bare(world).protect("dev")
        repo_of(world).restore_refs(made.dumped.uri)
        assert repo_of(world).protection() == made.repo.protection()
