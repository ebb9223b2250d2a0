"""Unused data of active repositories: layers that left a branch or were never added, old keys, histories.

A layer is found by its cleanup record, once no writer uses it any more because of an old branch record.

* A layer that was about to leave (`Cleanup.leaving`) was listed once. If the branch record, read after the cleanup
  record, does not list it, it has left and is never listed again: it is dropped, then its record is removed, as it
  was read. A later record of the same layer (written late by a call that began before) is found by the next cleaner.
* Any other layer may be about to be added. If it is not listed for as long as a bulk write may take, its record is
  claimed: `purging` ✓. After the time for late writes, the next cleaner reads the branch. If the branch lists the
  layer, it was added, and the claim is undone ✓. Otherwise the branch record is swapped ✓ for an equal one with a
  fresh nonce. A builder that began before the claim swaps from an older record, and fails. A builder that reads the
  branch later also reads the claim after it. If there is no branch record, no record that was read earlier can be
  swapped from, because no branch record ever equals an earlier one. Then the layer is dropped, and its record is
  removed. `engine.staging.bulk` is the builder's side.

The time of a record that a clock far ahead has written is replaced by the time now ✓. Its age is counted from there.

Every removal is conditional on the value that was read, and nothing is ever written into a repository that was
deleted in the meantime. A call may repeat an idempotency key after the key was removed, a week later; it is then a
new call. The key of a task stays until the task has ended. A task that has ended is never run again.

A record costs one read of its (mostly empty) partition. A page of 500 records shares a scan, a read of their
branches and a removal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from graveler_core.engine.cleaning.work import CleaningCall, Position, Step
from graveler_core.engine.protocol.swap import lists, swap
from graveler_core.engine.repositories import tasks
from graveler_core.model.compaction import CompactionHistory
from graveler_core.model.entities import BranchRecord, Cleanup, Operation, RepositoryRecord, RepositoryState
from graveler_core.model.ids import BranchId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Folder, Location
from graveler_core.stores import Registers

Found = tuple[str, Held[Cleanup]]
Aged = TypeVar("Aged", Cleanup, Operation)


def live(work: CleaningCall, at: Position) -> Iterator[Step]:
    """Process the active repositories."""
    done, inner = at[0], at[1:]
    for name, held in work.repositories(done):
        if held.value.state is RepositoryState.ACTIVE:
            with work.trying(f"repository {name}"):
                for further, weight in _folders(work, held.value, inner):
                    yield (done, *further), weight
        done = name
        yield (done,), 1


def _folders(work: CleaningCall, repo: RepositoryRecord, inner: Position) -> Iterator[Step]:
    parts: list[tuple[str, Folder[Any], Callable[[CleaningCall, RepositoryRecord, Sequence[Any]], None]]] = [
        ("cleanup", keys.cleanups(repo), _layers),
        ("ops", keys.operations(repo), _operations),
        ("compactions", keys.compaction_histories(repo), _histories),
    ]
    first, after = inner[1:3] if inner[:1] == (repo.uid,) else ("", "")
    begun = not first
    for name, folder, handle in parts:
        begun |= name == first
        if not begun:
            continue
        rows = access.scan(work.stores.kv, folder, after=after, damaged=work.damaged)
        while page := list(islice(rows, work.page)):
            work.together(f"repository {repo.id}, {name}", page, partial(handle, work, repo))
            yield (repo.uid, name, page[-1][0]), len(page)
        after = ""


def _layers(work: CleaningCall, repo: RepositoryRecord, rows: Sequence[Found]) -> None:
    """Process some cleanup records. Their branches are read after them."""
    rows = [(name, _restarted(work, repo, keys.cleanup(repo, name), held)) for name, held in rows]
    due = [row for row in rows if _is_due(work, row[1].value)]
    branches = _branches(work, repo, {held.value.branch for _, held in due})
    ended: list[Found] = []
    fenced: dict[BranchId, list[Found]] = {}
    for row in due:
        cleanup, branch = row[1].value, branches[row[1].value.branch]
        listed = branch is not None and lists(branch.value, cleanup.layer.id)
        if cleanup.leaving:
            ended += [] if listed else [row]
        elif cleanup.purging and not listed:
            fenced.setdefault(cleanup.branch, []).append(row)
        elif cleanup.purging or not listed:
            _claim(work, repo, row, entered=listed)
    for name, some in fenced.items():
        ended += some if _fenced(work, repo, branches[name]) else []
    _drop(work, repo, ended)


def _is_due(work: CleaningCall, cleanup: Cleanup) -> bool:
    """Return `True` if no process writes to a layer any more that has left or was claimed, or if its builder must have
    ended.
    """
    settled = cleanup.leaving or cleanup.purging
    due = work.is_past(cleanup.since, work.plan.late if settled else max(work.plan.late, work.plan.building))
    work.done.late += not due
    return due


def _restarted(work: CleaningCall, repo: RepositoryRecord, where: Location[Aged], held: Held[Aged]) -> Held[Aged]:
    """Store the time now in a record that has the time of a clock far ahead. Return the current record."""
    if not work.plan.dry_run and work.began_far_ahead(held.value.since, repo):
        now = work.stores.clock.now()
        with work.trying(f"record {where.key.decode(errors='replace')}"):
            return access.replace(work.stores.kv, where, held, held.value.model_copy(update={"since": now}))
    return held


def _branches(
    work: CleaningCall, repo: RepositoryRecord, names: set[BranchId]
) -> dict[BranchId, Held[BranchRecord] | None]:
    wanted = sorted(names)
    found = access.read_many(work.stores.kv, [keys.branch(repo, name) for name in wanted])
    return dict(zip(wanted, found, strict=True))


def _claim(work: CleaningCall, repo: RepositoryRecord, row: Found, *, entered: bool) -> None:
    """Claim a layer that was not added to its branch, or undo the claim of one that was."""
    name, held = row
    work.done.late += not entered
    if not work.plan.dry_run:
        update = {"purging": not entered, "leaving": entered, "since": work.stores.clock.now()}
        with work.trying(f"layer {name}"):
            access.replace(work.stores.kv, keys.cleanup(repo, name), held, held.value.model_copy(update=update))


def _fenced(work: CleaningCall, repo: RepositoryRecord, branch: Held[BranchRecord] | None) -> bool:
    """Swap the branch record, so that swaps from records that were read before the claims fail. Return `False` if
    another swap came first.
    """
    if branch is None or work.plan.dry_run:
        return True
    moved = False
    with work.trying(f"branch {repo.id}/{branch.value.id}"):
        moved = swap(work.stores, Registers(repo, branch), branch.value) is not None
        work.done.contested += not moved
    return moved


def _drop(work: CleaningCall, repo: RepositoryRecord, rows: Sequence[Found]) -> None:
    """Drop layers that are not listed and never will be, then remove their records."""
    dropped = []
    for name, held in rows:
        with work.trying(f"layer {name}"):
            work.drop_layer(repo, held.value.layer)
            dropped.append((keys.cleanup(repo, name), held))
    work.done.records += _removed(work, dropped)


def _operations(work: CleaningCall, repo: RepositoryRecord, rows: Sequence[tuple[str, Held[Operation]]]) -> None:
    found = {name: _restarted(work, repo, keys.operation(repo, name), held) for name, held in rows}
    past = {name: held for name, held in found.items() if work.is_past(held.value.since, work.plan.keys_for)}
    for name in tasks.in_use(work.stores, repo, past):
        del past[name]
    work.done.keys += _removed(work, [(keys.operation(repo, name), held) for name, held in past.items()])


def _histories(work: CleaningCall, repo: RepositoryRecord, rows: Sequence[tuple[str, Held[CompactionHistory]]]) -> None:
    """Remove histories of branches that do not exist, or that another branch with the same name has replaced."""
    branches = _branches(work, repo, {BranchId(name) for name, _ in rows})
    uids = {name: None if branch is None else branch.value.uid for name, branch in branches.items()}
    ended = [(name, held) for name, held in rows if held.value.uid != uids[BranchId(name)]]
    found = [(keys.compaction_history(repo, BranchId(name)), held) for name, held in ended]
    work.done.records += _removed(work, found)


def _removed(work: CleaningCall, found: Sequence[tuple[Location[Any], Held[Any]]]) -> int:
    return len(found) if work.plan.dry_run else access.remove_many(work.stores.kv, found)
