"""Imports as tasks: whoever runs them, in whatever order and however often, makes one commit that every reader sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from graveler_core import connect
from graveler_core.engine.repositories import tasks
from graveler_core.errors import Conflict, InvalidInput, NotFound, OutcomeUnknown, Unavailable
from graveler_core.facade.repository import Repository
from graveler_core.model.tasks import KEPT, LEASE, Task, TaskState
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.importing.sources import lake
from tests.unit.engine.world import FakeClock, World


@pytest.fixture
def world() -> World:
    return World(name=f"tasks-{uuid4().hex}")


@pytest.fixture
def repo(world: World) -> Repository:
    return world.repository()


@pytest.fixture
def uri() -> str:
    return lake({"raw/a": b"1", "raw/b": b"22"}, f"memory://lake-{uuid4().hex}/of")


def commits(repo: Repository) -> list[str]:
    return [commit.message for commit in repo.log("main")][:-1]


def test_a_directory_is_imported_in_one_commit(repo: Repository, uri: str) -> None:
    task = repo.begin_import("main", "to", uri=uri, message="Import", metadata={"who": "me"})
    assert (task.state, task.renewed, task.commit_id) == (TaskState.RUNNING, None, None)
    assert commits(repo) == []
    done = repo.run_task(task.id)
    assert (done.state, done.commit_id, done.error) == (TaskState.DONE, repo.commit("main").id, "")
    assert repo.commit("main").metadata == {"who": "me"}
    assert [entry.path for entry in repo.at("main").list()] == ["to/raw/a", "to/raw/b"]
    assert repo.task(task.id) == done
    assert repo.run_task(task.id) == done
    assert commits(repo) == ["Import"]


def test_single_objects_are_imported(repo: Repository, uri: str) -> None:
    task = repo.begin_import("main", objects={"x/one": f"{uri}/raw/a", "two": f"{uri}/raw/b"})
    assert repo.run_task(task.id).state is TaskState.DONE
    assert [entry.path for entry in repo.at("main").list()] == ["two", "x/one"]


def test_a_damaged_record_of_another_task_does_not_matter(world: World, repo: Repository, uri: str) -> None:
    folder = keys.tasks(repo._record)
    world.kv.set(folder.partition, folder.prefix + b"abc", b"damaged")
    task = repo.begin_import("main", uri=uri)
    assert repo.run_task(task.id).state is TaskState.DONE


def test_an_error_is_kept(repo: Repository) -> None:
    task = repo.begin_import("main", uri=f"memory://nothing-{uuid4().hex}/here")
    failed = repo.run_task(task.id)
    assert failed.state is TaskState.FAILED
    assert "no objects" in failed.error
    assert repo.task(task.id) == failed
    with pytest.raises(Conflict, match="has ended already"):
        repo.cancel_task(task.id)


def test_both_or_none_of_the_sources_are_refused(repo: Repository, uri: str) -> None:
    for wrong in ({}, {"uri": uri, "objects": {"a": f"{uri}/raw/a"}}):
        with pytest.raises(InvalidInput, match="either one directory, or single objects"):
            repo.begin_import("main", **wrong)  # type: ignore[arg-type]
    for id in ("nothing", ""):
        with pytest.raises((NotFound, InvalidInput)):
            repo.task(id)


def _dies(repo: Repository, task: Task, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a task in a process that dies before it claims, lists, or ends the task, or after its commit."""
    if at == "begun":
        return

    def broken(*args: object, **options: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        if at == "claimed":
            patched.setattr(Repository, "import_prefix", broken)
        else:
            patched.setattr(tasks, "_change", broken)
        with pytest.raises(KeyboardInterrupt):
            repo.run_task(task.id)


@pytest.mark.parametrize("at", ["begun", "claimed", "committed"])
def test_another_process_goes_on_after_the_lease(
    world: World, repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    task = repo.begin_import("main", uri=uri, message="Import")
    _dies(repo, task, at, monkeypatch)
    other = world.graveler().repository("repo")
    if at != "begun":
        assert other.run_task(task.id).state is TaskState.RUNNING  # the lease of the dead process holds
        world.clock.sleep(LEASE.total_seconds())
    assert other.run_task(task.id).state is TaskState.DONE
    assert repo.task(task.id).commit_id == repo.commit("main").id
    assert commits(repo) == ["Import"]


@pytest.mark.parametrize("at", ["claimed", "committed"])
def test_a_task_that_is_asked_for_after_weeks_makes_one_commit(
    world: World, repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    task = repo.begin_import("main", uri=uri, message="Import")
    _dies(repo, task, at, monkeypatch)
    world.clock.sleep(timedelta(days=20).total_seconds())
    graveler = world.graveler()
    assert graveler.clean().keys == 0
    other = graveler.repository("repo")
    assert other.run_task(task.id).state is TaskState.DONE
    assert repo.task(task.id).commit_id == repo.commit("main").id
    assert commits(repo) == ["Import"]
    assert graveler.clean().keys == 1


def _made_again(repo: Repository) -> None:
    repo.delete_branch("dev")
    repo.create_branch("dev", "main")


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        (_made_again, "an earlier run may have made the commit, and branch 'dev' does not show it"),
        (lambda repo: repo.branch("dev").hard_reset("main"), "because it was reset or created again since; look for"),
        (
            lambda repo: repo._stores.kv.delete(*_ops(repo)),
            "its idempotency key was removed, so it is unknown if an earlier run made the commit; look for",
        ),
    ],
    ids=["made again", "hard reset", "key removed"],
)
def test_an_import_that_may_have_been_made_is_not_repeated(
    world: World,
    repo: Repository,
    uri: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    lost: Callable[[Repository], object],
    reason: str,
) -> None:
    repo.create_branch("dev", "main")
    task = repo.begin_import("dev", uri=uri, message="Import")
    _dies(repo, task, "committed", monkeypatch)
    lost(repo)
    world.clock.sleep(LEASE.total_seconds())
    head = repo.commit("dev")
    failed = repo.run_task(task.id)
    assert (failed.state, repo.commit("dev")) == (TaskState.FAILED, head)
    assert reason in failed.error


def _ops(repo: Repository) -> tuple[bytes, bytes]:
    """Return the place of the only idempotency key."""
    folder = keys.operations(repo._record)
    ((name, _),) = access.scan(repo._stores.kv, folder)
    return folder.at(name).partition, folder.at(name).key


def test_a_reset_of_staged_changes_does_not_hide_the_commit_of_a_task(
    world: World, repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = repo.begin_import("main", uri=uri, message="Import")
    _dies(repo, task, "committed", monkeypatch)
    repo.branch("main").reset()
    world.clock.sleep(LEASE.total_seconds())
    assert repo.run_task(task.id).commit_id == repo.commit("main").id
    assert commits(repo) == ["Import"]


def test_the_first_run_of_a_task_may_follow_a_reset(repo: Repository, uri: str) -> None:
    task = repo.begin_import("main", uri=uri)
    repo.branch("main").reset()
    assert repo.run_task(task.id).state is TaskState.DONE


def test_a_slow_process_and_its_successor_make_one_commit(
    world: World, repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = repo.begin_import("main", uri=uri, message="Import")
    other = world.graveler().repository("repo")
    done: list[Task] = []
    real = Repository.import_prefix

    def slow(self: Repository, *args: object, **options: object) -> object:
        if self is repo:  # the other claims the task while this one lists
            world.clock.sleep(LEASE.total_seconds())
            done.append(other.run_task(task.id))
        return real(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Repository, "import_prefix", slow)
    mine = repo.run_task(task.id)
    assert (mine.state, mine.commit_id) == (TaskState.DONE, done[0].commit_id)
    assert commits(repo) == ["Import"]


def test_a_cancelled_task_makes_no_commit(
    world: World, repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = repo.begin_import("main", uri=uri)
    assert repo.cancel_task(task.id).state is TaskState.CANCELLED
    assert repo.run_task(task.id).state is TaskState.CANCELLED
    world.clock.sleep(2 * LEASE.total_seconds())
    assert repo.run_task(task.id).state is TaskState.CANCELLED
    assert commits(repo) == []

    running = repo.begin_import("main", uri=uri)
    monkeypatch.setattr(tasks, "RENEWAL_SECONDS", 0.001)
    real = Repository.import_prefix

    def waits(self: Repository, *args: object, **options: object) -> object:
        repo.cancel_task(running.id)
        while True:  # until a renewal has failed
            options["progress"](0)  # type: ignore[operator]
        return real(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Repository, "import_prefix", waits)
    assert repo.run_task(running.id).state is TaskState.CANCELLED
    assert commits(repo) == []


def test_a_process_that_lost_its_task_leaves_the_record_to_the_other(
    world: World, repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = repo.begin_import("main", uri=uri)
    monkeypatch.setattr(tasks, "RENEWAL_SECONDS", 0.001)

    def waits(self: Repository, *args: object, **options: object) -> object:
        while tasks._claim(repo._stores, repo._record, task.id) is None:  # between two renewals
            world.clock.sleep(LEASE.total_seconds())
        while True:  # until a renewal has failed
            options["progress"](0)  # type: ignore[operator]

    monkeypatch.setattr(Repository, "import_prefix", waits)
    assert repo.run_task(task.id).state is TaskState.RUNNING
    assert repo.task(task.id).state is TaskState.RUNNING


def test_a_task_that_was_cancelled_too_late_is_done(
    repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = repo.begin_import("main", uri=uri)
    real = Repository.import_prefix

    def committed(self: Repository, *args: object, **options: object) -> object:
        made = real(self, *args, **options)  # type: ignore[arg-type]
        repo.cancel_task(task.id)
        return made

    monkeypatch.setattr(Repository, "import_prefix", committed)
    assert repo.run_task(task.id).commit_id == repo.commit("main").id


def test_a_process_whose_work_fails_leaves_the_record_to_the_one_that_has_claimed_the_task(
    world: World, repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was cut off for longer than the lease, and has not renewed the task since."""
    task = repo.begin_import("main", uri=uri)

    def fails(*args: object, **options: object) -> object:
        world.clock.sleep(LEASE.total_seconds())
        assert tasks._claim(repo._stores, repo._record, task.id) is not None
        raise error

    monkeypatch.setattr(Repository, "import_prefix", fails)
    error: Exception = Unavailable("the store is gone")
    assert repo.run_task(task.id).state is TaskState.RUNNING
    world.clock.sleep(LEASE.total_seconds())
    error = OSError("the disk is gone")
    with pytest.raises(OSError, match="the disk is gone"):
        repo.run_task(task.id)
    assert repo.task(task.id).state is TaskState.RUNNING


@pytest.mark.parametrize("made", [False, True])
def test_a_task_whose_outcome_is_unknown_is_done_by_the_next_run(
    world: World, repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    task = repo.begin_import("main", uri=uri, message="Import")
    real = Repository.import_prefix

    def unanswered(*args: object, **options: object) -> object:
        if made:
            real(*args, **options)  # type: ignore[arg-type]
        raise OutcomeUnknown("the response was lost")

    with monkeypatch.context() as patched:
        patched.setattr(Repository, "import_prefix", unanswered)
        with pytest.raises(OutcomeUnknown):
            repo.run_task(task.id)
    unsettled = repo.run_task(task.id)
    assert (unsettled.state, unsettled.error) == (TaskState.RUNNING, "the response was lost")
    world.clock.sleep(LEASE.total_seconds())
    done = repo.run_task(task.id)
    assert (done.state, done.commit_id, done.error) == (TaskState.DONE, repo.commit("main").id, "")
    assert commits(repo) == ["Import"]


def test_a_process_whose_clock_is_ahead_does_not_keep_a_task(world: World, repo: Repository, uri: str) -> None:
    task = repo.begin_import("main", uri=uri)
    ahead = replace(repo._stores, clock=FakeClock())
    ahead.clock.sleep(timedelta(days=1).total_seconds())
    assert tasks._claim(ahead, repo._record, task.id) is not None
    assert repo.run_task(task.id).state is TaskState.DONE


def test_a_process_whose_clock_is_a_little_ahead_keeps_its_task(world: World, repo: Repository, uri: str) -> None:
    """Else two processes take the task from each other, and its listing never ends."""
    task = repo.begin_import("main", uri=uri)
    ahead = replace(repo._stores, clock=FakeClock())
    ahead.clock.sleep(2 * LEASE.total_seconds())
    assert tasks._claim(ahead, repo._record, task.id) is not None
    assert repo.run_task(task.id).state is TaskState.RUNNING


def test_a_running_task_is_renewed(world: World, repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "RENEWAL_SECONDS", 0.001)
    task = repo.begin_import("main", uri=uri)
    real = Repository.import_prefix

    def waits(self: Repository, *args: object, **options: object) -> object:
        options["progress"](7)  # type: ignore[operator]
        while repo.task(task.id).objects != 7:
            pass
        return real(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Repository, "import_prefix", waits)
    assert repo.run_task(task.id).state is TaskState.DONE


def test_old_records_are_removed(world: World, repo: Repository, uri: str) -> None:
    old, left = repo.begin_import("main", uri=uri), repo.begin_import("main", uri=uri)
    repo.run_task(old.id)
    world.clock.sleep(KEPT.total_seconds() + 1)
    young = repo.begin_import("main", uri=uri)
    assert repo.task(young.id).state is TaskState.RUNNING
    for task in (old, left):
        with pytest.raises(NotFound):
            repo.task(task.id)


def test_a_new_task_looks_at_few_records(
    world: World, repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "LOOKED_AT", 3)
    for _ in range(10):
        repo.begin_import("main", uri=uri)
    looked = list[str]()
    monkeypatch.setattr(access, "remove", lambda _, where, held: looked.append(held.value.id))
    world.clock.sleep(KEPT.total_seconds() + 1)
    repo.begin_import("main", uri=uri)
    assert len(looked) == 3


def test_a_store_that_is_gone_for_a_moment_fails_the_task(
    repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*args: object, **options: object) -> object:
        raise Unavailable("the store is gone")

    monkeypatch.setattr(Repository, "import_prefix", gone)
    assert repo.run_task(repo.begin_import("main", uri=uri).id).error == "the store is gone"


def test_an_error_that_nobody_expects_fails_the_task_and_is_raised(
    repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **options: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Repository, "import_prefix", broken)
    task = repo.begin_import("main", uri=uri)
    with pytest.raises(OSError, match="No space left"):
        repo.run_task(task.id)
    failed = repo.task(task.id)
    assert (failed.state, "No space left" in failed.error) == (TaskState.FAILED, True)


def test_a_renewal_without_response_does_not_lose_the_task(
    repo: Repository, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, real_import, swaps = tasks._swap, Repository.import_prefix, list[Task]()

    def swap(*args: object, **options: object) -> Task:
        swaps.append(real(*args, **options))  # type: ignore[arg-type]
        if len(swaps) == 2:  # the first renewal, after the claim
            raise OutcomeUnknown("the response was lost")
        return swaps[-1]

    def waits(self: Repository, *args: object, **options: object) -> object:
        while len(swaps) < 4:
            options["progress"](0)  # type: ignore[operator]
        return real_import(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(tasks, "RENEWAL_SECONDS", 0.001)
    monkeypatch.setattr(tasks, "_swap", swap)
    monkeypatch.setattr(Repository, "import_prefix", waits)
    assert repo.run_task(repo.begin_import("main", uri=uri).id).state is TaskState.DONE


def test_a_dump_is_restored_in_another_store(repo: Repository) -> None:
    main = repo.branch("main")
    main.put("a", b"a")
    main.commit("Add a")
    below = f"memory://dumps-{uuid4().hex}/of"
    task = repo.begin_dump(below)
    done = repo.run_task(task.id)
    assert (done.state, done.commit_id, done.error) == (TaskState.DONE, None, "")
    with connect("memory://") as other:
        bare = other.create_bare_repository("bare", repo.storage_namespace, adopt=True)
        _restores(bare, f"{below}/{task.id}")
        assert bare.commit("main").id == repo.commit("main").id
    nothing = repo.begin_restore(f"{below}/nothing")
    assert repo.run_task(nothing.id).state is TaskState.FAILED


def _restores(bare: Repository, uri: str) -> None:
    restored = bare.run_task(bare.begin_restore(uri).id)
    assert (restored.state, restored.error) == (TaskState.DONE, "")


def test_a_dump_that_another_run_has_stored_is_done(repo: Repository) -> None:
    repo.branch("main").put("a", b"a")
    repo.branch("main").commit("Add a")
    below = f"memory://dumps-{uuid4().hex}/of"
    task = repo.begin_dump(below)
    repo.dump_refs(f"{below}/{task.id}")  # the run of a process that died before it ended the task
    assert repo.run_task(task.id).state is TaskState.DONE
