"""The actors: each is one process that does a few calls of one kind, through the engine's own functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa

from graveler_core.codec.entry import record_table
from graveler_core.engine.committing import commit, transact
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.compacting import compaction
from graveler_core.engine.merging import transplant
from graveler_core.engine.reading import branch as read
from graveler_core.engine.reading.listing import Window, items
from graveler_core.engine.reading.snapshot import get as get_committed
from graveler_core.engine.references import reset
from graveler_core.engine.staging import bulk, write
from graveler_core.engine.staging import remove as removing
from graveler_core.errors import NoChanges
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Basis, Put, Remove
from graveler_core.refs.branches import get_branch
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests.proofs.simulation import approvals, cleaning, uploading
from tests.proofs.simulation.approvals import merge_reported, report, require
from tests.proofs.simulation.cast import PATHS, PREFIXES, SHARED_KEY, SIDE, WORK, Act, Cast
from tests.proofs.simulation.cleaning import bring_back, clean_up, delete_and_bring_back, delete_only
from tests.proofs.simulation.history import AGAIN, REPO
from tests.proofs.simulation.lifecycles import (
    other_repository,
    protect,
    recreate_branch,
    recreate_repository,
    time_passes,
)
from tests.proofs.simulation.merging import changed, merge_side, on_the_side, publish
from tests.proofs.simulation.references import THEME, drop_one, fold_log, move_one, name_one, undelete_one
from tests.proofs.simulation.sweeping import fold_head, sweep_all
from tests.proofs.simulation.uploading import purge_all, upload_and_commit

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
    targets = cast.observer.targets()
    if len(targets) < 2:
        return
    (_, before), (target, _) = targets[-2:]
    # What a revert brings back is what the commit's parent held.
    may_set = frozenset((path, before.get(path)) for path in PATHS)
    with cast.history.operation("replay", name, mark=cast.mark(), may_set=may_set) as operation:
        replay = transplant.Replay([target], MergeStrategy.SOURCE, backwards=True)
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
    cherry_pick: 1,
    revert: 1,
    transact_one: 3,
    compact: 3,
    recreate_branch: 2,
}
"""How often each is drawn."""
LIFECYCLE: dict[Act, int] = {recreate_repository: 6, other_repository: 4, time_passes: 2}
"""Only in some histories: little else survives them."""
THEMES: dict[str, tuple[Act, ...]] = {
    "writes": (put, remove, commit_all),
    "resets": (put, commit_all, reset_all, compact),
    "branches": (put, put_many, commit_all, recreate_branch),
    "heads": (put, merge_side, cherry_pick, revert, compact),
    "transactions": (put, commit_all, transact_one, compact),
}
"""What some histories consist of alone: calls that get in each other's way."""
NAMING: dict[Act, int] = {name_one: 4, drop_one: 6, undelete_one: 2, move_one: 4, fold_log: 3}
OTHERS: dict[Act, int] = {
    change: 5,
    sweep_all: 5,
    fold_head: 3,
    put_again: 4,
    overwrite: 8,
    publish: 6,
    upload_and_commit: 8,
    purge_all: 5,
    protect: 5,
    require: 8,
    report: 5,
    merge_reported: 8,
    clean_up: 9,
    bring_back: 9,
    delete_only: 4,
    delete_and_bring_back: 7,
} | NAMING
"""Only in themes."""
RARE_THEMES: dict[str, tuple[Act, ...]] = {
    "repositories": (get, recreate_repository, other_repository),
    "merges": (put, commit_all, merge_side, publish),
    "prefixes": (put, commit_all, reset_prefix),
    "compactions": (put, put_many, remove_prefix, reset_prefix, commit_all, hard_reset, compact, compact, compact),
    "removals": (put_again, remove, transact_one, put_again, remove, transact_one, commit_all),
    "removals and repositories": (put_again, remove, recreate_repository),
    "indexes": (change, change, revert),
    "overwrites": (put, put_many, remove, remove_prefix, reset_prefix, commit_all, transact_one, overwrite, compact),
    "moves": (remove, change, compact, compact, hard_reset, hard_reset, hard_reset),
    uploading.THEME: (put, commit_all, compact, upload_and_commit, purge_all),
    "sweeps": (change, fold_head, sweep_all, compact),
    approvals.THEME: (
        put,
        remove,
        put_many,
        reset_all,
        commit_all,
        merge_side,
        transact_one,
        recreate_branch,
        protect,
        require,
        report,
        merge_reported,
        merge_reported,
    ),
    "protected removals": (put_again, remove, commit_all, protect),
    THEME: tuple(NAMING),
    "folds": (change, fold_head, fold_head, sweep_all, sweep_all),
    cleaning.AMONG_OTHERS: (
        put,
        put_many,
        commit_all,
        recreate_branch,
        recreate_repository,
        other_repository,
        time_passes,
        delete_only,
        delete_and_bring_back,
        bring_back,
        clean_up,
    ),
    cleaning.LAYERS: (put, put_many, put_many, commit_all, reset_all, recreate_branch, clean_up),
    cleaning.CONTESTED: (delete_only, delete_and_bring_back, clean_up),
    cleaning.UNHEARD: (delete_and_bring_back, clean_up),
    cleaning.RESTORATIONS: (delete_only, delete_and_bring_back, bring_back, time_passes),
    cleaning.AT_THE_END: (
        put,
        put_many,
        commit_all,
        reset_all,
        recreate_branch,
        recreate_repository,
        time_passes,
        delete_only,
        delete_and_bring_back,
        bring_back,
    ),
}
"""Only where they are asked for."""


def life(cast: Cast, stores: Stores, name: str, acts: Sequence[Act]) -> Callable[[], None]:
    """A process that does these acts one after the other."""

    def body() -> None:
        for act in acts:
            act(cast, stores, name)

    return body
