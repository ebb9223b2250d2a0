"""The actors: each is one process that does a few calls of one kind, through the engine's own functions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pyarrow as pa

from graveler_core.codec.entry import record_table
from graveler_core.engine.committing import commit, transact
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.compacting import compaction
from graveler_core.engine.merging import transplant
from graveler_core.engine.reading import branch as read
from graveler_core.engine.reading.listing import ItemReader, Window, items
from graveler_core.engine.reading.snapshot import get as get_committed
from graveler_core.engine.references import reset
from graveler_core.engine.staging import bulk, conditional, restore, write
from graveler_core.engine.staging import remove as removing
from graveler_core.errors import NoChanges
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Basis, Put, Remove
from graveler_core.refs.branches import get_branch
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests.proofs.simulation.cast import PATHS, PREFIXES, SHARED_KEY, SIDE, WORK, Cast
from tests.proofs.simulation.history import AGAIN, REPO
from tests.proofs.simulation.merging import changed, on_the_side

INTERVAL = timedelta(milliseconds=150)
"""Between compactions, where they are not done at will: so many steps."""


def put(cast: Cast, stores: Stores, name: str) -> None:
    path, entry = cast.chance.choice(cast.paths), cast.entry()
    with cast.history.operation("put", name, sets={path: entry.size}):
        write.stage(stores, REPO, WORK, path, entry)


def put_again(cast: Cast, stores: Stores, name: str) -> None:
    """The same entry as ever, as a job stages it that runs again."""
    path = cast.chance.choice(cast.paths)
    with cast.history.operation("put", name, sets={path: AGAIN.size}):
        write.stage(stores, REPO, WORK, path, AGAIN)


def put_if(cast: Cast, stores: Stores, name: str) -> None:
    """Expect no entry, or the entry that the branch shows before the call, which may be removed."""
    path, found = cast.chance.choice(cast.paths), None
    if cast.chance.random() < 0.4:
        with cast.history.operation("get", name) as reading:
            found = read.get(stores, REPO, WORK, path)
            reading.answer = {path: found and found.size}
        if reading.error is not None:
            return
    expected = {path: found and found.size}
    if found is not None and cast.chance.random() < 0.3:
        with cast.history.operation("put if", name, sets={path: None}, expected=expected):
            conditional.remove_if(stores, REPO, WORK, path, found)
        return
    entry = cast.entry()
    with cast.history.operation("put if", name, sets={path: entry.size}, expected=expected):
        conditional.stage_if(stores, REPO, WORK, path, entry, found)


def remove(cast: Cast, stores: Stores, name: str) -> None:
    path = cast.chance.choice(cast.paths)
    with cast.history.operation("remove", name, sets={path: None}):
        removing.remove(stores, REPO, WORK, [path])


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


def reset_path(cast: Cast, stores: Stores, name: str) -> None:
    path = cast.chance.choice(cast.paths)
    with cast.history.operation("reset prefix", name, discards=path):
        restore.restore_path(stores, REPO, WORK, path)


def reset_all(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation("reset", name, discards=""):
        reset.reset(stores, REPO, WORK)


def hard_reset(cast: Cast, stores: Stores, name: str) -> None:
    targets = cast.observer.targets()
    if not targets:
        return
    target, content = cast.chance.choice(targets)
    sets = {path: content.get(path) for path in PATHS}
    with cast.history.operation("hard reset", name, sets=sets, answer=target):
        reset.hard_reset(stores, REPO, WORK, target)


def get(cast: Cast, stores: Stores, name: str) -> None:
    path = cast.chance.choice(cast.paths)
    with cast.history.operation("get", name) as operation:
        found = read.get(stores, REPO, WORK, path)
        operation.answer = {path: found and found.size}


def listing(cast: Cast, stores: Stores, name: str) -> None:
    def page(span: tuple[bytes, bytes | None], rows: int) -> pa.Table:
        return read.entries_page(stores, REPO, WORK, span, rows)

    with cast.history.operation("list", name) as operation:
        found = {entry.path: entry.size for entry in items(page, Window(page=2)) if isinstance(entry, Entry)}
        operation.answer = {path: found.get(path) for path in PATHS}


def versioned_listing(cast: Cast, stores: Stores, name: str) -> None:
    """List by a version, if there is one. Listings with equal versions are equal."""
    page, begin = partial(read.entries_page, stores, REPO, WORK), partial(read.begin_listing, stores, REPO, WORK)
    with cast.history.operation("list", name) as operation:
        reader = ItemReader(page, begin, Window(page=2))
        version = reader.version()
        found = {entry.path: entry.size for entry in reader.read() if isinstance(entry, Entry)}
        operation.answer = {path: found.get(path) for path in PATHS}
        if version is not None:
            assert cast.versions.setdefault(version, operation.answer) == operation.answer


def commit_all(cast: Cast, stores: Stores, name: str) -> None:
    key = cast.chance.choice(["", "", f"key-{next(cast.numbers)}", SHARED_KEY])
    for _ in range(2 if key else 1):
        mark = cast.mark()
        with cast.history.operation("commit", name, mark=mark, key=key) as operation:
            try:
                operation.answer = commit.commit(stores, REPO, WORK, Draft(mark, name, idempotency_key=key)).id
            except NoChanges:
                operation.answer = "no changes"
                raise
        # With a key, a call that failed is repeated, by one who cannot know whether the first did its work.
        if operation.error is None or cast.chance.random() < 0.5:
            return


def cherry_pick(cast: Cast, stores: Stores, name: str) -> None:
    if cast.chance.random() < 0.5:
        on_the_side(cast, stores, name)
    with cast.history.operation("replay", name, mark=cast.mark()) as operation:
        replay = transplant.Replay([SIDE], cast.chance.choice([None, MergeStrategy.SOURCE]))
        changed(cast.observer, operation, transplant.transplant(stores, REPO, WORK, replay, Draft(operation.mark)))


def revert(cast: Cast, stores: Stores, name: str) -> None:
    targets, repo = cast.observer.targets(), cast.observer.repo()
    if len(targets) < 2 or repo is None:
        return
    target, _ = targets[-1]
    # What a revert brings back is what the commit's parent held.
    before = cast.observer.content(repo, cast.observer.header(repo, target).parents[0])
    may_set = frozenset((path, before.get(path)) for path in PATHS)
    with cast.history.operation("replay", name, mark=cast.mark(), may_set=may_set) as operation:
        replay = transplant.Replay([target], MergeStrategy.SOURCE, verb="revert")
        changed(cast.observer, operation, transplant.transplant(stores, REPO, WORK, replay, Draft(operation.mark)))
        operation.may_set = frozenset()


def transact_one(cast: Cast, stores: Stores, name: str) -> None:
    path, entry = cast.chance.choice(cast.paths), cast.entry()
    key = cast.chance.choice(["", f"key-{next(cast.numbers)}"])
    for _ in range(2 if key else 1):
        with cast.history.operation("transact", name, mark=cast.mark(), key=key, sets={path: entry.size}) as operation:
            repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
            head = get_branch(stores.kv, repo, WORK).value.commit_id
            found = get_committed(stores, REPO, head, path)
            operation.expected = {path: None if found is None else found.size}
            new = entry if found is None else replace(entry, content_id=found.content_id)
            draft = Draft(operation.mark, name, idempotency_key=key)
            transaction = transact.Transaction([Put(path, new, found)])
            operation.answer = transact.transact(stores, REPO, WORK, transaction, draft).id
        if operation.error is None or cast.chance.random() < 0.5:
            return


def overwrite(cast: Cast, stores: Stores, name: str) -> None:
    """One file in the place of all that the head holds under a prefix."""
    files = [path for path in PATHS if path.startswith(PREFIXES[0])]
    path, entry = cast.chance.choice(files), cast.entry()
    key = cast.chance.choice(["", f"key-{next(cast.numbers)}"])
    for _ in range(2 if key else 1):
        sets = {file: entry.size if file == path else None for file in files}
        with cast.history.operation("transact", name, mark=cast.mark(), key=key, sets=sets) as operation:
            repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
            head = get_branch(stores.kv, repo, WORK).value.commit_id
            held = {file: get_committed(stores, REPO, head, file) for file in files}
            operation.expected = {file: None if found is None else found.size for file, found in held.items()}
            found = held[path]
            new = entry if found is None else replace(entry, content_id=found.content_id)
            gone = [Remove(file) for file, found in held.items() if found is not None and file != path]
            draft = Draft(operation.mark, name, idempotency_key=key)
            transaction = transact.Transaction([*gone, Put(path, new, found)], basis=Basis(head, (PREFIXES[0],)))
            operation.answer = transact.transact(stores, REPO, WORK, transaction, draft).id
        if operation.error is None or cast.chance.random() < 0.5:
            return


def compact(cast: Cast, stores: Stores, name: str) -> None:
    # By the step alone: another draw would give every seed another history.
    every = INTERVAL if cast.scheduler.step % 3 == 0 else timedelta(0)
    with cast.history.operation("compact", name, every=every):
        compaction.compact(stores, REPO, WORK, every)


def change(cast: Cast, stores: Stores, name: str) -> None:
    """A commit of one or two paths, given, changed or removed; often the same two, so that runs speak of them again."""
    twice = cast.chance.random() < 0.5
    for path in PATHS[:2] if twice else cast.chance.sample(PATHS, cast.chance.randint(1, 2)):
        if cast.chance.random() < 0.2:
            with cast.history.operation("remove", name, sets={path: None}):
                removing.remove(stores, REPO, WORK, [path])
        else:
            entry = cast.entry()
            with cast.history.operation("put", name, sets={path: entry.size}):
                write.stage(stores, REPO, WORK, path, entry)
    commit_all(cast, stores, name)
