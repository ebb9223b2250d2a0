"""What active repositories have no use for any more: layers that left or never entered, old keys, histories.

A layer is found by its cleanup record, once nobody writes to it any more by an old record of its branch.

* One that was about to leave (`Cleanup.leaving`) was listed once. If the branch record, read after the cleanup record,
  does not list it, it has left, and is never listed again: it is dropped, then its record removed, as it was read. A
  later record of the same layer (a call that began before writes it late) is found by the next cleaner.
* Any other may be about to enter. Not listed for as long as a bulk write may take, its record is claimed: `purging` ✓.
  The next cleaner, after the time for late writes, reads the branch: listed → it had entered, and the claim is taken
  back ✓. Else the branch record is swapped ✓ for an equal one with a fresh nonce: whoever began to build the layer
  before the claim swaps from an older record, and fails; whoever reads the branch later reads the claim after it.
  Where there is no branch record, none that was read before can be swapped from: no branch record is ever equal to an
  earlier one. Then the layer is dropped, and its record removed. `engine.bulk` is the builder's side.

Everything here is removed by conditions on what was read: nothing is ever written into a repository that was deleted
meanwhile. Of a removed idempotency key a call may come again after a week, and is then another call.

A record costs one read of its (mostly empty) partition; a page of 500 shares a scan, a read of their branches and a
removal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from graveler_core.engine.cleaning.work import Position, Step, Work
from graveler_core.engine.swap import lists, swap
from graveler_core.model.compaction import CompactionHistory
from graveler_core.model.entities import Branch, Cleanup, Operation, Repository, RepositoryState
from graveler_core.model.ids import BranchId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Folder, Location
from graveler_core.stores import Registers

Found = tuple[str, Held[Cleanup]]


def live(work: Work, at: Position) -> Iterator[Step]:
    """Go through the active repositories."""
    done, inner = at[0], at[1:]
    for name, held in work.repositories(done):
        if held.value.state is RepositoryState.ACTIVE:
            with work.trying(f"repository {name}"):
                for further, weight in _folders(work, held.value, inner):
                    yield (done, *further), weight
        done = name
        yield (done,), 1


def _folders(work: Work, repo: Repository, inner: Position) -> Iterator[Step]:
    parts: list[tuple[str, Folder[Any], Callable[[Work, Repository, Sequence[Any]], None]]] = [
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


def _layers(work: Work, repo: Repository, rows: Sequence[Found]) -> None:
    """Some cleanup records: their branches are read after them."""
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


def _is_due(work: Work, cleanup: Cleanup) -> bool:
    """Whether nobody writes to a layer any more, if it has left or was claimed; or its builder must be gone."""
    settled = cleanup.leaving or cleanup.purging
    due = work.is_past(cleanup.since, work.plan.late if settled else max(work.plan.late, work.plan.building))
    work.done.late += not due
    return due


def _branches(work: Work, repo: Repository, names: set[BranchId]) -> dict[BranchId, Held[Branch] | None]:
    wanted = sorted(names)
    found = access.read_many(work.stores.kv, [keys.branch(repo, name) for name in wanted])
    return dict(zip(wanted, found, strict=True))


def _claim(work: Work, repo: Repository, row: Found, *, entered: bool) -> None:
    """Claim a layer that has not entered; or give back the claim of one that had."""
    name, held = row
    work.done.late += not entered
    if not work.plan.dry_run:
        update = {"purging": not entered, "leaving": entered, "since": work.stores.clock.now()}
        with work.trying(f"layer {name}"):
            access.replace(work.stores.kv, keys.cleanup(repo, name), held, held.value.model_copy(update=update))


def _fenced(work: Work, repo: Repository, branch: Held[Branch] | None) -> bool:
    """Move the branch on: whoever read it before the claims swaps in vain. False if another swap came first."""
    if branch is None or work.plan.dry_run:
        return True
    moved = False
    with work.trying(f"branch {repo.id}/{branch.value.id}"):
        moved = swap(work.stores, Registers(repo, branch), branch.value) is not None
        work.done.contested += not moved
    return moved


def _drop(work: Work, repo: Repository, rows: Sequence[Found]) -> None:
    """Drop layers that are listed nowhere and never will be; then forget them."""
    dropped = []
    for name, held in rows:
        with work.trying(f"layer {name}"):
            work.drop_layer(repo, held.value.layer)
            dropped.append((keys.cleanup(repo, name), held))
    work.done.records += _removed(work, dropped)


def _operations(work: Work, repo: Repository, rows: Sequence[tuple[str, Held[Operation]]]) -> None:
    past = [(name, held) for name, held in rows if work.is_past(held.value.since, work.plan.keys_for)]
    work.done.keys += _removed(work, [(keys.operation(repo, name), held) for name, held in past])


def _histories(work: Work, repo: Repository, rows: Sequence[tuple[str, Held[CompactionHistory]]]) -> None:
    """Histories of branches that are gone, or of another one than bears the name."""
    branches = _branches(work, repo, {BranchId(name) for name, _ in rows})
    uids = {name: None if branch is None else branch.value.uid for name, branch in branches.items()}
    ended = [(name, held) for name, held in rows if held.value.uid != uids[BranchId(name)]]
    found = [(keys.compaction_history(repo, BranchId(name)), held) for name, held in ended]
    work.done.records += _removed(work, found)


def _removed(work: Work, found: Sequence[tuple[Location[Any], Held[Any]]]) -> int:
    return len(found) if work.plan.dry_run else access.remove_many(work.stores.kv, found)
