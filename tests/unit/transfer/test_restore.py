"""Into what a dump is restored, and that it is restored whole whatever crashes and whoever else restores."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from graveler_core.errors import Conflict, CorruptData, GravelerError, InvalidInput, Kind, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.gc.sweep import SweepPlan, sweep
from graveler_core.model.ids import RepositoryId
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.transfer import restore as restoring
from graveler_core.transfer.files import dump_file
from tests.examples import places, stride
from tests.golden.history import NAME
from tests.unit.engine.interposed import WRITES, Crash, Interposed
from tests.unit.engine.world import World, entry
from tests.unit.transfer.moves import Original, bare, content, elsewhere, fresh_uri, require_alike

REPO = RepositoryId(NAME)


@pytest.fixture
def world(made: Original) -> World:
    """A bare repository beside the original's objects."""
    world = elsewhere(made)
    bare(world)
    return world


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoring, "BATCH_ROWS", 4)


def repo_of(world: World, kv: Interposed | None = None) -> Repository:
    return world.graveler(kv).repository(NAME)


def rows(world: World) -> list[tuple[bytes, bytes]]:
    """All that the repository's own partition holds."""
    repo = repositories.get(world.kv, world.clock, world.ids, REPO)
    return [(row.key, row.value) for row in world.kv.scan(keys.partition(repo))]


def other_dump(made: Original) -> str:
    world = elsewhere(made)
    world.graveler().create_repository("other", world.namespace()).create_tag("only", "main")
    return world.graveler().repository("other").dump_refs(fresh_uri()).uri


class TestRefused:
    def test_one_that_is_not_bare(self, made: Original) -> None:
        world = elsewhere(made)
        repo = world.graveler().create_repository(NAME, world.namespace())
        with pytest.raises(InvalidInput, match="is not bare"):
            repo.restore_refs(made.dumped.uri)

    def test_one_with_commits(self, made: Original, world: World) -> None:
        repo = repositories.get(world.kv, world.clock, world.ids, REPO)
        world.kv.set(keys.partition(repo), b"commits/" + b"0" * 64, b"x")
        with pytest.raises(InvalidInput, match="has commits"):
            repo_of(world).restore_refs(made.dumped.uri)

    def test_another_namespace(self, made: Original) -> None:
        world = elsewhere(made)
        repo = world.graveler().create_bare_repository(NAME, world.namespace())
        with pytest.raises(InvalidInput, match="needs _graveler/") as caught:
            repo.restore_refs(made.dumped.uri)
        assert caught.value.kind is Kind.ObjectNotFound
        assert rows(world) == []

    def test_what_is_no_dump(self, world: World) -> None:
        for uri in (fresh_uri(), "memory://dumps"):
            with pytest.raises((NotFound, InvalidInput)):
                repo_of(world).restore_refs(uri)
        assert rows(world) == []

    def test_a_second_dump(self, made: Original, world: World) -> None:
        """Whether the first one was restored or broke off."""
        kv = Interposed(world.kv)
        crash_at(kv, 12)
        with pytest.raises(Crash):
            repo_of(world, kv).restore_refs(made.dumped.uri)
        before = rows(world)
        assert before
        other = made.world.fork()
        other.graveler().repository(NAME).create_tag("more", "main")
        second = other.graveler().repository(NAME).dump_refs(fresh_uri())
        for _ in range(2):
            with pytest.raises(Conflict, match="another dump"):
                repo_of(world).restore_refs(second.uri)
            repo_of(world).restore_refs(made.dumped.uri)
        require_alike(made, repo_of(world))

    def test_a_sweep_while_it_is_bare(self, made: Original, world: World) -> None:
        repo = repositories.get(world.kv, world.clock, world.ids, REPO)
        with pytest.raises(InvalidInput, match="is bare"):
            sweep(world.stores(), repo, SweepPlan(timedelta(0), alone=True))

    def test_a_dump_of_it(self, world: World) -> None:
        with pytest.raises(InvalidInput, match="nothing to dump"):
            repo_of(world).dump_refs(fresh_uri())


def crash_at(kv: Interposed, number: int) -> None:
    """Die instead of call `number`."""
    kv.fail[number] = Crash()


def each_call(made: Original, act: Callable[[World, Interposed, int], None]) -> None:
    """Act at each call of a restoration, every day at some of them."""
    whole = elsewhere(made)
    bare(whole)
    counted = Interposed(whole.kv)
    repo_of(whole, counted).restore_refs(made.dumped.uri)
    calls = len(counted.verbs)
    assert calls > 15
    for number in places(calls):
        world = elsewhere(made)
        bare(world)
        act(world, Interposed(world.kv), number)


class TestCrash:
    def test_again_after_a_crash_anywhere(self, made: Original) -> None:
        def act(world: World, kv: Interposed, number: int) -> None:
            crash_at(kv, number)
            with pytest.raises(Crash):
                repo_of(world, kv).restore_refs(made.dumped.uri)
            repo_of(world).restore_refs(made.dumped.uri)
            require_same_records(made, world)

        each_call(made, act)

    def test_lost_answers(self, made: Original) -> None:
        """A call whose answer is lost fails or not; again, it completes."""

        def act(world: World, kv: Interposed, number: int) -> None:
            kv.lose[number] = number % 2 == 0
            with suppress(GravelerError):
                repo_of(world, kv).restore_refs(made.dumped.uri)
            repo_of(world).restore_refs(made.dumped.uri)
            require_same_records(made, world)

        each_call(made, act)

    def test_half_of_it_shows_nothing(self, made: Original, world: World) -> None:
        kv = Interposed(world.kv)
        crash_at(kv, 14)
        with pytest.raises(Crash):
            repo_of(world, kv).restore_refs(made.dumped.uri)
        assert "set_many" in kv.verbs
        assert not [*repo_of(world).branches(), *repo_of(world).tags()]

    def test_nothing_changes_once_it_is_done(self, made: Original, world: World) -> None:
        first = repo_of(world).restore_refs(made.dumped.uri)
        main = repo_of(world).branch("main")
        main.stage("new", entry(3))
        main.commit("goes on")
        before = rows(world)
        again = repo_of(world).restore_refs(made.dumped.uri)
        assert replace(again, repository=first.repository) == first
        assert rows(world) == before


class TestConcurrent:
    def test_the_same_dump_twice(self, made: Original) -> None:
        def act(world: World, kv: Interposed, number: int) -> None:
            kv.before[number] = lambda: repo_of(world).restore_refs(made.dumped.uri)
            repo_of(world, kv).restore_refs(made.dumped.uri)
            require_same_records(made, world)

        each_call(made, act)

    @pytest.mark.ci
    def test_work_that_began_meanwhile_stays(self, made: Original) -> None:
        """Another restoration ends, and somebody commits: the later one takes nothing back."""

        def act(world: World, kv: Interposed, number: int) -> None:
            def others() -> None:
                repo_of(world).restore_refs(made.dumped.uri)
                main = repo_of(world).branch("main")
                main.stage("new", entry(3))
                main.commit("goes on")

            kv.before[number] = others
            repo_of(world, kv).restore_refs(made.dumped.uri)
            assert repo_of(world).at("main").get("new").size == 3
            assert not [finding for finding in repo_of(world).fsck(deep=number % 5 == 0) if finding.damage]

        each_call(made, act)

    def test_nothing_is_written_once_another_has_ended(self, made: Original) -> None:
        """But for what was under way at that moment: a branch that is deleted then may come back."""
        kept = 0

        def act(world: World, kv: Interposed, number: int) -> None:
            nonlocal kept
            found = list[list[tuple[bytes, bytes]]]()

            def others() -> None:
                repo_of(world).restore_refs(made.dumped.uri)
                repo_of(world).delete_branch("side")
                repo_of(world).delete_tag("v1")
                repo_of(world).set_thresholds(None)
                found.append(rows(world))

            kv.before[number] = others
            repo_of(world, kv).restore_refs(made.dumped.uri)
            if kv.verbs[number] not in ("set_if", "set_many"):
                kept += 1
                assert rows(world) == found[0]
            assert sum(verb in WRITES for verb in kv.verbs[number:]) <= restoring.BATCH_ROWS
            assert not [finding for finding in repo_of(world).fsck() if finding.damage]

        each_call(made, act)
        assert kept * stride() > 5

    def test_another_dump(self, made: Original) -> None:
        """One of the two is restored, and nothing of the other."""
        forked = made.world.fork()
        forked.graveler().repository(NAME).create_tag("more", "main")
        second = forked.graveler().repository(NAME).dump_refs(fresh_uri()).uri
        ended = set()

        def act(world: World, kv: Interposed, number: int) -> None:
            refused = list[str]()

            def attempt(kv: Interposed | None, uri: str) -> None:
                try:
                    repo_of(world, kv).restore_refs(uri)
                except Conflict:
                    refused.append(uri)

            kv.before[number] = lambda: attempt(None, second)
            attempt(kv, made.dumped.uri)
            assert len(refused) == 1
            tags = [tag.id for tag in repo_of(world).tags()]
            assert tags == (["v1"] if refused == [second] else ["more", "v1"])
            ended.add(refused[0])

        each_call(made, act)
        assert ended == {second, made.dumped.uri}

    def test_the_repository_is_deleted(self, made: Original) -> None:
        def act(world: World, kv: Interposed, number: int) -> None:
            kv.before[number] = lambda: world.graveler().delete_repository(NAME)
            with pytest.raises(NotFound):
                repo_of(world, kv).restore_refs(made.dumped.uri)
            assert not list(world.graveler().list_repositories())

        each_call(made, act)


def require_same_records(made: Original, world: World) -> None:
    """What is dumped again is the same."""
    assert content(world, repo_of(world).dump_refs(fresh_uri()).uri) == made.data


def exchanged(made: Original, world: World, verb: str, *, last: bool = False) -> None:
    """Restore a dump that is replaced by another one before the first or last call of a verb, and put it back."""
    uri, second = made.dumped.uri, other_dump(made)
    file = dump_file(world.blobs, uri)
    probe = elsewhere(made)
    bare(probe)
    kv = Interposed(probe.kv)
    repo_of(probe, kv).restore_refs(uri)
    call = len(kv.verbs) - 1 - kv.verbs[::-1].index(verb) if last else kv.verbs.index(verb)

    def exchange() -> None:
        file.blobs.delete(file.address)
        file.blobs.create(file.address, content(world, second))

    kv = Interposed(world.kv)
    kv.before[call] = exchange
    try:
        repo_of(world, kv).restore_refs(uri)
    finally:
        file.blobs.delete(file.address)
        file.blobs.create(file.address, made.data)
    assert not kv.before


def test_a_dump_that_is_exchanged_meanwhile(made: Original, world: World) -> None:
    """Nothing shows up of a dump that was not the one that was checked."""
    with pytest.raises(CorruptData, match="was replaced"):
        exchanged(made, world, "set_if")
    assert not list(repo_of(world).branches())
    repo_of(world).restore_refs(made.dumped.uri)
    require_alike(made, repo_of(world))


def test_a_dump_that_is_exchanged_before_references_are_created(made: Original, world: World) -> None:
    """They are those of the dump that was checked."""
    exchanged(made, world, "set_many", last=True)
    require_alike(made, repo_of(world))
