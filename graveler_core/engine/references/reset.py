"""Reset: discard staged changes, all of them or those under a prefix. Hard reset: move the head.

`reset()` writes the cleanup records of all layers, then swaps the branch record once ✓: no layers, a new staging
token, no compacted tree, epoch + 1. This makes the reset visible. A crash before the swap leaves cleanup records of
layers that are still listed, which the cleaner keeps. A crash after it leaves unreachable layers, which the cleaner
drops.

`reset(prefix)` adds a restoration layer: see `engine.staging.bulk`. `reset(path=…)`: see `engine.staging.restore`.

`hard_reset(ref)` refuses a dirty branch, records the head as a former head (`engine.references.former_heads`), and
with that swaps the branch record once ✓: the head becomes the commit, the compacted tree becomes none, epoch + 1. The
epoch tells a concurrent commit that its layers were discarded, and not taken by another commit. The branch record
contains the previous head, too (`engine.protocol.swap.following`), so a crash directly after the swap loses only the
hint for the log.
"""

from __future__ import annotations

from functools import partial

from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import cleanups, lists, retire, swap
from graveler_core.engine.reading.expired import require_content
from graveler_core.engine.reading.resolve import resolve_commit
from graveler_core.engine.reading.uncommitted import require_clean
from graveler_core.engine.references.events import note
from graveler_core.engine.references.former_heads import former_head
from graveler_core.engine.references.naming import require_expected
from graveler_core.errors import CorruptData, DirtyBranch, NotFound
from graveler_core.model.ids import BranchId, CommitId, RepositoryId
from graveler_core.model.protection import BranchAction
from graveler_core.model.references import steps_of
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import layout as keys
from graveler_core.staging.stack import is_dirty, layers_of
from graveler_core.stores import Registers, Stores


def reset(stores: Stores, repo: RepositoryId, branch: BranchId) -> None:
    """Discard all staged changes of a branch.

    Raises:
        NotFound: The repository or the branch does not exist.
        PermissionDenied: The branch is protected from writes, or the repository is read-only.
    """

    def attempt() -> bool | None:
        now = fresh(stores, repo, branch)
        require_permitted(now, BranchAction.WRITE)
        layers = layers_of(now.branch)
        token = keys.staging_token(now.repository, branch, stores.ids.fresh())
        record = now.branch.model_copy(
            update={
                "staging_token": token,
                "sealed_tokens": (),
                "compacted_metarange": None,
                "epoch": now.branch.epoch + 1,
            }
        )
        before = cleanups(stores, now, layers)
        if swap(stores, now, record, mine=partial(lists, layer_id=token), before=before) is None:
            return None
        retire(stores, now, layers)
        return True

    retry(stores, f"reset of {repo}/{branch}", attempt)


def hard_reset(
    stores: Stores, repo: RepositoryId, branch: BranchId, ref: str, expected: CommitId | None = None
) -> StoredCommit:
    """Move the head of a clean branch to the commit that a ref names. Return that commit.

    Raises:
        Conflict: The head is not the expected commit (`LostRace`).
        DirtyBranch: The branch has uncommitted changes.
        NotFound: The repository, the branch or the ref does not exist, or the content of the commit has expired
            (`ContentExpired`).
        PermissionDenied: The branch is protected from force, or the repository is read-only.
    """

    def attempt() -> StoredCommit | None:
        now = fresh(stores, repo, branch)
        require_permitted(now, BranchAction.FORCE)
        require_expected(now.branch, expected)
        target = resolve_commit(stores, now.repository, ref)
        if target.id != now.branch.commit_id:
            require_content(stores, now.repository, [target.id], parents=target.header.parents)
        _require_clean(stores, now)
        update = {"commit_id": target.id, "compacted_metarange": None, "epoch": now.branch.epoch + 1}
        left = [] if target.id == now.branch.commit_id else [former_head(stores, now.repository, now.branch.commit_id)]
        swapped = swap(stores, now, now.branch.model_copy(update=update), before=left)
        if swapped is None:
            return None
        if target.id != now.branch.commit_id:
            note(stores, now.repository, next(steps_of(swapped.branch)))
        return target

    return retry(stores, f"hard reset of {repo}/{branch}", attempt)


def _require_clean(stores: Stores, now: Registers) -> None:
    """Require a clean branch, even if its head is missing and the hard reset is a repair. Then the check does not use
    the head.
    """
    try:
        require_clean(stores, now, "a hard reset")
    except (NotFound, CorruptData) as lost:
        branch = now.branch
        if lost.details.get("commit") != branch.commit_id:
            raise
        if branch.compacted_metarange is not None or is_dirty(stores.stack(now.repository, layers_of(branch))):
            raise DirtyBranch(
                f"branch {branch.id!r} has uncommitted changes, and its head is lost; reset them before a hard reset",
                branch=branch.id,
            ) from lost
