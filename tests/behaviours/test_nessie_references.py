"""Nessie's behaviours of references (1-7, 21-26, 62-72), as they hold for our branches, tags and their log.

Left out, as they are of Nessie's own surroundings: rows that are flagged as deleted and purged later (what is deleted
is gone from its place, and what is known of it waits for the log), a second internal reference for the description of
the repository (ours is one record under `repos/`), custom properties and several stripes of a name index (names are
scanned in the store itself; the log is an index of any size), the rewriting of a log (73: ours keeps its commits, one
for some 64 events, and reads none but the newest), the pointer that a caller must give to delete or assign (the flows
read it themselves, and swap from exactly what they read).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest

from graveler_core.engine.references import branching
from graveler_core.engine.references.events import fold
from graveler_core.errors import GravelerError, InvalidInput, Kind, NotFound, NotUnique, PredicateFailed
from graveler_core.facade.reflog import ReflogEntry
from graveler_core.facade.repository import Repository
from graveler_core.model import past
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World, entry

DEV = BranchId("dev")
_numbers = count(100)


@pytest.fixture
def repo(world: World) -> Repository:
    return world.graveler().repository("repo")


def commits(repo: Repository, branch: str, count: int) -> list[CommitId]:
    """So many commits on a branch, oldest first."""
    made = []
    for number in range(count):
        repo.branch(branch).stage(f"{branch}/{number}", entry(next(_numbers)))
        made.append(repo.branch(branch).commit(str(number)).id)
    return made


def told(found: Iterator[ReflogEntry]) -> list[tuple[str, str]]:
    return [(event.kind.value, event.name) for event in found]


def waiting(world: World, repo: Repository) -> list[str]:
    return [name for name, _ in access.scan(world.kv, keys.pending_events(repo._record))]


def killed(world: World, flow: Callable[[Repository], object], call: int) -> bool:
    """Run a flow in a process that dies instead of a call; whether it came so far."""
    kv = Interposed(world.kv)
    repo = world.graveler(kv).repository("repo")
    kv.reset()
    kv.fail[call] = Crash()
    try:
        flow(repo)
    except Crash:
        return True
    return False


class TestNames:
    def test_1_a_name_is_given_once(self, repo: Repository) -> None:
        """The error names what is there. Rows that are flagged as deleted are none of ours."""
        repo.create_branch("dev", "main")
        with pytest.raises(NotUnique, match="'dev'") as caught:
            repo.create_branch("dev", "main")
        assert caught.value.kind is Kind.BranchExists

    def test_2_and_17_a_deletion_takes_exactly_what_it_read(self, world: World, repo: Repository) -> None:
        """A branch that moves between look and deletion is looked at again; the log tells its last head."""
        dev = repo.create_branch("dev", "main")
        kv = Interposed(world.kv)
        other = world.graveler(kv).repository("repo")
        kv.reset()
        rehearsal = Interposed(world.fork().kv)
        world.graveler(rehearsal).repository("repo").delete_branch("dev")
        before = len(rehearsal.verbs) - rehearsal.verbs[::-1].index("delete_if") - 2
        kv.before[before] = lambda: commits(repo, "dev", 1)
        other.delete_branch("dev")
        deleted = next(repo.reflog("dev"))
        assert (deleted.kind, deleted.before) == ("deleted", repo.commit(deleted.before or "").id)
        assert repo.commit(deleted.before or "").message == "0"
        with pytest.raises(NotFound):
            dev.record()

    def test_3_what_is_not_there_is_not_found(self, repo: Repository) -> None:
        for call in (repo.delete_branch, repo.delete_tag, repo.branch, repo.verify_tag, repo.undelete_branch):
            with pytest.raises((NotFound, InvalidInput)) as caught:
                call("nobody")
            assert "nobody" in caught.value.message

    def test_4_and_5_a_move_needs_the_record_that_was_read(self, world: World, repo: Repository) -> None:
        """And never creates: a hard reset of a branch that goes meanwhile finds no branch."""
        repo.create_branch("dev", "main")
        commits(repo, "dev", 1)
        held = access.read(world.kv, keys.branch(repo._record, DEV))
        assert held is not None
        commits(repo, "dev", 1)
        with pytest.raises(PredicateFailed):
            access.replace(world.kv, keys.branch(repo._record, DEV), held, held.value)
        kv = Interposed(world.kv)
        dev = world.graveler(kv).repository("repo").branch("dev")
        kv.reset()
        kv.before[3] = lambda: repo.delete_branch("dev")
        with pytest.raises(NotFound) as caught:
            dev.hard_reset("main")
        assert caught.value.kind is Kind.BranchNotFound
        assert [branch.id for branch in repo.branches()] == ["main"]

    def test_6_the_newest_moves_are_remembered(self, repo: Repository) -> None:
        """Eight of them, newest first, whatever moved the head; and when and where the branch began."""
        repo.create_branch("dev", "main")
        start = repo.commit("dev").id
        made = commits(repo, "dev", 10)
        found = list(repo.reflog("dev"))
        assert [event.after for event in found] == [*made[:1:-1], start]
        assert [event.before for event in found] == [*made[-2:0:-1], None]
        assert [event.kind for event in found] == ["moved"] * 8 + ["created"]
        assert found == sorted(found, key=lambda event: event.time, reverse=True)

    def test_6_every_flow_that_moves_a_head_is_remembered(self, repo: Repository) -> None:
        main = repo.branch("main")
        repo.create_branch("dev", "main")
        commits(repo, "dev", 2)
        heads = [repo.commit("main").id]
        for move in (
            lambda: repo.merge("dev~1", into="main"),
            lambda: repo.cherry_pick("dev", onto="main"),
            lambda: repo.revert("main", onto="main"),
            lambda: main.hard_reset("main~1"),
        ):
            move()
            heads.append(repo.commit("main").id)
        found = list(repo.reflog("main"))
        assert [event.after for event in found] == heads[::-1]
        assert [event.kind for event in found] == ["assigned", "moved", "moved", "moved", "created"]

    def test_7_a_move_to_the_same_commit_is_none(self, repo: Repository) -> None:
        before = repo.branch("main").record().past
        repo.branch("main").hard_reset("main")
        repo.branch("main").stage("a", entry(1))
        repo.branch("main").compact()
        repo.branch("main").reset()
        assert repo.branch("main").record().past == before
        assert told(repo.reflog()) == []

    def test_a_past_is_short_whatever_happens(self) -> None:
        text, time = "", datetime(2026, 1, 1, tzinfo=UTC)
        for number in range(1_000):
            text = past.moved(text, CommitId("c" * 64), time, assigned=False)
            assert past.moves(text) == number + 1
        assert len(past.steps(text, "branch dev")) == past.MOST_MOVES
        assert len(text) < 700


class TestRepositories:
    def test_21_and_22_deleting_one_leaves_the_others(self, world: World, repo: Repository) -> None:
        """Erasing what is left in the store is the cleaner's; what is deleted cannot be reached."""
        other = world.repository("other")
        for name in (repo, other):
            name.create_branch("dev", "main")
            name.delete_branch("dev")
        world.graveler().delete_repository("other")
        assert told(repo.reflog("dev")) == [("deleted", "dev"), ("created", "dev")]
        for call in (lambda: other.reflog("dev").__next__(), lambda: other.undelete_branch("dev")):
            with pytest.raises(NotFound) as caught:
                call()
            assert caught.value.kind is Kind.RepositoryNotFound
        anew = world.graveler().create_repository("other", world.namespace("third"))
        assert told(anew.reflog()) == []
        with pytest.raises(NotFound):
            anew.undelete_branch("dev")

    def test_23_a_repository_begins_with_its_default_branch_and_no_log(self, world: World, repo: Repository) -> None:
        """The log begins with the first event. A second creation changes nothing."""
        record = repo.branch("main").record()
        assert told(repo.reflog("main")) == [("created", "main")]
        assert access.read(world.kv, keys.reference_log(repo._record)) is None
        with pytest.raises(NotUnique):
            world.repository()
        assert repo.branch("main").record() == record

    def test_24_to_26_what_describes_a_repository_stays(self, world: World, repo: Repository) -> None:
        """Name, namespace and date are those of its creation. Default branch, description and properties can be
        changed: `tests/unit/engine/references/test_repository_settings.py`. A damaged record is no empty description,
        but `CorruptData`.
        """
        again = world.graveler().repository("repo")
        assert (again.creation_date, again.default_branch) == (repo.creation_date, repo.default_branch)
        where = keys.repository(repo.id)
        world.kv.set(where.partition, where.key, b"\x01{}")
        with pytest.raises(GravelerError, match="repos/repo"):
            world.graveler().repository("repo")


class TestLog:
    def test_62_internal_references_are_never_shown(self, world: World, repo: Repository) -> None:
        """Not by name, in no listing, nor their commits by id or prefix."""
        repo.create_branch("dev", "main")
        assert fold(world.stores(), repo._record) == 1
        held = access.read(world.kv, keys.reference_log(repo._record))
        assert held is not None
        commit = held.value.commit_id
        for ref in (commit, commit[:8]):
            with pytest.raises(NotFound):
                repo.commit(ref)
            with pytest.raises(NotFound):
                repo.create_branch("other", ref)
        for name in ("int", "int/refs", "refs/int/refs"):
            for call in (repo.branch, repo.delete_branch, lambda n: repo.create_branch(n, "main"), repo.delete_tag):
                with pytest.raises(InvalidInput):
                    call(name)
        assert [branch.id for branch in repo.branches()] == ["dev", "main"]
        assert commit not in [logged.id for logged in repo.log("dev")]
        assert list(repo.fsck(deep=True)) == []

    def test_63_creation_says_when_and_a_second_is_refused(self, repo: Repository) -> None:
        tag = repo.create_tag("v1", "main")
        (created,) = repo.reflog("v1")
        assert (created.kind, created.type, created.after) == ("created", "tag", tag.commit_id)
        assert created.time == past.steps(tag.past, "tag")[0].time

    def test_64_an_assignment_is_logged_with_what_it_left(self, repo: Repository) -> None:
        first, second = commits(repo, "main", 2)
        repo.branch("main").hard_reset("main~1")
        (assigned, *_) = repo.reflog()
        assert (assigned.kind, assigned.before, assigned.after) == ("assigned", second, first)
        with pytest.raises(NotFound):
            repo.branch("nobody").hard_reset("main")

    @pytest.mark.parametrize("count", [0, 1, 305])
    def test_65_names_in_the_order_of_their_bytes(self, world: World, repo: Repository, count: int) -> None:
        """Told apart by case; by prefix; resumed behind any; a place outside the prefix has nothing behind it. Spaces
        and umlauts cannot be in names.
        """
        names = {f"{'aAbB_9'[n % 6]}{n % 7}.{n}" for n in range(count)}
        for name in names:
            repo.create_tag(name, "main")
        assert [tag.id for tag in repo.tags()] == sorted(names, key=str.encode)
        assert [tag.id for tag in repo.tags("a")] == sorted(name for name in names if name.startswith("a"))
        for after in sorted(names)[::50]:
            assert [tag.id for tag in repo.tags(after=after)] == sorted(name for name in names if name > after)
        assert [tag.id for tag in repo.tags("A", after="B")] == []
        assert [page.items for page in repo.tags().pages(100)][:1] == [list(repo.tags(limit=100))]

    def test_66_creations_and_deletions_beside_listings(self, repo: Repository) -> None:
        failed: list[BaseException] = []
        ended = threading.Event()

        def look() -> None:
            try:
                while not ended.is_set():
                    assert "main" in [branch.id for branch in repo.branches()]
                    list(repo.reflog(limit=5))
            except BaseException as e:
                failed.append(e)

        watcher = threading.Thread(target=look)
        watcher.start()
        for number in range(40):
            repo.create_branch(f"b{number * 7 % 10}", "main")
            repo.delete_branch(f"b{number * 7 % 10}")
        ended.set()
        watcher.join()
        assert not failed

    def test_67_a_lost_swap_of_the_log_is_tried_again(self, world: World, repo: Repository) -> None:
        repo.create_branch("dev", "main")
        kv = Interposed(world.kv)
        stores = world.stores(kv)
        rehearsal = Interposed(world.fork().kv)
        assert fold(world.stores(rehearsal), repo._record) == 1

        def another() -> None:
            repo.create_branch("other", "main")
            fold(world.stores(), repo._record)

        kv.before[rehearsal.verbs.index("write_and_swap")] = another
        assert fold(stores, repo._record) == 0
        assert sorted(told(repo.reflog())) == [("created", "dev"), ("created", "other")]
        assert waiting(world, repo) == []

    def test_68_a_crash_after_a_creation(self, world: World) -> None:
        """The branch is there, whatever became of the hint for the log: created again it exists, its own reflog tells
        it, and its deletion tells the log of both.
        """
        for call in range(20):
            made = World()
            repo = made.repository()
            if not killed(made, lambda r: r.create_branch("dev", "main"), call):
                assert call > 4
                return
            if "dev" in [branch.id for branch in repo.branches()]:
                with pytest.raises(NotUnique):
                    repo.create_branch("dev", "main")
                assert told(repo.reflog("dev")) == [("created", "dev")]
                repo.delete_branch("dev")
                assert told(repo.reflog()) == [("deleted", "dev"), ("created", "dev")]
            else:
                assert told(repo.reflog()) == []
        raise AssertionError("the creation does not end")

    @pytest.mark.parametrize("folds", [False, True])
    def test_69_and_70_a_crash_during_a_deletion(self, folds: bool) -> None:
        """An intent tells nothing before the record is gone, and all afterwards: deleted again it is not found,
        created again it is another.
        """
        for call in range(20):
            world = World()
            repo = world.repository()
            repo.create_branch("dev", "main")
            (head,) = commits(repo, "dev", 1)
            came = killed(world, lambda r: r.delete_branch("dev", by="me"), call)
            if folds:
                fold(world.stores(), repo._record)
            if "dev" in [branch.id for branch in repo.branches()]:
                assert ("deleted", "dev") not in told(repo.reflog())
                with pytest.raises(NotUnique):
                    repo.undelete_branch("dev")
                repo.delete_branch("dev")
            with pytest.raises(NotFound):
                repo.delete_branch("dev")
            assert told(repo.reflog("dev")) == [("deleted", "dev"), ("moved", "dev"), ("created", "dev")]
            assert repo.undelete_branch("dev").record().commit_id == head
            fold(world.stores(), repo._record)
            assert told(repo.reflog()) == [("created", "dev"), ("deleted", "dev"), ("created", "dev")]
            assert waiting(world, repo) == []
            if not came:
                assert call > 4
                return
        raise AssertionError("the deletion does not end")

    def test_a_crash_during_a_fold(self) -> None:
        """After each of its calls: nothing is told twice, nothing is lost."""
        for call in range(60):
            world = World()
            repo = world.repository()
            for name in ("dev", "other"):
                repo.create_branch(name, "main")
            repo.delete_branch("dev")
            expected = told(repo.reflog())
            came = killed(world, lambda r, w=world: fold(r._stores, r._record), call)  # type: ignore[misc]
            assert told(repo.reflog()) == expected
            fold(world.stores(), repo._record)
            assert told(repo.reflog()) == expected
            assert waiting(world, repo) == []
            if not came:
                assert call > 5
                return
        raise AssertionError("the fold does not end")

    def test_71_of_two_creations_one_is_refused(self, world: World, repo: Repository) -> None:
        """Also with equal heads."""
        kv = Interposed(world.kv)
        other = world.graveler(kv).repository("repo")
        rehearsal = Interposed(world.fork().kv)
        world.graveler(rehearsal).repository("repo").create_branch("dev", "main")
        kv.reset()
        kv.before[rehearsal.verbs.index("set_if") - 1] = lambda: repo.create_branch("dev", "main")
        with pytest.raises(NotUnique):
            other.create_branch("dev", "main")
        assert told(repo.reflog("dev")) == [("created", "dev")]

    def test_72_a_log_of_many_ranges_tells_the_same(self, world: World, repo: Repository) -> None:
        for number in range(60):
            repo.create_branch(f"b{number % 5}", "main")
            repo.delete_branch(f"b{number % 5}")
            if number % 10 == 0:
                fold(world.stores(), repo._record)
        found = list(repo.reflog())
        assert len(found) == len({event.token for event in found}) == 120
        assert [event.time for event in found] == sorted((event.time for event in found), reverse=True)
        assert [event for page in repo.reflog().pages(31) for event in page.items] == found
        assert list(repo.reflog(after=found[39].token)) == found[40:]
        assert list(repo.reflog("b3")) == [event for event in found if event.name == "b3"]
        assert list(repo.fsck(deep=True)) == []

    def test_a_place_in_a_reflog_is_a_token(self, repo: Repository) -> None:
        with pytest.raises(InvalidInput, match="token"):
            repo.reflog(after="yesterday")
        with pytest.raises(InvalidInput, match="must be a valid name"):
            repo.reflog("a/b")


class TestUndelete:
    def test_the_head_comes_back_and_nothing_staged(self, repo: Repository) -> None:
        dev = repo.create_branch("dev", "main")
        (head,) = commits(repo, "dev", 1)
        dev.stage("staged", entry(9))
        before = dev.record()
        repo.delete_branch("dev", by="ada", message="not needed")
        after = repo.undelete_branch("dev").record()
        assert after.commit_id == head
        assert after.uid != before.uid
        assert after.staging_token != before.staging_token
        assert after.sealed_tokens == ()
        with pytest.raises(NotFound):
            repo.branch("dev").get("staged")
        deleted = [event for event in repo.reflog() if event.kind == "deleted"]
        assert [(event.by, event.message) for event in deleted] == [("ada", "not needed")]

    def test_of_several_deletions_the_newest_counts(self, world: World, repo: Repository) -> None:
        heads = []
        for _ in range(3):
            repo.create_branch("dev", "main")
            heads += commits(repo, "dev", 1)
            commits(repo, "main", 1)
            repo.delete_branch("dev")
            fold(world.stores(), repo._record)
        assert repo.undelete_branch("dev").record().commit_id == heads[-1]

    def test_a_name_that_is_taken_or_unknown_is_refused(self, repo: Repository) -> None:
        with pytest.raises(NotFound, match="no record of its deletion"):
            repo.undelete_branch("dev")
        repo.create_tag("dev", "main")
        repo.delete_tag("dev")
        with pytest.raises(NotFound):
            repo.undelete_branch("dev")
        repo.create_branch("dev", "main")
        repo.delete_branch("dev")
        repo.create_tag("dev", "main")
        with pytest.raises(NotUnique) as caught:
            repo.undelete_branch("dev")
        assert caught.value.kind is Kind.TagExists


def test_events_of_an_unwilling_store_are_no_errors(world: World) -> None:
    """A hint for the log that cannot be written is left out; the creation has succeeded."""
    kv = Interposed(world.kv)
    stores: Stores = replace(world.stores(kv))
    rehearsal = Interposed(world.fork().kv)
    branching.create_branch(world.stores(rehearsal), world.graveler().repository("repo").id, DEV, "main")
    kv.lose[len(rehearsal.verbs) - 1] = False
    branching.create_branch(stores, world.graveler().repository("repo").id, DEV, "main")
    assert told(world.graveler().repository("repo").reflog()) == []
    assert told(world.graveler().repository("repo").reflog("dev")) == [("created", "dev")]
