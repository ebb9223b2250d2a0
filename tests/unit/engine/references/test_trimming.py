"""Nessie's behaviour 73: a log that is rewritten keeps its newest commits, and tells the same."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from unittest.mock import patch

import pytest

from graveler_core.codec.records import decode
from graveler_core.engine.references import log as reference_log
from graveler_core.engine.references import trimming as reference_trimming
from graveler_core.engine.references.events import fold
from graveler_core.engine.references.log import read_internal, read_log
from graveler_core.engine.references.trimming import Trimmed
from graveler_core.errors import CorruptData, InvalidInput
from graveler_core.facade.repository import Repository
from graveler_core.gc.findings import Thing
from graveler_core.kv.wrappers.passing import StoreCall
from graveler_core.model.entities import Commit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.testing.plain_store import PlainStore
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.races import Interrupted
from tests.unit.engine.world import World


@pytest.fixture
def repo(world: World) -> Repository:
    """With a log of six commits, two events each."""
    made = world.graveler().repository("repo")
    for number in range(6):
        branch(world, made, f"b{number}")
    return made


def branch(world: World, repo: Repository, name: str) -> None:
    repo.create_branch(name, "main")
    repo.delete_branch(name)
    fold(world.stores(), repo._record)


def chain(world: World, repo: Repository) -> list[Commit]:
    """The commits of the log, newest first."""
    head = read_log(world.stores(), repo._record).head
    assert head is not None
    found = [head.header]
    while found[-1].parents:
        found.append(read_internal(world.stores(), repo._record, found[-1].parents[0]).header)
    return found


def stored(world: World, repo: Repository) -> dict[str, Commit]:
    folder = keys.internal_history(repo._record).headers
    rows = world.kv.scan(folder.partition, prefix=folder.prefix)
    return {row.key.removeprefix(folder.prefix).decode(): decode(Commit, row.value, "commit") for row in rows}


def damage(repo: Repository) -> list[object]:
    return [finding for finding in repo.fsck(deep=True) if finding.damage]


def layouts(world: World, repo: Repository) -> set[str]:
    folder = keys.internal_history(repo._record).layouts
    rows = world.kv.scan(folder.partition, prefix=folder.prefix)
    return {row.key.removeprefix(folder.prefix).decode() for row in rows}


def lose(world: World, repo: Repository, id: str) -> None:
    """Lose the header of a commit of the log."""
    where = keys.internal_history(repo._record).headers.at(id)
    world.kv.delete(where.partition, where.key)


def lose_current(world: World, repo: Repository) -> None:
    """Lose all commits to which the reference to the log leads."""
    held = access.read(world.kv, keys.reference_log(repo._record))
    assert held is not None
    at: str | None = held.value.commit_id
    while at is not None:
        header = stored(world, repo)[at]
        lose(world, repo, at)
        at = header.parents[0] if header.parents else None


def due(world: World, repo: Repository) -> int:
    """Make six commits of the log due for deletion. Return the number of calls of the deletion."""
    repo.trim_reflog(2)
    world.clock.sleep(timedelta(hours=25).total_seconds())
    copy = world.fork()
    counted = Interposed(copy.kv)
    assert copy.graveler(counted).repository("repo").trim_reflog(2) == Trimmed(0, 6)
    return len(counted.verbs)


def forgetting(call: StoreCall) -> bool:
    """Whether a call is the search for unreachable commits of the log."""
    return call.verb == "scan" and call.key == b"refs/int/commits/"


def swapping(call: StoreCall) -> bool:
    """Whether a call swaps the reference to the log."""
    return call.writes and call.key == b"refs/int/refs"


def reading(call: StoreCall) -> bool:
    """Whether a call reads commits of the log."""
    return call.verb == "get_many" and call.key.startswith(b"refs/int/commits/")


@pytest.mark.parametrize("keep", [1, 2, 5])
def test_the_newest_stay_and_the_log_tells_the_same(world: World, repo: Repository, keep: int) -> None:
    told, before = list(repo.reflog()), chain(world, repo)
    assert repo.trim_reflog(keep) == Trimmed(6 - keep, 0)
    after = chain(world, repo)
    assert [commit.generation for commit in after] == list(range(keep, 0, -1))
    assert [commit.operations for commit in after[:-1]] == [commit.operations for commit in before[: keep - 1]]
    assert [commit.creation_date for commit in after] == [commit.creation_date for commit in before[:keep]]
    assert list(repo.reflog()) == told
    assert list(repo.reflog("b0")) == [event for event in told if event.name == "b0"]
    assert not damage(repo)
    branch(world, repo, "later")
    assert [event.name for event in repo.reflog()] == ["later", "later", *(event.name for event in told)]
    assert repo.undelete_branch("b0").name == "b0"


@pytest.mark.parametrize("keep", [6, 7, 1_000])
def test_nothing_older_is_nothing_done(world: World, repo: Repository, keep: int) -> None:
    held = access.read(world.kv, keys.reference_log(repo._record))
    assert repo.trim_reflog(keep) == Trimmed(0, 0)
    assert access.read(world.kv, keys.reference_log(repo._record)) == held


def test_a_repository_without_a_log_has_nothing_to_rewrite(world: World) -> None:
    assert world.graveler().repository("repo").trim_reflog(1) == Trimmed(0, 0)


def test_less_than_one_is_refused(repo: Repository) -> None:
    with pytest.raises(InvalidInput, match="keep 0: at least one"):
        repo.trim_reflog(0)


def test_what_the_log_has_let_go_of_is_deleted_a_day_later(world: World, repo: Repository) -> None:
    repo.trim_reflog(2)
    assert len(stored(world, repo)) == 8
    world.clock.sleep(timedelta(hours=23).total_seconds())
    assert repo.trim_reflog(2) == Trimmed(0, 0)
    world.clock.sleep(timedelta(hours=2).total_seconds())
    told = list(repo.reflog())
    assert repo.trim_reflog(2) == Trimmed(0, 6)
    assert len(stored(world, repo)) == 2
    assert list(repo.reflog()) == told
    assert not damage(repo)


def test_calls_that_come_more_often_than_daily_delete_too(world: World, repo: Repository) -> None:
    """Each finds a fold since the last one. A rewrite waits for the deletion of what the former one has left."""
    deleted = 0
    for hour in range(50):
        branch(world, repo, f"later{hour}")
        done = repo.trim_reflog(2)
        deleted += done.deleted
        assert (done.folded > 0) is (hour in (0, 24, 48)), hour
        world.clock.sleep(timedelta(hours=1, seconds=1).total_seconds())
    assert deleted == 7 + 2 + 24
    assert len(list(repo.reflog())) == 12 + 2 * 50
    assert not damage(repo)


def test_a_log_that_a_clock_far_ahead_has_rewritten_is_rewritten_again(world: World, repo: Repository) -> None:
    """Else it would grow until that time. What the log has let go of stays readable for a day."""
    ahead = timedelta(days=365).total_seconds()
    world.clock.sleep(ahead)
    repo.trim_reflog(2)
    world.clock.sleep(-ahead)
    branch(world, repo, "later")
    told = list(repo.reflog())
    assert repo.trim_reflog(2) == Trimmed(1, 0)
    world.clock.sleep(timedelta(hours=23).total_seconds())
    assert repo.trim_reflog(2) == Trimmed(0, 0)
    world.clock.sleep(timedelta(hours=2).total_seconds())
    assert repo.trim_reflog(2).deleted >= 6
    assert list(repo.reflog()) == told
    assert not damage(repo)


def test_a_fold_that_comes_first_is_kept(world: World, repo: Repository) -> None:
    """Between reading the log and the swap."""
    real, folded = reference_trimming.point, []

    def late(*given: object) -> bool:
        if not folded:
            folded.append(1)
            branch(world, repo, "between")
        return real(*given)  # type: ignore[arg-type]

    with patch.object(reference_trimming, "point", late):
        assert repo.trim_reflog(2) == Trimmed(5, 0)
    assert [event.name for event in repo.reflog()][:2] == ["between", "between"]
    assert [commit.generation for commit in chain(world, repo)] == [2, 1]


def test_a_crash_before_the_swap_changes_nothing(world: World, repo: Repository) -> None:
    told, before = list(repo.reflog()), chain(world, repo)

    def killed(*_: object) -> bool:
        raise KeyboardInterrupt

    with patch.object(reference_trimming, "point", killed), pytest.raises(KeyboardInterrupt):
        repo.trim_reflog(2)
    assert chain(world, repo) == before
    assert list(repo.reflog()) == told
    assert repo.trim_reflog(2) == Trimmed(4, 0)
    world.clock.sleep(timedelta(hours=25).total_seconds())
    assert repo.trim_reflog(2) == Trimmed(0, 8)
    assert list(repo.reflog()) == told


def test_a_log_that_another_call_rewrote_meanwhile_stays(world: World, repo: Repository) -> None:
    """Its commits bear their old dates, and the head that was read does not lead to them."""
    told = list(repo.reflog())
    world.clock.sleep(timedelta(days=2).total_seconds())
    late = Interrupted(world.kv, lambda: repo.trim_reflog(3), before=forgetting)
    assert world.graveler(late).repository("repo").trim_reflog(3) == Trimmed(0, 0)
    assert [commit.generation for commit in chain(world, repo)] == [3, 2, 1]
    assert list(repo.reflog()) == told
    assert not damage(repo)


def test_commits_that_another_call_is_about_to_point_to_stay(world: World, repo: Repository) -> None:
    told = list(repo.reflog())
    world.clock.sleep(timedelta(days=2).total_seconds())
    late = Interrupted(world.kv, lambda: repo.trim_reflog(1_000), before=swapping)
    assert world.graveler(late).repository("repo").trim_reflog(3) == Trimmed(3, 0)
    assert late.met == 1
    assert [commit.generation for commit in chain(world, repo)] == [3, 2, 1]
    assert list(repo.reflog()) == told
    assert not damage(repo)


def test_what_is_logged_after_a_call_has_read_the_log_stays(world: World, repo: Repository) -> None:
    """Even if the call stalls for longer than unreachable commits are kept."""

    def others() -> None:
        branch(world, repo, "between")
        world.clock.sleep(timedelta(days=2).total_seconds())

    stalled = Interrupted(world.kv, others, before=reading)
    assert world.graveler(stalled).repository("repo").trim_reflog(1_000) == Trimmed(0, 0)
    assert [event.name for event in repo.reflog()][:2] == ["between", "between"]
    assert not damage(repo)


@pytest.mark.ci
def test_a_crash_at_any_call_of_the_deletion_leaves_nothing_behind(world: World, repo: Repository) -> None:
    calls = due(world, repo)
    for call in range(calls):
        copy = world.fork()
        killed(copy, call)
        seen = copy.graveler().repository("repo")
        headers = stored(copy, seen)
        assert headers.keys() >= {parent for commit in headers.values() for parent in commit.parents}
        told = list(seen.reflog())
        seen.trim_reflog(2)
        assert layouts(copy, seen) == stored(copy, seen).keys()
        assert len(stored(copy, seen)) == 2
        assert list(seen.reflog()) == told
        # Their content is left to the collection. The few partitions contain stored objects of it by chance.
        assert {finding.thing for finding in seen.fsck(deep=True)} <= {Thing.BLOB, Thing.OBJECT}
        assert not damage(seen)


def test_a_log_that_is_mended_after_a_crash_of_the_deletion_can_be_trimmed(world: World, repo: Repository) -> None:
    """The mend goes back to a commit that the deletion has not reached yet."""
    calls, mended = due(world, repo), 0
    for call in range(calls):
        copy = world.fork()
        killed(copy, call)
        seen = copy.graveler().repository("repo")
        lose_current(copy, seen)
        assert seen.mend_reflog()
        assert not seen.mend_reflog()
        left = [commit.generation for commit in chain(copy, seen)] if copied_log(copy, seen) else []
        assert left == list(range(len(left), 0, -1))
        mended += bool(left)
        told = list(seen.reflog())
        seen.trim_reflog(2)
        assert list(seen.reflog()) == told
        assert not damage(seen)
    assert mended > 6


def killed(world: World, call: int) -> None:
    """Trim in a process that dies at a call."""
    dying = Interposed(world.kv)
    seen = world.graveler(dying).repository("repo")
    dying.reset()
    dying.fail[call] = Crash()
    with suppress(Crash):
        seen.trim_reflog(2)


def copied_log(world: World, repo: Repository) -> bool:
    """Whether the log is not empty."""
    return access.read(world.kv, keys.reference_log(repo._record)) is not None


@pytest.mark.parametrize("keep", [1, 2, 3, 6, 100])
@pytest.mark.parametrize("lost", [1, 2, 5])
def test_a_log_without_an_ancestor_is_trimmed_to_what_is_left(
    world: World, repo: Repository, lost: int, keep: int
) -> None:
    """The newest commit contains all events, so a lost ancestor loses none."""
    told, ids = list(repo.reflog()), sorted(stored(world, repo), key=lambda id: -stored(world, repo)[id].generation)
    lose(world, repo, ids[lost])
    assert damage(repo)
    kept = min(keep, lost)
    assert repo.trim_reflog(keep) == Trimmed(6 - kept, 0)
    assert [commit.generation for commit in chain(world, repo)] == list(range(kept, 0, -1))
    assert list(repo.reflog()) == told
    assert not damage(repo)
    assert repo.trim_reflog(keep) == Trimmed(0, 0)
    world.clock.sleep(timedelta(hours=25).total_seconds())
    assert repo.trim_reflog(keep) == Trimmed(0, 5)
    assert list(repo.reflog()) == told


def test_a_log_that_lost_the_time_of_its_rewrite_deletes_nothing(world: World, repo: Repository) -> None:
    """Its former commits are old, but the log may have contained them until a moment ago."""
    world.clock.sleep(timedelta(days=2).total_seconds())
    repo.trim_reflog(2)
    branch(world, repo, "later")
    told = list(repo.reflog())
    lose(world, repo, chain(world, repo)[0].parents[0])
    assert repo.trim_reflog(2) == Trimmed(2, 0)
    assert list(repo.reflog()) == told
    world.clock.sleep(timedelta(hours=25).total_seconds())
    assert repo.trim_reflog(2) == Trimmed(0, 8)


@pytest.mark.parametrize("folder", ["headers", "layouts"])
def test_a_log_without_an_ancestor_is_mended(world: World, repo: Repository, folder: str) -> None:
    told = list(repo.reflog())
    where = getattr(keys.internal_history(repo._record), folder).at(
        next(id for id, commit in stored(world, repo).items() if commit.generation == 4)
    )
    world.kv.delete(where.partition, where.key)
    assert repo.mend_reflog()
    assert not repo.mend_reflog()
    assert list(repo.reflog()) == told
    assert not damage(repo)


def test_a_log_that_is_mended_during_a_deletion_stays(world: World, repo: Repository) -> None:
    """The deletion has chosen the commit to which the mend goes back."""
    due(world, repo)

    def mended() -> None:
        lose_current(world, repo)
        assert repo.mend_reflog()

    late = Interrupted(world.kv, mended, before=lambda call: call.verb == "delete")
    assert world.graveler(late).repository("repo").trim_reflog(2).deleted == 6
    told = list(repo.reflog())
    assert len(told) == 12
    assert repo.trim_reflog(2) == Trimmed(0, 0)
    assert not repo.mend_reflog()
    assert list(repo.reflog()) == told
    assert not damage(repo)


def test_a_damaged_commit_that_the_log_does_not_reach_is_left(world: World, repo: Repository) -> None:
    """Its age is unknown."""
    repo.trim_reflog(2)
    folder = keys.internal_history(repo._record).headers
    reached = {id for id, commit in stored(world, repo).items() if "rewritten" in commit.metadata}
    where = folder.at(min(stored(world, repo).keys() - reached))
    world.kv.set(where.partition, where.key, b"{")
    world.clock.sleep(timedelta(hours=25).total_seconds())
    assert repo.trim_reflog(2).deleted == 5
    assert world.kv.get(where.partition, where.key) is not None


def test_ancestors_of_a_young_commit_stay(world: World, repo: Repository) -> None:
    """A fold read the log before it was rewritten, and lost its swap a little later. A mend can go back to it."""
    read = read_log(world.stores(PlainStore(world.kv)), repo._record)
    told = list(repo.reflog())
    repo.trim_reflog(2)
    world.clock.sleep(60)
    assert not reference_log.put(read, [])
    world.clock.sleep(timedelta(hours=24).total_seconds() - 30)
    assert repo.trim_reflog(2) == Trimmed(0, 0)
    lose_current(world, repo)
    assert repo.mend_reflog()
    assert list(repo.reflog()) == told
    assert not damage(repo)


def test_no_rewrite_reuses_the_ids_of_another(world: World, repo: Repository) -> None:
    repo.trim_reflog(2)
    branch(world, repo, "later")
    world.clock.sleep(timedelta(hours=25).total_seconds())
    assert repo.trim_reflog(2) == Trimmed(1, 6)
    assert len(stored(world, repo)) == 2 + 1 + 2


def test_a_mended_log_knows_what_came_after_it_was_rewritten(world: World, repo: Repository) -> None:
    """The commits of before have higher generations."""
    repo.trim_reflog(1)
    branch(world, repo, "later")
    branch(world, repo, "last")
    head = read_log(world.stores(), repo._record).head
    assert head is not None
    where = keys.internal_history(repo._record).headers.at(head.id)
    world.kv.delete(where.partition, where.key)
    with pytest.raises(CorruptData, match="mend_reflog"):
        repo.trim_reflog(1)
    assert repo.mend_reflog()
    assert [event.name for event in repo.reflog()][:3] == ["later", "later", "b5"]


def test_a_rewritten_log_is_dumped_and_restored(world: World, repo: Repository) -> None:
    repo.trim_reflog(2)
    told = [(event.kind, event.name) for event in repo.reflog()]
    repo.dump_refs("memory://dumps-of-rewritten-logs/dump")
    graveler, place = world.graveler(), repo._record.storage_namespace
    graveler.delete_repository("repo")
    world.clock.sleep(1)
    graveler.clean(undelete_within=timedelta(0), late=timedelta(0))
    copy = graveler.create_bare_repository("copy", place, adopt=True)
    copy.restore_refs("memory://dumps-of-rewritten-logs/dump")
    assert [(event.kind, event.name) for event in copy.reflog()] == told
