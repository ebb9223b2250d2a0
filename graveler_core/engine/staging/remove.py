"""Removal of single paths: with a tombstone or, for a path that is staged and not committed, by deletion of its staged
record.

1. Read the repository record and the staged records of the paths, bypassing the cache. The entries can be deleted if
   each path has a staged entry, there is no sealed layer, and the tree below (the compacted tree, otherwise the head)
   contains none of the paths.
2. ✓ Delete the entries. The store checks two conditions in the same step: the entries are those that were read, and
   the branch record is the one on which the decision is based. The deletion makes the removal visible, and no
   closing re-read is needed: at that moment the branch had this record, and without the entries this record shows
   nothing at the paths. A crash before the deletion leaves everything; a crash after it leaves nothing.
3. In all other cases, write tombstones, as `engine.staging.write` writes entries. These cases are: other paths, too
   many paths, stores that cannot check conditions and delete in one step, and a condition that was not met.

The branch record is a condition, and is not read again afterwards, for this reason: a transaction that found the
path unstaged may move the head before the deletion. If the caller then stages the same entry again, the new record
is equal to the old one, byte for byte. The deletion would remove that write, which was acknowledged after the
transaction. It would show the transaction's value until a tombstone was written, and permanently if the removing
process died. No condition on the entry alone can distinguish the two writes.

A deletion without a response is an unknown outcome. A tombstone would not resolve it: the deletion may still arrive
after the removal was acknowledged and the same entry was staged again. A tombstone is never deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graveler_core.codec.entry import tombstone_table
from graveler_core.codec.records import decode
from graveler_core.codec.staged_record import encode_tombstone
from graveler_core.committed.index.lookup import identities_of_few
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.restrictions import permits
from graveler_core.engine.reading.view import view_of
from graveler_core.engine.staging.bulk import stage_records
from graveler_core.engine.staging.write import set_records
from graveler_core.errors import GravelerError, PredicateFailed
from graveler_core.kv.bulk import delete_together, get_many
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.names import path_key
from graveler_core.model.protection import BranchAction
from graveler_core.records import layout as keys
from graveler_core.stores import Registers, Stores

FEW_PATHS: Final = 100
"""Maximum number of paths that may be deleted without tombstones. It limits the lookups in the tree and the
transaction.
"""


def remove(stores: Stores, repo: RepositoryId, branch: BranchId, paths: Sequence[str]) -> None:
    """Remove some paths, not necessarily atomically. The removal of a path that does not exist is allowed and has no
    effect.

    Raises:
        OutcomeUnknown: Some of the paths may have been removed or may still be removed.
    """
    removed = sorted({path_key(path) for path in paths})
    if not delete_rows(stores, repo, branch, removed):
        tombstone = encode_tombstone()
        records = [(path, tombstone) for path in removed]
        set_records(stores, repo, branch, lambda registers: records, tombstones=len(records))


def remove_many(stores: Stores, repo: RepositoryId, branch: BranchId, paths: Sequence[str]) -> None:
    """Remove many paths atomically. Raises the same errors as `bulk.stage_records`."""
    removed = sorted({path_key(path) for path in paths})
    if not delete_rows(stores, repo, branch, removed):
        stage_records(stores, repo, branch, tombstone_table(removed))


def delete_rows(
    stores: Stores, repo: RepositoryId, branch: BranchId, removed: Sequence[bytes], *, to_head: bool = False
) -> bool:
    """Delete the staged records of some paths, if nothing else is known of the paths.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        removed: Keys of the paths, sorted.
        to_head: The branch shall show its head at the paths, instead of nothing.

    Returns:
        `True` if all records were deleted. `False` if nothing was done: a path has no staged entry, or there is another
        layer or a compacted tree that knows a path, or the store cannot do it.

    Raises:
        OutcomeUnknown: The records may have been deleted or may still be deleted.
    """
    if not 0 < len(removed) <= FEW_PATHS or not stores.kv.deletes_together():
        return False
    used = stores.registers.get(repo, branch) or fresh(stores, repo, branch)
    # This record must be the one that the read below finds, or nothing is deleted.
    if used.branch.sealed_tokens or not permits(used, BranchAction.WRITE):
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
    if len(rows) < len(removed) or _is_wrong_below(stores, used, removed, to_head=to_head):
        return False
    there = keys.branch(used.repository, branch)
    try:
        delete_together(stores.kv, rows, [(there.partition, there.key, used.held.predicate)])
    except PredicateFailed:
        return False
    return True


def _is_wrong_below(stores: Stores, used: Registers, removed: Sequence[bytes], *, to_head: bool) -> bool:
    """Return `True` if the tree below the layers may contain one of these paths, or with `to_head` is not the head."""
    if to_head:
        return used.branch.compacted_metarange is not None
    try:
        view = view_of(stores, used)
        return any(identities_of_few(view.indexes, view.base, removed))
    except GravelerError:
        # The tree of an outdated record may have been deleted. A tombstone does not need the tree.
        return True
