"""Compaction by hand, from the engine's pieces, until there is a flow for it. Source: seed 004."""

from __future__ import annotations

from graveler_core.committed.apply import apply
from graveler_core.engine.registers import fresh
from graveler_core.engine.swap import retire, swap
from graveler_core.engine.view import View, changes, commit_of
from graveler_core.facade.branch import Branch
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.layers import SealedToken
from graveler_core.records import layout as keys
from graveler_core.staging.stack import Stack
from graveler_core.stores import Registers, Stores


def compact(branch: Branch) -> None:
    """Turn all layers of a branch into its compacted tree; nobody else may work on it meanwhile."""
    stores, repo, name = branch._at
    sealed = _sealed(stores, repo, name)
    record = sealed.branch
    trees = stores.trees(sealed.repository)
    head = commit_of(stores, sealed.repository, record.commit_id).layout.metarange_id
    view = View(Stack(stores.kv, trees.blobs, record.sealed_tokens), trees, head, record.compacted_metarange)
    applied = apply(trees, view.base, changes(view))
    update = {"sealed_tokens": (), "compacted_metarange": applied.metarange_id, "compaction_start_time": None}
    assert swap(stores, sealed, record.model_copy(update=update)) is not None
    retire(stores, sealed, record.sealed_tokens)


def _sealed(stores: Stores, repo: RepositoryId, name: BranchId) -> Registers:
    now = fresh(stores, repo, name)
    token = keys.staging_token(now.repository, name, stores.ids.fresh())
    layers = (SealedToken(token=now.branch.staging_token), *now.branch.sealed_tokens)
    record = now.branch.model_copy(
        update={"staging_token": token, "sealed_tokens": layers, "compaction_start_time": stores.clock.now()}
    )
    swapped = swap(stores, now, record)
    assert swapped is not None
    return swapped
