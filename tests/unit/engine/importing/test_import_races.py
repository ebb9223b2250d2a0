"""Imports while others work on the branch, when answers are lost, and when the process dies."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from graveler_core.errors import DirtyBranch, GravelerError, InvalidInput, Kind, NoChanges, NotFound, OutcomeUnknown
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Store
from graveler_core.model.operations import Put
from graveler_core.testing.faulty_store import Fault, LoseAnswer, LoseRequest
from graveler_core.testing.invariants import check_history, check_layers
from tests.examples import places
from tests.unit.engine.flows import table
from tests.unit.engine.importing.sources import lake, shown
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.races import Interrupted, failing_swap
from tests.unit.engine.ten_keys import messages
from tests.unit.engine.world import World, entry

FILES = {f"f/{n:02}": b"." * n for n in range(20)}
HELD = {f"d/{key}": len(data) for key, data in FILES.items()}


@pytest.fixture
def world() -> World:
    made = World()
    made.repository()
    made.branch().stage_many(table({f"b/{n:02}": n for n in range(20)}))
    made.branch().commit("base")
    return made


def repo(world: World, kv: Store | None = None) -> Repository:
    return world.graveler(kv).repository("repo")


def sound(world: World) -> None:
    """Every commit is what it says; no layer is listed twice."""
    check_history(world.stores(), repo(world)._active())
    check_layers(world.stores(), repo(world)._active())


class TestOthersBetween:
    """Others get through just before the swap."""

    def race(self, world: World, *others: Callable[[Branch], object], mode: str = "add") -> Interrupted:
        kv = Interrupted(world.kv, *[lambda other=other: other(world.branch()) for other in others])
        done = repo(world, kv).import_prefix(lake(FILES), "main", "d", mode=mode, message="import")
        sound(world)
        assert done.commit == repo(world).commit("main")
        return kv

    @pytest.mark.parametrize("mode", ["add", "replace"])
    def test_commits_of_other_paths(self, world: World, mode: str) -> None:
        """What was built is carried over."""

        def few(branch: Branch) -> None:
            branch.stage("other", entry(5))
            branch.commit("few")

        def many(branch: Branch) -> None:
            branch.stage_many(table({f"more/{n:02}": n for n in range(30)}))
            branch.remove_prefix("b/1")
            branch.commit("many")

        kv = self.race(world, few, many, mode=mode)
        assert kv.met == 3
        assert messages(world) == ["import", "many", "few", "base"]
        kept = {f"b/{n:02}": n for n in range(10)} | {f"more/{n:02}": n for n in range(30)}
        assert shown(world) == dict(sorted((HELD | kept | {"other": 5}).items()))

    def test_commits_of_its_own_paths_come_first(self, world: World) -> None:
        def own(branch: Branch) -> None:
            branch.stage_many(table({"d/f/03": 77, "d/more": 7}))
            branch.commit("own")

        self.race(world, own)
        assert shown(world, prefix="d/") == HELD | {"d/more": 7}

    def test_what_it_replaces_is_what_stands_then(self, world: World) -> None:
        def own(branch: Branch) -> None:
            branch.stage_many(table({"d/f/03": 77, "d/more": 7}))
            branch.commit("own")

        self.race(world, own, mode="replace")
        assert shown(world, prefix="d/") == HELD

    def test_compactions_and_layers(self, world: World) -> None:
        def compacted(branch: Branch) -> None:
            branch.stage_many(table({"e/1": 1, "e/2": 2}))
            branch.compact()

        self.race(world, compacted, lambda branch: branch.stage_many(table({"g": 1})), lambda b: b.remove_prefix("h/"))
        assert {change.path for change in world.branch().uncommitted()} == {"e/1", "e/2", "g"}
        world.branch().commit("rest")
        assert shown(world) == dict(
            sorted((HELD | {"e/1": 1, "e/2": 2, "g": 1} | {f"b/{n:02}": n for n in range(20)}).items())
        )

    def test_what_is_staged_on_its_paths_meanwhile(self, world: World) -> None:
        with pytest.raises(DirtyBranch, match="the first is 'd/f/03'"):
            self.race(world, lambda branch: branch.stage_many(table({f"d/f/{n:02}": 1 for n in range(3, 9)})))

    def test_a_branch_made_anew(self, world: World) -> None:
        """The head is what counts."""
        repo(world).create_branch("side", "main")

        def anew() -> None:
            repo(world).delete_branch("side")
            repo(world).create_branch("side", "main~1")

        kv = Interrupted(world.kv, anew)
        repo(world, kv).import_prefix(lake(FILES), "side", "d")
        assert shown(world, "side@") == HELD

    def test_a_repository_made_anew_during_the_listing(self, world: World) -> None:
        def anew(more: int) -> None:
            world.graveler().delete_repository("repo")
            world.graveler().create_repository("repo", world.namespace("elsewhere"))

        with pytest.raises(NotFound, match="another repository has its name"):
            repo(world).import_prefix(lake(FILES), "main", progress=anew)
        assert shown(world) == {}

    def test_a_namespace_in_the_source(self, world: World) -> None:
        """Others create a repository there between listing and swap, and the swap is lost."""
        uri = lake(FILES)

        def claimed() -> None:
            world.graveler().create_repository("inner", f"{uri}/inside")
            world.branch().stage_many(table({"z": 1}))

        kv = Interrupted(world.kv, claimed)
        with pytest.raises(InvalidInput) as refused:
            repo(world, kv).import_prefix(uri, "main")
        assert refused.value.kind is Kind.NamespaceInUse


class TestLostAnswers:
    """The swap's answer does not come."""

    @pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest()])
    def test_it_is_found_out(self, world: World, fault: Fault) -> None:
        kv = failing_swap(world.kv, fault)
        done = repo(world, kv).import_prefix(lake(FILES), "main", "d")
        assert done.commit == repo(world).commit("main")
        assert messages(world)[1:] == ["base"]

    def test_or_said_to_be_unknown_and_then_found(self, world: World) -> None:
        uri = lake(FILES)
        kv = failing_swap(world.kv, *[LoseAnswer()] * 10)
        again = repo(world)
        try:
            repo(world, kv).import_prefix(uri, "main", "d", idempotency_key="k")
        except OutcomeUnknown:
            assert messages(world)[0].startswith("Import")
        done = again.import_prefix(uri, "main", "d", idempotency_key="k")
        assert done.commit == repo(world).commit("main")
        assert len(messages(world)) == 2


class TestRepeated:
    """One key, one commit."""

    def test_a_later_call_gives_the_commit(self, world: World) -> None:
        uri = lake(FILES)
        first = repo(world).import_prefix(uri, "main", "d", idempotency_key="k")
        world.branch().stage("x", entry(1))
        world.branch().commit("later")
        lake({"new": b"1"}, uri)
        again = repo(world).import_prefix(uri, "main", "d", idempotency_key="k")
        assert again.commit == first.commit
        assert (again.changes, again.objects) == (None, 0)
        assert "d/new" not in shown(world)

    def test_the_other_call_came_first(self, world: World) -> None:
        uri = lake(FILES)
        made = []

        def other() -> None:
            made.append(repo(world).import_prefix(uri, "main", "d", idempotency_key="k"))

        kv = Interrupted(world.kv, other)
        mine = repo(world, kv).import_prefix(uri, "main", "d", idempotency_key="k")
        assert mine.commit == made[0].commit
        assert mine.changes is None
        assert len(messages(world)) == 2

    def test_both_at_once(self, world: World) -> None:
        uri = lake(FILES)
        barrier = threading.Barrier(4)

        def call(_: int) -> object:
            g = Graveler(world.stores())
            barrier.wait()
            return g.repository("repo").import_prefix(uri, "main", "d", idempotency_key="k").commit

        with ThreadPoolExecutor(4) as pool:
            commits = set(pool.map(call, range(4)))
        assert commits == {repo(world).commit("main")}
        assert len(messages(world)) == 2

    def test_beside_threads_that_commit(self, world: World) -> None:
        """Nobody's work is lost, whoever wins which swap."""

        def committer(name: str) -> None:
            branch = world.branch()
            for n in range(6):
                branch.transact([Put(f"{name}/{n}", entry(n))], message=f"{name} {n}")

        def importer(name: str) -> None:
            for n in range(3):
                uri = lake({f"{k:02}": b"." * (k + n) for k in range(10 + n)})
                repo(world).import_prefix(uri, "main", name, mode="replace", message=f"{name} {n}")

        with ThreadPoolExecutor(4) as pool:
            work = [
                pool.submit(act, name)
                for act, name in ((committer, "c"), (committer, "e"), (importer, "i"), (importer, "j"))
            ]
            for done in work:
                done.result()
        held = {f"{name}/{n}": n for name in "ce" for n in range(6)}
        held |= {f"{name}/{k:02}": k + 2 for name in "ij" for k in range(12)}
        assert shown(world) == dict(sorted((held | {f"b/{n:02}": n for n in range(20)}).items()))
        assert len(messages(world)) == 1 + 12 + 6
        sound(world)

    def test_without_a_key_the_second_finds_nothing_to_do(self, world: World) -> None:
        uri = lake(FILES)
        kv = Interrupted(world.kv, lambda: repo(world).import_prefix(uri, "main", "d"))
        with pytest.raises(NoChanges):
            repo(world, kv).import_prefix(uri, "main", "d")
        assert len(messages(world)) == 2


@pytest.mark.parametrize("mode", ["add", "replace"])
def test_a_crash_at_each_call_and_again(world: World, mode: str) -> None:
    """Readable at any time: before, or after; the same call again completes it, with one commit."""
    world.branch().stage_many(table({"e/1": 1}))
    world.branch().compact()
    world.branch().stage("d-", entry(2))
    uri = lake(FILES)
    before = shown(world)
    for number in places(1_000):
        part = world.fork()
        kv = Interposed(part.kv)
        kv.before[number] = lambda: (_ for _ in ()).throw(Crash)
        try:
            repo(part, kv).import_prefix(uri, "main", "d", mode=mode, idempotency_key="k")
        except Crash:
            assert shown(part) in (before, before | HELD)
            done = repo(part).import_prefix(uri, "main", "d", mode=mode, idempotency_key="k")
            assert done.commit == repo(part).commit("main")
            assert len(messages(part)) == 2
            assert {change.path for change in part.branch().uncommitted()} == {"e/1", "d-"}
            sound(part)
        else:
            assert number > 10
            return
    pytest.fail("the flow makes more calls")


def test_a_store_that_fails_at_each_call(world: World) -> None:
    """Refused whole, or done, or unknown: never half."""
    uri = lake(FILES)
    before = shown(world)
    for number in places(1_000):
        part = world.fork()
        kv = Interposed(part.kv)
        kv.lose[number] = number // 2 % 2 == 0
        try:
            repo(part, kv).import_prefix(uri, "main", "d")
        except GravelerError:
            assert shown(part) in (before, dict(sorted((before | HELD).items())))
        else:
            assert shown(part) == dict(sorted((before | HELD).items()))
        sound(part)
        if number > len(kv.verbs):
            return
    pytest.fail("the flow makes more calls")
