"""Reset: throw staged changes away, all of them or those under a prefix; and hard reset: move the head.

`reset()`: the cleanup records of all layers, then ✓ one swap: no layers, a new staging token, no compacted tree, epoch
+ 1. It makes the reset visible. A crash before it leaves cleanup records of layers that are still listed, which the
cleaner spares; after it, unreachable layers, which the cleaner drops.

`reset(prefix)` puts a restoration layer on top: see `engine.bulk`.

`hard_reset(ref)` refuses a dirty branch, then ✓ one swap: head := the commit, no compacted tree, epoch + 1. The epoch
tells a commit that was under way that its layers were discarded, not absorbed. The record remembers the commit that it
left (`engine.swap.following`), so a crash right after the swap loses no more than the hint for the log.
"""

from __future__ import annotations

from functools import partial

from graveler_core.engine.clean_branch import require_clean
from graveler_core.engine.permitted import require_permitted
from graveler_core.engine.reference_events import note
from graveler_core.engine.registers import fresh
from graveler_core.engine.resolve import resolve_commit
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import cleanups, lists, record_writes, retire, swap
from graveler_core.errors import CorruptData, DirtyBranch, NotFound
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.protection import Action
from graveler_core.model.references import steps_of
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import layout as keys
from graveler_core.staging.stack import Stack, is_dirty, layers_of
from graveler_core.stores import Registers, Stores


def reset(stores: Stores, repo: RepositoryId, branch: BranchId) -> None:
    """Discard everything staged on a branch.

    Raises:
        NotFound: no such repository or branch.
        PermissionDenied: the branch is protected from writes, or the repository is read-only.
    """
    for _ in attempts(stores, f"reset of {repo}/{branch}"):
        now = fresh(stores, repo, branch)
        require_permitted(now, Action.WRITE)
        layers = layers_of(now.branch)
        record_writes(stores, cleanups(stores, now, layers))
        token = keys.staging_token(now.repository, branch, stores.ids.fresh())
        record = now.branch.model_copy(
            update={
                "staging_token": token,
                "sealed_tokens": (),
                "compacted_metarange": None,
                "epoch": now.branch.epoch + 1,
            }
        )
        if swap(stores, now, record, mine=partial(lists, layer_id=token)) is not None:
            retire(stores, now, layers)
            return
    raise AssertionError("attempts() raises when it ends")


def hard_reset(stores: Stores, repo: RepositoryId, branch: BranchId, ref: str) -> StoredCommit:
    """Move a clean branch's head to the commit that a ref names; gives that commit.

    Raises:
        DirtyBranch: the branch has uncommitted changes.
        NotFound: no such repository, branch or ref.
        PermissionDenied: the branch is protected from force, or the repository is read-only.
    """
    for _ in attempts(stores, f"hard reset of {repo}/{branch}"):
        now = fresh(stores, repo, branch)
        require_permitted(now, Action.FORCE)
        target = resolve_commit(stores, now.repository, ref)
        _require_clean(stores, now)
        update = {"commit_id": target.id, "compacted_metarange": None, "epoch": now.branch.epoch + 1}
        swapped = swap(stores, now, now.branch.model_copy(update=update))
        if swapped is not None:
            if target.id != now.branch.commit_id:
                note(stores, now.repository, next(steps_of(swapped.branch)))
            return target
    raise AssertionError("attempts() raises when it ends")


def _require_clean(stores: Stores, now: Registers) -> None:
    """Also where the head is lost, which a hard reset may mend: then what is staged is judged without it."""
    try:
        require_clean(stores, now, "a hard reset")
    except (NotFound, CorruptData) as lost:
        branch, blobs = now.branch, stores.blobs.at(now.repository.storage_namespace)
        if lost.details.get("commit") != branch.commit_id:
            raise
        if branch.compacted_metarange is not None or is_dirty(Stack(stores.kv, blobs, layers_of(branch))):
            raise DirtyBranch(
                f"branch {branch.id!r} has uncommitted changes, and its head is lost; reset them before a hard reset",
                branch=branch.id,
            ) from lost
