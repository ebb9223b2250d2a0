"""Layers that left or never entered, old keys, histories and claims of active repositories."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from graveler_core.blobs.port import Blobs
from graveler_core.codec.entry import record_table
from graveler_core.engine.cleaning import CleaningPlan, clean
from graveler_core.engine.staging import bulk
from graveler_core.errors import InvalidInput, Kind, NotFound, Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.model.entities import Cleanup, NamespaceClaim, RepositoryRecord
from graveler_core.model.ids import BranchId, Nonce, RepositoryId, RepositoryUid, StagingToken
from graveler_core.model.layers import SealedToken
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.staging import area
from graveler_core.testing.counting_store import Counting
from graveler_core.testing.plain_store import PlainStore
from tests.unit.engine.cleaning.places import cleaned, count, deleted, fill, listed, partitions, recorded, staged_files
from tests.unit.engine.flows import table
from tests.unit.engine.interposed import WRITES, Crash, Interposed
from tests.unit.engine.world import World, entry

PLAN = CleaningPlan()
YEAR = timedelta(days=365)
IMPATIENT = CleaningPlan(late=timedelta(0), building=timedelta(0))
ROWS = {f"k/{number}": number for number in range(5)}


@pytest.fixture(params=[1, 1_000], ids=["files", "rows"], autouse=True)
def segment_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers as files and as key-value rows."""
    monkeypatch.setattr(bulk, "SEGMENT_ROWS", request.param)


def record_of(world: World) -> RepositoryRecord:
    return world.graveler().repository("repo")._record


def shown(world: World) -> dict[str, int]:
    return {item.path: item.size for item in world.branch().list()}


def staged_somewhere(world: World) -> set[str]:
    """The layers that hold something, as rows or files."""
    tokens = {name for name in partitions(world) if name.startswith("repo/")}
    return tokens | {address.split("/")[2] for address in staged_files(world)}


def crashed(main: Branch, kv: Interposed, at: int) -> bool:
    """A bulk write that dies at a call; whether it got so far."""
    kv.reset()
    kv.fail[at] = Crash()
    try:
        main.stage_many(table(ROWS))
    except Crash:
        return True
    return False


def test_the_records_of_layers_that_left_go_and_nothing_else_does(world: World) -> None:
    main = fill(world)
    before, kept = shown(world), listed(main)
    records = recorded(world, record_of(world))
    gone = records.keys() - kept
    assert gone
    assert records.keys() & kept
    done = cleaned(world, PLAN)
    assert (done.records, done.failures) == (len(gone), [])
    assert recorded(world, record_of(world)).keys() == records.keys() & kept
    assert shown(world) == before
    main.commit("rest")
    assert cleaned(world, PLAN).records == len(kept) - 1, "a prefix removal is a line in the branch record"
    assert not recorded(world, record_of(world))


@pytest.mark.parametrize("flow", ["commit", "reset", "delete"])
def test_a_layer_that_a_crash_left_is_dropped(flow: str) -> None:
    """Whichever call of a flow is the last: a cleaner finds all that is not listed, and takes nothing that is."""
    for number in range(60):
        made = World()
        made.repository().create_branch("dev", "main")
        kv = Interposed(made.kv)
        dev = made.branch(kv, "dev")
        dev.stage("a", entry(1))
        dev.stage_many(table(ROWS))
        dev.stage("b", entry(2))
        act = {
            "commit": lambda dev=dev: dev.commit("all"),
            "reset": dev.reset,
            "delete": lambda kv=kv, made=made: made.graveler(kv).repository("repo").delete_branch("dev"),
        }[flow]
        kv.reset()
        kv.fail[number] = Crash()
        try:
            act()
        except Crash:
            died = True
        else:
            died = False
        before = shown_of(made, "dev")
        cleaned(made, PLAN)
        exists = before is not None
        wanted = listed(made.branch(name="dev")) if exists else set()
        assert staged_somewhere(made) <= wanted | listed(made.branch()), number
        assert shown_of(made, "dev") == before
        if not died:
            break
    assert number > 3


def shown_of(world: World, branch: str) -> dict[str, int] | None:
    try:
        return {item.path: item.size for item in world.branch(name=branch).list()}
    except NotFound:
        return None


def test_late_writes_to_a_layer_that_left_are_dropped_too(world: World) -> None:
    main = fill(world)
    old = main.record().staging_token
    main.commit("all")
    world.clock.sleep(300)
    area.put_table(world.kv, old, record_table([(b"late", entry(1))]))
    assert clean(world.stores(), PLAN).records == 0
    assert old in partitions(world)
    cleaned(world, PLAN)
    assert old not in partitions(world)


def test_what_a_bulk_write_left_that_died_is_claimed_then_dropped(world: World) -> None:
    for number in range(20):
        made = World()
        made.repository()
        kv = Interposed(made.kv)
        if not crashed(made.branch(kv), kv, number):
            break
        before, claimed = shown(made), recorded(made, record_of(made))
        made.clock.sleep(3_601)
        first = clean(made.stores(), PLAN)
        assert first.records == 0
        assert {c.purging for c in recorded(made, record_of(made)).values()} <= {bool(claimed)}
        second = cleaned(made, PLAN)
        assert second.records == len(claimed)
        assert staged_somewhere(made) <= listed(made.branch())
        assert shown(made) == before
    assert number > 3


def test_a_bulk_write_under_way_is_left_alone(world: World, kv: Interposed) -> None:
    main = world.branch(kv)
    crashed(main, kv, 4)
    assert recorded(world, record_of(world))
    assert cleaned(world, PLAN).late == 1
    assert not any(c.purging for c in recorded(world, record_of(world)).values())


@pytest.mark.parametrize("walks", [1, 2, 3])
def test_cleaners_between_any_two_calls_of_a_bulk_write(walks: int) -> None:
    """They wait for nobody: what it writes is all there in the end, and nothing else is."""
    for number in range(40):
        made = World()
        made.repository()
        kv = Interposed(made.kv)
        mine = made.branch(kv)
        mine.stage("a", entry(1))
        kv.reset()

        def others(made: World = made) -> None:
            for _ in range(walks):
                clean(made.stores(), IMPATIENT)

        kv.before[number] = others
        mine.stage_many(table(ROWS))
        assert shown(made) == {"a": 1} | ROWS
        for _ in range(2):
            made.clock.sleep(3_601)
            clean(made.stores(), PLAN)
        assert shown(made) == {"a": 1} | ROWS
        assert staged_somewhere(made) <= listed(made.branch())
        if kv.before:
            return
    raise AssertionError("the write does not end")


@pytest.mark.parametrize("leaving", [True, False])
def test_a_layer_that_is_listed_is_spared_and_a_claim_of_it_given_back(world: World, leaving: bool) -> None:
    main = fill(world)
    before = shown(world)
    token = main.record().staging_token
    repo = record_of(world)
    found = Cleanup(
        branch=BranchId("main"),
        layer=SealedToken(token=token),
        since=world.clock.now(),
        purging=not leaving,
        leaving=leaving,
    )
    access.write(world.kv, keys.cleanup(repo, token), found)
    cleaned(world, PLAN)
    assert shown(world) == before
    now = recorded(world, repo)[token]
    assert (now.purging, now.leaving) == (False, True)


def test_records_of_a_branch_that_is_gone(world: World) -> None:
    """Of former layers, and of one that was never listed: there is no record that could still be swapped from."""
    dev = world.graveler().repository("repo").create_branch("dev", "main")
    dev.stage_many(table(ROWS))
    repo = record_of(world)
    token = StagingToken("repo/dev:x")
    area.put_table(world.kv, token, record_table([(b"k", entry(1))]))
    found = Cleanup(branch=BranchId("dev"), layer=SealedToken(token=token), since=world.clock.now())
    access.write(world.kv, keys.cleanup(repo, token), found)
    world.graveler().repository("repo").delete_branch("dev")
    world.clock.sleep(3_601)
    clean(world.stores(), PLAN)
    cleaned(world, PLAN)
    assert not recorded(world, repo)
    assert staged_somewhere(world) <= listed(world.branch())


def test_old_keys_go_and_young_ones_stay(world: World) -> None:
    main = world.branch()
    main.stage("a", entry(1))
    main.commit("one", idempotency_key="old")
    world.clock.sleep(timedelta(days=5).total_seconds())
    main.stage("b", entry(2))
    main.commit("two", idempotency_key="young")
    world.clock.sleep(timedelta(days=3).total_seconds())
    assert clean(world.stores(), PLAN).keys == 1
    assert [name for name, _ in access.scan(world.kv, keys.operations(record_of(world)))] == ["young"]


def test_a_key_from_a_clock_far_ahead_is_kept_for_its_time(world: World) -> None:
    main = world.branch()
    main.stage("a", entry(1))
    world.clock.time += YEAR
    main.commit("one", idempotency_key="key")
    world.clock.time -= YEAR
    assert clean(world.stores(), PLAN).keys == 0
    world.clock.time += PLAN.keys_for
    assert clean(world.stores(), PLAN).keys == 1


def test_a_layer_that_a_clock_far_ahead_has_left_is_dropped(world: World) -> None:
    main = fill(world)
    world.clock.time += YEAR
    main.commit("rest")
    world.clock.time -= YEAR
    first = clean(world.stores(), PLAN)
    assert first.late
    world.clock.time += PLAN.late
    assert clean(world.stores(), PLAN).records >= first.late
    assert not recorded(world, record_of(world))


def test_histories_of_branches_that_are_gone(world: World) -> None:
    repo = world.graveler().repository("repo")
    for name in ("gone", "again", "there"):
        dev = repo.create_branch(name, "main")
        dev.stage("a", entry(1))
        dev.compact()
    for name in ("gone", "again"):
        repo.delete_branch(name)
    repo.create_branch("again", "main")
    clean(world.stores(), PLAN)
    assert [name for name, _ in access.scan(world.kv, keys.compaction_histories(repo._record))] == ["there"]


def claim(world: World, name: str, owner: str, nonce: str = "n") -> Location[NamespaceClaim]:
    found = NamespaceClaim(
        owner=RepositoryUid(owner), repository=RepositoryId("repo"), nonce=Nonce(nonce), since=world.clock.now()
    )
    where = keys.namespace_claim(world.namespace(name))
    access.write(world.kv, where, found)
    return where


def test_a_namespace_that_nobody_owns_is_given_back(world: World) -> None:
    where, blobs = claim(world, "orphan", "creation"), world.blobs.at(world.namespace("orphan"))
    owner_files.write(blobs, RepositoryId("repo"), RepositoryUid("creation"))
    assert clean(world.stores(), PLAN).claims == 1
    assert owner_files.owners(blobs) == set()
    assert access.read(world.kv, where) is None
    assert access.read(world.kv, keys.namespace_claim(world.namespace("repo"))) is not None


def test_a_namespace_that_cannot_be_reached_does_not_keep_the_others(world: World) -> None:
    wheres = [claim(world, f"orphan-{number}", "creation") for number in range(3)]
    remove = owner_files.remove

    def removed(blobs: Blobs, uid: RepositoryUid) -> None:
        if blobs.uri("x").startswith(world.namespace("orphan-1")):
            raise Unavailable("no credentials", kind=Kind.PermissionDenied)
        remove(blobs, uid)

    with patch.object(owner_files, "remove", removed):
        done = clean(world.stores(), PLAN)
    assert (done.claims, done.failed) == (2, 1)
    assert done.failures == [(f"claim of storage namespace {world.namespace('orphan-1')}", "no credentials")]
    assert [access.read(world.kv, where) is not None for where in wheres] == [False, True, False]


def test_the_owner_file_of_a_claim_that_is_renewed_before_a_lost_removal_stays(world: World) -> None:
    """A restoration renews the claim before the request to remove it, whose response is lost."""
    where, blobs = claim(world, "orphan", "creation"), world.blobs.at(world.namespace("orphan"))
    owner_files.write(blobs, RepositoryId("repo"), RepositoryUid("creation"))
    rehearsal = Interposed(world.fork().kv)
    clean(world.stores(rehearsal), PLAN)
    removals = [number for number, verb in enumerate(rehearsal.verbs) if verb == "delete_if"]
    assert removals
    kv = Interposed(world.kv)
    kv.before = dict.fromkeys(removals, lambda: claim(world, "orphan", "creation", "renewed"))
    kv.lose = dict.fromkeys(removals, False)
    assert clean(world.stores(kv), PLAN).claims == 0
    assert owner_files.owners(blobs) == {"creation"}
    assert access.read(world.kv, where) is not None


def test_the_owner_file_of_a_claim_that_is_gone_is_not_written_again(world: World) -> None:
    """The creation has undone itself, or another cleaner has removed the claim, before the removal."""
    claim(world, "orphan", "creation")
    blobs, kv = world.blobs.at(world.namespace("orphan")), Interposed(world.kv)
    owner_files.write(blobs, RepositoryId("repo"), RepositoryUid("creation"))
    rehearsal = Interposed(world.fork().kv)
    clean(world.stores(rehearsal), PLAN)
    (removal,) = (number for number, verb in enumerate(rehearsal.verbs) if verb == "delete_if")
    kv.before[removal] = partial(clean, world.stores(), PLAN)
    assert clean(world.stores(kv), PLAN).claims == 0
    assert owner_files.owners(blobs) == set()


def test_the_namespace_of_a_deleted_repository_is_kept(world: World) -> None:
    deleted(world)
    assert clean(world.stores(), PLAN).claims == 0
    assert world.graveler().undelete_repository("repo").id == "repo"


def test_a_namespace_of_what_is_restored_and_deleted_meanwhile_is_kept() -> None:
    """Between any two calls of the cleaner, once and twice: it can still be restored."""
    for times in (1, 2):
        for number in range(40):
            world = World()
            world.repository()
            world.graveler().delete_repository("repo")
            kv = Interposed(world.kv)

            def others(world: World = world, times: int = times) -> None:
                for _ in range(times):
                    world.graveler().undelete_repository("repo")
                    world.graveler().delete_repository("repo")

            kv.before = dict.fromkeys(range(number, number + 3), others)
            clean(world.stores(kv), PLAN)
            restored = world.graveler().undelete_repository("repo")
            assert owner_files.owners(world.blobs.at(world.namespace("repo"))) == {restored.uid}
            if number > len(kv.verbs):
                break


def test_the_owner_file_of_what_is_restored_and_deleted_and_restored_meanwhile_stays() -> None:
    """Before each of three successive calls of the cleaner, so that it finds neither the record nor the entry."""
    for number in range(40):
        world = World()
        uid = world.repository().uid
        world.graveler().delete_repository("repo")
        kv = Interposed(world.kv)

        def other(world: World = world) -> None:
            g = world.graveler()
            if any(True for _ in g.list_repositories()):
                g.delete_repository("repo")
            else:
                g.undelete_repository("repo")

        kv.before = dict.fromkeys(range(number, number + 3), other)
        clean(world.stores(kv), PLAN)
        assert owner_files.owners(world.blobs.at(world.namespace("repo"))) == {uid}, number
        if number > len(kv.verbs):
            break
    assert number > 5


def test_a_dry_run_changes_nothing_and_says_what_would_be_done(world: World, kv: Interposed) -> None:
    main = fill(world)
    main.commit("all", idempotency_key="old")
    world.repository("other")
    fill(world, "other")
    world.graveler().delete_repository("other")
    claim(world, "orphan", "nobody")
    world.clock.sleep(timedelta(days=9).total_seconds())
    kv.reset()
    said = clean(world.stores(kv), CleaningPlan(dry_run=True))
    assert not set(WRITES) & set(kv.verbs)
    assert said.dry_run
    done = clean(world.stores(), PLAN)
    same = ("repositories", "deletions", "records", "keys", "claims", "waiting", "late", "contested", "failed")
    assert [getattr(said, name) for name in same] == [getattr(done, name) for name in same]
    assert done.repositories == done.keys == done.claims == 1


def test_a_walk_over_one_name_touches_no_other(world: World) -> None:
    for name in ("other", "repo-1"):
        world.repository(name)
    for name in ("other", "repo"):
        deleted(world, name)
    world.clock.sleep(timedelta(days=9).total_seconds())
    claim(world, "orphan", "nobody")
    assert clean(world.stores(), CleaningPlan(repository="other")).repositories == 1
    done = clean(world.stores(), CleaningPlan(repository="repo"))
    assert (done.repositories, done.claims) == (1, 1)
    assert world.graveler().repository("repo-1").id == "repo-1"


@pytest.mark.parametrize("plain", [False, True])
def test_a_record_costs_a_read_of_its_partition(world: World, plain: bool) -> None:
    """Of those that nothing is left of. The rest is shared by a page; where the store removes one by one it is not."""
    main = world.branch()
    for number in range(30):
        main.stage("a", entry(number))
        main.commit("one more")
    world.clock.sleep(601)
    kv = Counting(world.kv)
    done = clean(world.stores(PlainStore(kv) if plain else kv), PLAN)
    assert done.records == 30
    assert kv.counts.total() <= (2 if plain else 1) * 30 + 20


def test_a_limit_is_kept_over_records(world: World) -> None:
    main = world.branch()
    for number in range(30):
        main.stage("a", entry(number))
        main.commit("one more", idempotency_key=f"{number}")
    world.clock.sleep(601)
    after, records = None, 0
    for calls in range(100):  # noqa: B007 - looked at behind it
        done = clean(world.stores(), CleaningPlan(limit=7), after=after)
        records += done.records
        assert done.records <= 7
        after = done.next
        if after is None:
            break
    assert records == 30
    assert calls >= 8


def test_a_damaged_record_is_reported_and_the_rest_goes_on(world: World) -> None:
    main = fill(world)
    main.commit("all")
    repo = record_of(world)
    world.kv.set(keys.partition(repo), b"cleanup/aaa", b"junk")
    dev = world.graveler().repository("repo").create_branch("dev", "main")
    dev.stage("a", entry(1))
    dev.commit("on dev")
    where = keys.branch(repo, BranchId("dev"))
    stored = world.kv.get(where.partition, where.key)
    assert stored is not None
    world.kv.set(where.partition, where.key, b"junk")
    done = cleaned(world, PLAN)
    assert done.records >= 4
    assert {why.split(":")[0] for _, why in done.failures} == {f"{where.partition.decode()}/cleanup/aaa", where.name}


@pytest.mark.parametrize("damage", ["branch", "repository", "counter"])
def test_counters_that_need_a_damaged_record_stay_and_the_others_go(world: World, damage: str) -> None:
    repo, other = record_of(world), world.repository("other")._record
    own, gone = count(world, other, "of no branch"), count(world, repo, "of no branch")
    places: dict[str, Location[Any]] = {
        "branch": keys.branch(other, BranchId("main")),
        "repository": keys.repository(other.id),
        "counter": own,
    }
    where = places[damage]
    stored = world.kv.get(where.partition, where.key)
    assert stored is not None
    world.kv.set(where.partition, where.key, stored.value[:-1] + b',"field_of_a_later_version":1}')
    done = clean(world.stores(), PLAN)
    assert (done.counters, done.next) == (1, None)
    assert done.failures
    assert all(why.startswith(where.name) for _, why in done.failures)
    assert world.kv.get(own.partition, own.key) is not None
    assert world.kv.get(gone.partition, gone.key) is None
    world.kv.set(where.partition, where.key, stored.value)
    done = clean(world.stores(), PLAN)
    assert (done.counters, done.failures) == (1, [])


def test_counters_behind_a_damaged_record_go_in_calls_of_limited_size(world: World) -> None:
    repo = record_of(world)
    for branch in ("a", "b", "c"):
        count(world, repo, "of no branch", branch)
    world.kv.set(keys.partition(repo), b"branches/b", b"junk")
    after, counters = '["counters",""]', 0
    for _ in range(10):
        done = clean(world.stores(), CleaningPlan(limit=1), after=after)
        counters += done.counters
        if done.next is None:
            break
        after = done.next
    assert done.next is None
    assert counters == 2
    assert [name.partition(":")[0] for name, _ in access.scan(world.kv, keys.COUNTS)] == ["repo/b"]


def test_a_removal_of_counters_that_fails_is_reported(world: World) -> None:
    count(world, record_of(world), "of no branch")
    with patch("graveler_core.engine.protocol.write_counters.remove", side_effect=Unavailable("gone")):
        done = clean(world.stores(), PLAN)
    assert done.failures == [("counters", "gone")]
    assert clean(world.stores(), PLAN).counters == 1


def test_plans_and_tokens_are_checked(world: World) -> None:
    for wrong in ({"undelete_within": timedelta(-1)}, {"late": timedelta(-1)}, {"limit": -1}, {"repository": "A/b"}):
        with pytest.raises(InvalidInput):
            world.graveler().clean(**wrong)  # type: ignore[arg-type]
    for token in ("", "deleted", "[]", '["deleted"]', '["other",""]', '["deleted",1]', "{}", "3"):
        with pytest.raises(InvalidInput, match="cannot continue"):
            world.graveler().clean(after=token)
    assert world.graveler().clean(limit=0, after='["live",""]').next == '["live",""]'
    assert world.graveler().clean(limit=0).rest
