"""Removal of erased paths from the head and the staged changes of a branch.

1. Read the branch record. Staged entries of the paths, also compacted ones, are removed as by a user
   (`engine.staging.remove`). Other staged changes stay.
2. Entries of the head are removed by a transaction ✓, which leaves staged changes alone. It is an ordinary commit.
3. If the branch shows none of the paths, swap its record for one with a fresh nonce ✓. Every flow that has read an
   earlier record then fails its swap, reads again, and checks its addresses again.

A path that is written again in between is removed again, a few times.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.index.scan import scan as scan_committed
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.committing.transact import Transaction, transact
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.protocol.swap import swap, without_layer
from graveler_core.engine.reading.view import BranchView, lookup, view_of
from graveler_core.engine.reading.view import scan as scan_shown
from graveler_core.engine.staging.remove import remove_many
from graveler_core.errors import Conflict, CorruptData, Kind, NoChanges, NotFound, SlowDown
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import ENTRY_SCHEMA, TOMBSTONE
from graveler_core.model.erasure import ErasureRule
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.model.operations import Remove
from graveler_core.model.protection import BranchAction
from graveler_core.refs.branches import list_branches
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import stack as staged_layers
from graveler_core.stores import Registers, Stores

ATTEMPTS = 100
"""Maximum number of times that paths are removed from a branch on which they are written again."""
REMOVED_AT_ONCE = 50_000
"""Maximum number of paths that one commit removes."""


def require_removable(stores: Stores, repo: RepositoryRecord, rule: ErasureRule) -> None:
    """Refuse to erase paths that a protected branch shows.

    Raises:
        PermissionDenied: The repository is read-only, or a branch that shows some of the paths is protected from
            writes or commits.
    """
    for branch in list_branches(stores.kv, repo):
        with suppress(NotFound):
            now, staged, head = _read(stores, repo, branch.id, rule)
            if staged:
                require_permitted(now, BranchAction.WRITE)
            if head:
                require_permitted(now, BranchAction.COMMIT)


def remove_from_branches(
    stores: Stores, repo: RepositoryRecord, rule: ErasureRule, draft: Draft
) -> Iterator[tuple[BranchId, CommitId]]:
    """Remove the paths of a rule from all branches. Yield each branch and commit that was made.

    Raises:
        PermissionDenied: A branch is protected, or the repository is read-only.
        NotFound: The repository was deleted.
        SlowDown: The paths are written again and again on a branch.
    """
    for branch in list_branches(stores.kv, repo):
        try:
            for commit in _removed_from(stores, repo, branch.id, rule, draft):
                yield branch.id, commit
        except NotFound as e:
            if e.kind is not Kind.BranchNotFound:
                raise


def _removed_from(
    stores: Stores, repo: RepositoryRecord, branch: BranchId, rule: ErasureRule, draft: Draft
) -> Iterator[CommitId]:
    for _ in range(ATTEMPTS):
        now, staged, head = _read(stores, repo, branch, rule)
        if staged:
            remove_many(stores, repo.id, branch, staged)
        elif head:
            removals = Transaction([Remove(path) for path in head[:REMOVED_AT_ONCE]], removed=True)
            with suppress(NoChanges, Conflict):  # another flow has changed the paths
                yield transact(stores, repo.id, branch, removals, draft).id
        elif swap(stores, now, now.branch) is not None:
            return
    raise SlowDown(
        f"branch {branch!r}: the paths of the erasure are written again and again; stop their writers, and erase again"
    )


def _read(
    stores: Stores, repo: RepositoryRecord, branch: BranchId, rule: ErasureRule
) -> tuple[Registers, list[str], list[str]]:
    """Read a branch, and what it shows of a rule. Read it again if a layer was dropped meanwhile."""
    for _ in range(ATTEMPTS):
        now = fresh(stores, repo.id, branch)
        try:
            return now, *_shown(stores, now, rule)
        except CorruptData as missing:
            without_layer(stores, now, missing)
    raise SlowDown(f"branch {branch!r}: changed {ATTEMPTS} times while it was read; try again later")


def _shown(stores: Stores, now: Registers, rule: ErasureRule) -> tuple[list[str], list[str]]:
    """Return the paths of a rule with a staged entry, also a compacted one, and those that the head has."""
    view = view_of(stores, now)
    head = _head(view, rule)
    committed = set(zip(*head.select([KEY, "identity"]).to_pydict().values(), strict=True))
    staged = {key for key, identity in _visible(view, rule) if (key, identity) not in committed}
    staged |= set(_in_layers(view, rule))
    return sorted(key.decode() for key in staged), [key.decode() for key in head.column(KEY).to_pylist()]


def _head(view: BranchView, rule: ErasureRule) -> pa.Table:
    if rule.prefix:
        start, end = rule.interval
        found = scan_committed(view.indexes, view.head, start=start, end=end)
        return pa.concat_tables([ENTRY_SCHEMA.empty_table(), *found])
    return lookup_many(view.indexes, view.head, rule.keys)


def _visible(view: BranchView, rule: ErasureRule) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and identity of the entries that a branch shows."""
    if not rule.prefix:
        for path in rule.paths:
            entry = lookup(view, path)
            if entry is not None:
                yield path.encode(), entry.identity
        return
    start, end = rule.interval
    for table in scan_shown(view, start=start, end=end):
        yield from zip(*table.select([KEY, "identity"]).to_pydict().values(), strict=True)


def _in_layers(view: BranchView, rule: ErasureRule) -> Iterator[bytes]:
    """Yield the keys of entries in the layers of a branch, including those that equal the entries of the head."""
    if not rule.prefix:
        answers = staged_layers.lookup_many(view.stack, rule.paths)
        for path, answer in zip(rule.paths, answers, strict=True):
            if isinstance(answer, staged_layers.Staged) and answer.entry is not None:
                yield path.encode()
        return
    start, end = rule.interval
    for table in staged_layers.scan(view.stack, start=start, end=end):
        yield from table.filter(pc.invert(table.column(TOMBSTONE))).column(KEY).to_pylist()
