"""The actors: each is one process that does a few calls of one kind, through the engine's own functions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import pyarrow as pa

from graveler_core.codec.entry import record_table
from graveler_core.engine import branching, bulk, commit, compaction, merge, read, reset, transact, write
from graveler_core.engine.draft import Draft
from graveler_core.engine.listing import Window, items
from graveler_core.engine.snapshot import get as get_committed
from graveler_core.errors import NoChanges
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, CommitId, RepositoryId
from graveler_core.model.operations import Put
from graveler_core.refs.branches import get_branch
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests.simulation.history import History, Operation
from tests.simulation.observe import Observer

REPO = RepositoryId("repo")
WORK = BranchId("work")
SIDE = BranchId("side")
PATHS = ("a/1", "a/2", "b/1")
PREFIXES = ("a/", "b/")


@dataclass
class Cast:
    """What all actors share: the history they write, chance, and numbers that were never used before."""

    history: History
    observer: Observer
    chance: random.Random
    numbers: count[int]
    side_values: set[tuple[str, int | None]]

    def entry(self) -> Entry:
        """An entry that no one has written before."""
        number = next(self.numbers)
        return Entry(address=f"data/{number}", size=number, checksum=str(number))


Act = Callable[[Cast, Stores, str], None]


def put(cast: Cast, stores: Stores, name: str) -> None:
    path, entry = cast.chance.choice(PATHS), cast.entry()
    with cast.history.operation("put", name, sets={path: entry.size}):
        write.stage(stores, REPO, WORK, path, entry)


def remove(cast: Cast, stores: Stores, name: str) -> None:
    path = cast.chance.choice(PATHS)
    with cast.history.operation("remove", name, sets={path: None}):
        write.remove(stores, REPO, WORK, [path])


def put_many(cast: Cast, stores: Stores, name: str) -> None:
    paths = cast.chance.sample(PATHS, 2)
    found = {path: cast.entry() for path in sorted(paths)}
    if cast.chance.random() < 0.3:
        found[min(paths)] = None  # type: ignore[assignment]
    table = record_table([(path.encode(), entry and replace(entry, path=path)) for path, entry in found.items()])
    with cast.history.operation("put many", name, sets={path: entry and entry.size for path, entry in found.items()}):
        bulk.stage_records(stores, REPO, WORK, table)


def remove_prefix(cast: Cast, stores: Stores, name: str) -> None:
    prefix = cast.chance.choice(PREFIXES)
    gone = {path: None for path in PATHS if path.startswith(prefix)}
    with cast.history.operation("remove prefix", name, sets=gone):
        bulk.remove_prefix(stores, REPO, WORK, prefix)


def reset_prefix(cast: Cast, stores: Stores, name: str) -> None:
    prefix = cast.chance.choice(PREFIXES)
    with cast.history.operation("reset prefix", name, discards=prefix):
        bulk.restore_prefix(stores, REPO, WORK, prefix)


def reset_all(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation("reset", name, discards=""):
        reset.reset(stores, REPO, WORK)


def hard_reset(cast: Cast, stores: Stores, name: str) -> None:
    heads = [s.record.commit_id for s in cast.observer.states if s.record is not None]
    target = CommitId(cast.chance.choice(heads))
    content = cast.observer.content(cast.observer.repo(), target)
    sets = {path: content.get(path) for path in PATHS}
    with cast.history.operation("hard reset", name, sets=sets, answer=target):
        reset.hard_reset(stores, REPO, WORK, target)


def get(cast: Cast, stores: Stores, name: str) -> None:
    path = cast.chance.choice(PATHS)
    with cast.history.operation("get", name) as operation:
        found = read.get(stores, REPO, WORK, path)
        operation.answer = {path: found and found.size}


def listing(cast: Cast, stores: Stores, name: str) -> None:
    def page(span: tuple[bytes, bytes | None], rows: int) -> pa.Table:
        return read.entries_page(stores, REPO, WORK, span, rows)

    with cast.history.operation("list", name) as operation:
        found = {entry.path: entry.size for entry in items(page, Window(page=2)) if isinstance(entry, Entry)}
        operation.answer = {path: found.get(path) for path in PATHS}


def commit_all(cast: Cast, stores: Stores, name: str) -> None:
    key = f"key-{next(cast.numbers)}" if cast.chance.random() < 0.5 else ""
    with cast.history.operation("commit", name) as operation:
        _commit(stores, operation, Draft("commit", name, idempotency_key=key))
    if key and operation.error is not None and cast.chance.random() < 0.5:
        # A retry that cannot know whether the first call did its work.
        with cast.history.operation("commit", name) as again:
            again.start = operation.start
            _commit(stores, again, Draft("commit", name, idempotency_key=key))


def _commit(stores: Stores, operation: Operation, draft: Draft) -> None:
    try:
        operation.answer = commit.commit(stores, REPO, WORK, draft).id
    except NoChanges:
        operation.answer = "no changes"
        raise


def merge_side(cast: Cast, stores: Stores, name: str) -> None:
    path, entry = cast.chance.choice(PATHS), cast.entry()
    cast.side_values.add((path, entry.size))
    with cast.history.operation("on the side", name):
        write.stage(stores, REPO, SIDE, path, entry)
        commit.commit(stores, REPO, SIDE, Draft("side", name))
    message = f"merge {next(cast.numbers)}"
    with cast.history.operation("merge", name) as operation:
        request = merge.MergeRequest(SIDE, WORK, cast.chance.choice([None, MergeStrategy.SOURCE]))
        made = merge.merge(stores, REPO, request, Draft(message, name))
        if made.header.message == message:
            operation.answer = made.id
            operation.sets = _changed(cast.observer, made.id, made.header.parents[0])


def _changed(observer: Observer, commit_id: CommitId, parent: CommitId) -> dict[str, int | None]:
    before, after = (observer.content(observer.repo(), c) for c in (parent, commit_id))
    return {path: after.get(path) for path in PATHS if before.get(path) != after.get(path)}


def transact_one(cast: Cast, stores: Stores, name: str) -> None:
    path, entry = cast.chance.choice(PATHS), cast.entry()
    with cast.history.operation("transact", name, sets={path: entry.size}) as operation:
        repository = get_repository(stores.kv, stores.clock, stores.ids, REPO)
        head = get_branch(stores.kv, repository, WORK).value.commit_id
        found = get_committed(stores, REPO, head, path)
        operation.expected = {path: found and found.size}
        new = entry if found is None else replace(entry, content_id=found.content_id)
        operations = [Put(path, new, found)]
        made = transact.transact(stores, REPO, WORK, transact.Transaction(operations), Draft("transact", name))
        operation.answer = made.id


def compact(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation("compact", name):
        compaction.compact(stores, REPO, WORK)


def recreate_branch(cast: Cast, stores: Stores, name: str) -> None:
    heads = [s.record.commit_id for s in cast.observer.states if s.record is not None]
    target = cast.chance.choice(heads)
    content = cast.observer.content(cast.observer.repo(), CommitId(target))
    with cast.history.operation("delete branch", name):
        branching.delete_branch(stores, REPO, WORK)
    with cast.history.operation("create branch", name, sets={path: content.get(path) for path in PATHS}):
        branching.create_branch(stores, REPO, WORK, target)


ACTS: dict[Act, int] = {
    put: 10,
    remove: 3,
    put_many: 4,
    remove_prefix: 2,
    reset_prefix: 2,
    reset_all: 1,
    hard_reset: 1,
    get: 4,
    listing: 3,
    commit_all: 8,
    merge_side: 2,
    transact_one: 3,
    compact: 3,
    recreate_branch: 1,
}


def life(cast: Cast, stores: Stores, name: str, acts: Sequence[Act]) -> Callable[[], None]:
    """A process that does these acts one after the other."""

    def body() -> None:
        for act in acts:
            act(cast, stores, name)

    return body
