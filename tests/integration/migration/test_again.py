"""A run that dies anywhere is gone on with, a repetition changes nothing, of two runs at once one ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

import pytest

from graveler_core.errors import GravelerError, Kind, NotFound
from graveler_core.model.entities import RepositoryState
from graveler_core.model.ids import RepositoryId
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.transfer.migration.holding import EVERY
from graveler_core.transfer.migration.report import Result
from tests.examples import places, stride
from tests.integration.migration.histories import History, Lake, flights
from tests.integration.migration.runs import FailingBlobs, each_call, elsewhere, rows, run, small_pages
from tests.unit.engine.interposed import WRITES, Crash, Interposed
from tests.unit.engine.world import FakeClock

NOW = timedelta(0)


@pytest.fixture(autouse=True)
def _small() -> Iterator[None]:
    with small_pages():
        yield


@pytest.fixture
def made(small: Lake) -> History:
    return flights(small)


def invisible(lake: Lake) -> bool:
    """Whether nobody sees anything of it."""
    graveler = lake.graveler()
    with pytest.raises(NotFound):
        graveler.repository("flights")
    return not [*graveler.list_repositories()]


def clean(lake: Lake) -> None:
    """All that cleaners take, at once."""
    for _ in range(3):
        lake.graveler().clean(late=NOW, building=NOW, undelete_within=NOW)


def partitions(lake: Lake) -> list[bytes]:
    """The partitions that hold anything, without what is drawn by chance."""
    return sorted(re.sub(b"[0-9a-f]{32}", b"", name) for name in rows(lake.world))


def test_a_repetition_changes_nothing(lake: Lake) -> None:
    made = flights(lake)
    assert lake.migrate().good
    before = rows(lake.world)
    (outcome,) = lake.migrate().outcomes
    assert outcome.result is Result.THERE
    assert rows(lake.world) == before
    main = made.migrated().branch("main")
    main.put("theirs", b"x")
    main.commit("go on")
    assert lake.migrate().good
    assert made.migrated().branch("main").read("theirs") == b"x"


def test_a_restored_repository_is_known(made: History) -> None:
    lake, uri = made.lake, f"{made.lake.world.namespace('dumps')}/flights"
    assert lake.migrate().good
    made.migrated().dump_refs(uri)
    there = elsewhere(lake)
    there.graveler().create_bare_repository("flights", made.namespace, adopt=True).restore_refs(uri)
    (outcome,) = there.migrate().outcomes
    assert outcome.result is Result.THERE
    assert [*there.graveler().migrated_ids("flights")] == [*lake.graveler().migrated_ids("flights")]


@pytest.mark.ci
def test_a_crash_at_any_call(made: History) -> None:
    def act(lake: Lake, kv: Interposed, number: int) -> None:
        kv.fail[number] = Crash()
        with pytest.raises(Crash):
            run(lake, kv)
        assert invisible(lake)
        begun = repositories.find(lake.world.kv, RepositoryId("flights")) is not None
        (outcome,) = lake.migrate().outcomes
        assert (outcome.result, outcome.resumed) == (Result.MIGRATED, begun)
        made.on(lake).assert_migrated(deep=number % 3 == 0)
        clean(lake)
        made.on(lake).assert_migrated(deep=number % 3 == 0)
        assert partitions(lake) == expected

    whole = elsewhere(made.lake)
    whole.migrate()
    clean(whole)
    expected = partitions(whole)
    assert each_call(made.lake, act, writes=True) > 10


@pytest.mark.ci
def test_a_crash_at_any_call_to_the_objects(made: History) -> None:
    counting = FailingBlobs(made.lake.world.blobs)
    assert counting.graveler(elsewhere(made.lake)).migrate_from(made.lake.url).good
    assert counting.calls > 30
    for number in places(counting.calls, 5):
        lake = elsewhere(made.lake)
        with pytest.raises(Crash):
            FailingBlobs(lake.world.blobs, number).graveler(lake).migrate_from(lake.url)
        assert invisible(lake)
        assert lake.migrate().good
        made.on(lake).assert_migrated(deep=number % 3 == 0)


@pytest.mark.ci
@pytest.mark.parametrize("done", [False, True])
def test_lost_answers(made: History, done: bool) -> None:
    def act(lake: Lake, kv: Interposed, number: int) -> None:
        kv.lose[number] = done
        with suppress(GravelerError):
            run(lake, kv)
        assert lake.migrate().good
        made.on(lake).assert_migrated(deep=False)

    assert each_call(made.lake, act, writes=True) > 10


@pytest.mark.ci
def test_another_run_comes_in_between(made: History) -> None:
    """It takes over, and is done before this one goes on: this one ends, or finds that all is there."""
    refused = 0

    def act(lake: Lake, kv: Interposed, number: int) -> None:
        nonlocal refused
        kv.before[number] = lake.migrate
        (outcome,) = run(lake, kv).outcomes
        if not outcome.good:
            refused += 1
            assert outcome.error is not None
            assert outcome.error.kind in (Kind.LostRace, Kind.RepositoryExists)
        made.on(lake).assert_migrated(deep=False)
        clean(lake)
        made.on(lake).assert_migrated(deep=number % 3 == 0)

    assert refused < each_call(made.lake, act)
    assert refused * stride() > 20


@pytest.mark.ci
def test_nothing_is_written_once_another_run_has_ended(made: History) -> None:
    """But for what was under way at that moment."""
    kept = 0

    def act(lake: Lake, kv: Interposed, number: int) -> None:
        nonlocal kept

        def others() -> None:
            lake.migrate()
            repo = lake.graveler().repository("flights")
            repo.delete_branch("side")
            repo.delete_tag("v1")

        kv.before[number] = others
        run(lake, kv)
        if kv.verbs[number] not in WRITES:
            kept += 1
            repo = lake.graveler().repository("flights")
            assert {branch.id for branch in repo.branches()} == {"main", "empty"}
            assert [tag.id for tag in repo.tags()] == ["v0"]

    each_call(made.lake, act)
    assert kept * stride() > 10


@pytest.mark.ci
def test_another_run_dies_in_between(made: History) -> None:
    """What it took over is gone on with by the next one."""

    def dies(lake: Lake, number: int) -> None:
        kv = Interposed(lake.world.kv)
        kv.fail[number + 5] = Crash()
        with suppress(Crash):
            run(lake, kv)

    def act(lake: Lake, kv: Interposed, number: int) -> None:
        kv.before[number] = lambda: dies(lake, number)
        run(lake, kv)
        assert lake.migrate().good
        made.on(lake).assert_migrated(deep=False)

    each_call(made.lake, act)


@pytest.mark.ci
def test_it_is_given_up_in_between(made: History) -> None:
    """Nothing shows, and a cleaner leaves nothing of it but the claim's release."""

    def given_up(lake: Lake) -> None:
        with suppress(NotFound):
            lake.graveler().delete_repository("flights")
        clean(lake)

    def act(lake: Lake, kv: Interposed, number: int) -> None:
        kv.before[number] = lambda: given_up(lake)
        (outcome,) = run(lake, kv).outcomes
        if outcome.good:
            made.on(lake).assert_migrated(deep=False)
            return
        assert outcome.error is not None
        assert invisible(lake)
        lake.world.clock.sleep(600)
        clean(lake)
        assert rows(lake.world) == {}
        assert lake.migrate().good
        made.on(lake).assert_migrated(deep=False)

    each_call(made.lake, act)


def test_cleaners_leave_it_alone_for_a_day(made: History) -> None:
    lake = made.lake
    kv = Interposed(lake.world.kv)
    kv.fail[25] = Crash()
    with pytest.raises(Crash):
        run(lake, kv)
    lake.world.clock.sleep(23 * 3_600)
    before = rows(lake.world)
    clean(lake)
    assert invisible(lake)
    assert rows(lake.world) == before
    lake.world.clock.sleep(3_601)
    clean(lake)
    assert rows(lake.world) == {}
    assert lake.migrate().good
    made.assert_migrated()


def test_a_long_run_says_that_it_lives(made: History) -> None:
    """However long it takes, nobody declares it failed."""
    lake = made.lake
    clock = lake.world.clock
    seen: list[RepositoryState] = []

    def slow(more: int) -> None:
        clock.sleep(2 * EVERY.total_seconds())
        held = repositories.find(lake.world.kv, RepositoryId("flights"))
        if held is not None and held.value.migrating:
            lake.graveler().clean()
            seen.append(held.value.state)
            assert clock.now() - held.value.since < 20 * EVERY

    assert isinstance(clock, FakeClock)
    assert lake.migrate(progress=slow).good
    assert len(seen) > 5
    made.assert_migrated()


def test_a_record_forgets_what_it_was_migrated_from(made: History) -> None:
    """What is there has the format that it has elsewhere."""
    made.lake.migrate()
    held = repositories.find(made.lake.world.kv, RepositoryId("flights"))
    assert held is not None
    assert held.value.migrating == ""
    stored = made.lake.world.kv.get(*_where())
    assert stored is not None
    assert b"migrating" not in stored.value


def _where() -> tuple[bytes, bytes]:
    where = keys.repository(RepositoryId("flights"))
    return where.partition, where.key
