"""Removing single paths: by a tombstone, or, of what was never committed, by deleting its staged record.

1. The repository's record and what is staged at the paths, in one fresh read. Where each path has a staged entry, no
   sealed layer lies below and the tree below (the compacted tree, else the head) lacks each path, the entries can go:
2. ✓ One deletion, whose conditions the store judges in the same step: the entries are those that were read, and the
   branch record is the one that all this was decided on. It is what makes the removal visible, and there is nothing to
   prove afterwards: at that moment this branch record stood, and without the entries it shows nothing at the paths. A
   crash before it leaves everything, after it nothing.
3. Everything else writes tombstones, as `engine.write` writes entries: other paths, more than a few of them, stores
   that cannot judge and delete in one step, a condition that did not hold.

Why the branch record is a condition, and not read again afterwards: a transaction that found the path unstaged may move
the head before the deletion. What was staged since then is the same, byte for byte, if the caller stages an entry
again; the deletion would take that write, acknowledged after the transaction, and show the transaction's value until a
tombstone came, and for ever if the remover died. No condition on the entry alone can tell the two writes apart.

A deletion without an answer is an unknown outcome. A tombstone would not settle it: the deletion may still come, after
the removal was acknowledged and the same entry was staged again. A tombstone is never deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graveler_core.codec.entry import tombstone_table
from graveler_core.codec.records import decode
from graveler_core.codec.staged_record import encode_tombstone
from graveler_core.committed.index.lookup import identities_of_few
from graveler_core.engine.bulk import stage_records
from graveler_core.engine.permitted import permits
from graveler_core.engine.registers import fresh
from graveler_core.engine.view import view_of
from graveler_core.engine.write import set_records
from graveler_core.errors import GravelerError, PredicateFailed
from graveler_core.kv.bulk import delete_together, deletes_together, get_many
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.names import path_key
from graveler_core.model.protection import Action
from graveler_core.records import layout as keys
from graveler_core.stores import Registers, Stores

FEW_PATHS: Final = 100
"""As many may go without tombstones: what is looked up in the tree and held in one transaction stays small."""


def remove(stores: Stores, repo: RepositoryId, branch: BranchId, paths: Sequence[str]) -> None:
    """Remove some paths, perhaps not all at once. Removing what does not exist is no error, and no change.

    Raises:
        OutcomeUnknown: some of them may be removed, or may be yet.
    """
    removed = sorted({path_key(path) for path in paths})
    if not _deleted(stores, repo, branch, removed):
        tombstone = encode_tombstone()
        records = [(path, tombstone) for path in removed]
        set_records(stores, repo, branch, lambda registers: records, tombstones=len(records))


def remove_many(stores: Stores, repo: RepositoryId, branch: BranchId, paths: Sequence[str]) -> None:
    """Remove many paths at once: all of them are gone, or none. Raises as `bulk.stage_records`."""
    removed = sorted({path_key(path) for path in paths})
    if not _deleted(stores, repo, branch, removed):
        stage_records(stores, repo, branch, tombstone_table(removed))


def _deleted(stores: Stores, repo: RepositoryId, branch: BranchId, removed: Sequence[bytes]) -> bool:
    """Delete what is staged at all of these paths; False where that would not remove them, or was not done."""
    if not 0 < len(removed) <= FEW_PATHS or not deletes_together(stores.kv):
        return False
    used = stores.registers.get(repo, branch) or fresh(stores, repo, branch)
    # The record that is asked is the one that the read below must find, or nothing is deleted.
    if used.branch.sealed_tokens or not permits(used, Action.WRITE):
        return False
    here, token = keys.repository(repo), keys.staging(used.branch.staging_token)
    at = [(token, keys.staged(path)) for path in removed]
    held, *staged = get_many(stores.kv, [(here.partition, here.key), *at])
    if held is None or decode(here.model, held.value, here.name) != used.repository:
        return False
    rows = [
        (partition, key, found.predicate)
        for (partition, key), found in zip(at, staged, strict=True)
        if found is not None and found.value != encode_tombstone()
    ]
    if len(rows) < len(removed) or _any_below(stores, used, removed):
        return False
    there = keys.branch(used.repository, branch)
    try:
        delete_together(stores.kv, rows, [(there.partition, there.key, used.held.predicate)])
    except PredicateFailed:
        return False
    return True


def _any_below(stores: Stores, used: Registers, removed: Sequence[bytes]) -> bool:
    """Whether the tree under the layers may hold one of these paths."""
    try:
        view = view_of(stores, used)
        return any(identities_of_few(view.indexes, view.base, removed))
    except GravelerError:
        # Of an old copy of the record the tree may be gone, and a tombstone needs none.
        return True
