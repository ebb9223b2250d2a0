"""Tasks of a repository: their records, and the run of one.

    begin    register the key, create the record ✓             running, nobody runs it
    run      ✓ claim: swap the record from one that is free    running, renewed now
             renew every few seconds ✓                         running, renewed now
             do the work, with the id of the task as its idempotency key
             ✓ end                                             done or failed
    cancel   ✓ swap                                            cancelled

The work makes its result visible by a swap of its own, and the idempotency key makes it happen once. The key is
registered before the task exists, and a cleaner keeps it until the task has ended (`in_use`). A dump is a new file,
whose name is the id of the task, and a restoration of the same dump may be repeated. So it does not matter how many
processes run a task, in which order, or where they stop:

* A process dies: the record is not renewed, and after the lease another process claims it. If the first had finished
  the work, the second finds the commit by its key and ends the task with it.
* The branch was reset, or deleted and created again, after a process had died. Its history then does not show if the
  first made the commit. The second ends the task as failed, unless it finds the commit.
* A process is slow, and another claims the task: both work, one of them makes the commit, and both find the same one.
  Renewals of the first fail from then on, which ends its listing. It leaves the record to the other, also if its work
  fails before it has noticed this.
* The outcome of the work is unknown: the commit may be made. The task stays as it is, and the next run finds out.
* A task is cancelled: renewals fail, which ends the listing. If the commit was made before that, the task ends as done,
  because that is what happened. Otherwise it stays cancelled. A cancelled task is never claimed.

The lease compares times of different processes. Wrong clocks cost repeated work, and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, Final

from graveler_core.engine.committing.draft import Draft, begin_operation
from graveler_core.engine.committing.earlier_attempts import find_by_key
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.retry import retry
from graveler_core.errors import (
    Conflict,
    GravelerError,
    InvalidInput,
    Kind,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    PredicateFailed,
)
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId, CommitId, Nonce
from graveler_core.model.tasks import KEPT, DumpTask, ImportTask, RestoreTask, Task, TaskState
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.stores import Stores
from graveler_core.telemetry.events import tell_damaged
from graveler_core.telemetry.secrets import without_secrets

RENEWAL_SECONDS: Final = 10.0
"""Seconds between two renewals of a running task."""
LOOKED_AT: Final = 100
"""Number of records that a new task looks at, to remove those of tasks that ended long ago."""
MAX_ID: Final = 64
"""Maximum number of characters of the id of a task."""

Heard = Callable[[int], object]
Work = Callable[[Task, Heard], CommitId | None]
"""Does the work of a task, and returns the commit that it has made, if any. The callback takes numbers of objects, and
may raise.
"""


def begin(stores: Stores, repo: RepositoryRecord, work: ImportTask | DumpTask | RestoreTask, user: str) -> Task:
    """Create a task that nobody runs yet. Remove the records of some tasks that ended, or were left, long ago.

    Raises:
        NotFound: The branch of an import does not exist.
    """
    now, folder = stores.clock.now(), keys.tasks(repo)
    task = Task(id=stores.ids.fresh(), user=user, work=work, begun=now, nonce=Nonce(stores.ids.fresh()))
    if isinstance(work, ImportTask):
        registers = fresh(stores, repo.id, work.into)
        begin_operation(stores, registers, task.id)
        task = task.model_copy(update={"epoch": registers.branch.epoch})
    # From a random place, so that every record is looked at in the long run.
    places = (access.scan(stores.kv, folder, after=after, damaged=tell_damaged) for after in (task.id, ""))
    for id, held in islice(chain.from_iterable(places), LOOKED_AT):
        if now - (held.value.renewed or held.value.begun) > KEPT:
            access.remove(stores.kv, folder.at(id), held)
    access.create(stores.kv, folder.at(task.id), task)
    return task


def get(stores: Stores, repo: RepositoryRecord, id: str) -> Task:
    """Return a task. Raises `NotFound` if there is none with this id."""
    return _held(stores, repo, id).value


def run(stores: Stores, repo: RepositoryRecord, id: str, user: str, work: Work) -> Task:
    """Run a task to its end, unless another process runs it or it has ended. Return its record.

    Any error of the work ends the task as failed. Otherwise it would be run again and again. An error that is not a
    `GravelerError` is raised, too. After `OutcomeUnknown`, the task shows the error and can be run again when its lease
    is over. Then it finds the commit, or makes it.

    Raises:
        OutcomeUnknown: The work may be done.
        PermissionDenied: Another user began the task.
    """
    _require_own(get(stores, repo, id), user)
    claim = _claim(stores, repo, id)
    if claim is None:
        return get(stores, repo, id)
    before, claimed = claim
    listed = _Listed(id, {claimed.nonce})
    try:
        if before.renewed is not None and isinstance(before.work, ImportTask):
            _require_repeatable(stores, repo, before, before.work.into)
        with _renewing(stores, repo, claimed, listed):
            commit = work(claimed, listed.add)
    except OutcomeUnknown as error:
        with suppress(GravelerError):  # the error of the work is raised
            _change(stores, repo, id, partial(_unsettled, listed.mine, error.message))
        raise
    except GravelerError as error:
        return _change(stores, repo, id, partial(_failed, listed.mine, error.message))
    except Exception as error:
        text = without_secrets(f"{type(error).__name__}: {error}")
        with suppress(GravelerError):  # the error of the work is raised
            _change(stores, repo, id, partial(_failed, listed.mine, text))
        raise

    def done(now: Task) -> dict[str, Any]:
        # A process that finds the commit of another one has listed nothing.
        objects = max(now.objects, listed.objects)
        return {"state": TaskState.DONE, "commit_id": commit, "objects": objects, "error": ""}

    return _change(stores, repo, id, done)


def cancel(stores: Stores, repo: RepositoryRecord, id: str, user: str) -> Task:
    """Cancel a task.

    Raises:
        Conflict: The task has ended.
        PermissionDenied: Another user began the task.
    """

    def cancelled(now: Task) -> dict[str, Any]:
        _require_own(now, user)
        if now.state is not TaskState.RUNNING:
            raise Conflict(f"task {id}: has ended already ({now.state})", state=str(now.state))
        return {"state": TaskState.CANCELLED, "error": "the task was cancelled"}

    return _change(stores, repo, id, cancelled)


def in_use(stores: Stores, repo: RepositoryRecord, names: Iterable[str]) -> set[str]:
    """Return the idempotency keys that are ids of tasks that have not ended. These tasks may be run again."""
    ids = [name for name in names if _is_id(name)]
    tasks = access.read_many(stores.kv, [keys.tasks(repo).at(id) for id in ids])
    return {id for id, held in zip(ids, tasks, strict=True) if held and held.value.state is TaskState.RUNNING}


def _require_repeatable(stores: Stores, repo: RepositoryRecord, task: Task, into: BranchId) -> None:
    """Refuse to repeat an import if its branch may have lost the commit of an earlier run.

    Raises:
        Conflict: The branch was reset, or deleted and created again, or the idempotency key was removed.
        NotFound: The branch does not exist.
    """
    now = fresh(stores, repo.id, into)
    key = access.read(stores.kv, keys.operation(repo, task.id))
    if key is not None and key.value.branch_uid == now.branch.uid:
        if task.epoch in (None, now.branch.epoch):
            return
        if find_by_key(stores, now, Draft("", idempotency_key=task.id), read_only=True) is not None:
            return
    reason = (
        f"an earlier run may have made the commit, and branch {into!r} does not show it, because it was reset or "
        "created again since"
        if key is not None
        else "its idempotency key was removed, so it is unknown if an earlier run made the commit"
    )
    raise Conflict(
        f"task {task.id}: {reason}; look for the imported objects on branch {into!r} before you begin another import",
        kind=Kind.Discarded,
        branch=into,
    )


def _unsettled(mine: set[Nonce], error: str, now: Task) -> dict[str, Any]:
    """Return the change for an error that does not say if the work is done. The task stays as it is, and shows it."""
    return {"error": error} if now.state is TaskState.RUNNING and now.nonce in mine else {}


def _failed(mine: set[Nonce], error: str, now: Task) -> dict[str, Any]:
    """Return the change for an error, unless the task was cancelled, or another process has claimed it: whoever has the
    task says how it ends.
    """
    if now.state is not TaskState.RUNNING or now.nonce not in mine:
        return {}
    return {"state": TaskState.FAILED, "error": error}


def _claim(stores: Stores, repo: RepositoryRecord, id: str) -> tuple[Task, Task] | None:
    """Claim a task that is free. Return its record before and after, or `None` if it is not free or somebody else was
    faster.
    """
    held = _held(stores, repo, id)
    if not held.value.is_free(stores.clock.now()):
        return None
    try:
        return held.value, _swap(stores, repo, held, {"renewed": stores.clock.now()})
    except PredicateFailed:
        return None


@dataclass(slots=True)
class _Listed:
    """Number of listed objects of a run, and whether the run has lost its task."""

    id: str
    mine: set[Nonce]
    """Nonces of which the record has one while the run has its task; several if the response of a renewal is missing.
    """
    objects: int = 0
    lost: bool = False

    def add(self, more: int) -> None:
        """Count objects. Raise `Conflict` if a renewal has failed."""
        self.objects += more
        if self.lost:
            raise Conflict(f"task {self.id}: was cancelled, or another process runs it", kind=Kind.Discarded)


@contextmanager
def _renewing(stores: Stores, repo: RepositoryRecord, claimed: Task, listed: _Listed) -> Iterator[None]:
    """Renew a task from a thread inside the `with` statement."""
    over = threading.Event()

    def renew() -> None:
        while not over.wait(RENEWAL_SECONDS):
            with suppress(GravelerError):  # the next renewal finds out
                held = _held(stores, repo, claimed.id)
                if held.value.nonce not in listed.mine:
                    listed.lost = True
                    return
                renewed = {"renewed": stores.clock.now(), "objects": listed.objects}
                nonce = Nonce(stores.ids.fresh())
                listed.mine.add(nonce)
                _swap(stores, repo, held, renewed, nonce)
                listed.mine = {nonce}

    thread = threading.Thread(target=renew, name=f"graveler-task-{claimed.id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _change(stores: Stores, repo: RepositoryRecord, id: str, change: Callable[[Task], dict[str, Any]]) -> Task:
    """Change a record, whatever it is now."""

    def attempt() -> Task | None:
        held = _held(stores, repo, id)
        update = change(held.value)
        if not update:
            return held.value
        try:
            return _swap(stores, repo, held, {**update, "renewed": stores.clock.now()})
        except PredicateFailed:
            return None

    return retry(stores, f"task {id}", attempt)


def _swap(
    stores: Stores, repo: RepositoryRecord, held: Held[Task], update: dict[str, Any], nonce: Nonce | None = None
) -> Task:
    nonce = nonce or Nonce(stores.ids.fresh())
    record = held.value.model_copy(update={**update, "nonce": nonce})
    where = keys.tasks(repo).at(record.id)
    return access.replace(stores.kv, where, held, record, mine=lambda now: now.nonce == nonce).value


def _held(stores: Stores, repo: RepositoryRecord, id: str) -> Held[Task]:
    if not _is_id(id):
        raise InvalidInput(f"task {id!r}: is not an id of a task")
    held = access.read(stores.kv, keys.tasks(repo).at(id))
    if held is None:
        raise NotFound(f"task {id!r} does not exist in repository {repo.id!r}", kind=Kind.TaskNotFound, task=id)
    return held


def _is_id(text: str) -> bool:
    return text.isascii() and text.isalnum() and len(text) <= MAX_ID


def _require_own(task: Task, user: str) -> None:
    if task.user != user:
        raise PermissionDenied(f"task {task.id}: user {task.user!r} began it", kind=Kind.AccessDenied)
