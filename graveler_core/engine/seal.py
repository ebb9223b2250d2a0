"""Sealing: the first swap of a commit and of a compaction.

✓ The staging token goes on top of `sealed_tokens` and a new one takes its place. From then on nothing acknowledged is
added to the old token: a writer that still uses it finds another token at its closing re-read, and writes again.
"""

from __future__ import annotations

from graveler_core.engine.permitted import require_permitted
from graveler_core.engine.registers import fresh, same_content
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import lists, swap
from graveler_core.errors import NoChanges, OutcomeUnknown
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.layers import SealedToken
from graveler_core.model.protection import Action
from graveler_core.records import layout as keys
from graveler_core.staging import area
from graveler_core.staging.stack import Stack, is_dirty
from graveler_core.stores import Registers, Stores


def seal(stores: Stores, repo: RepositoryId, branch: BranchId, *, allow_empty: bool) -> Registers:
    """Seal the staging token for a commit if it holds a record; gives the registers to build from.

    Raises:
        PermissionDenied: the branch is protected from commits, or the repository is read-only.
        NoChanges: no layer says anything and there is no compacted tree (unless `allow_empty`); nothing was sealed.
    """
    for _ in attempts(stores, f"branch {repo}/{branch}"):
        now = fresh(stores, repo, branch)
        require_permitted(now, Action.COMMIT)
        if not area.is_empty(stores.kv, now.branch.staging_token):
            sealed = _sealed(stores, now)
            if sealed is not None:
                return sealed
        elif allow_empty or now.branch.compacted_metarange is not None or _says_something(stores, now):
            return now
        elif same_content(now, fresh(stores, repo, branch)):
            raise NoChanges(f"branch {branch!r}: nothing to commit", branch=branch, commit=now.branch.commit_id)
    raise AssertionError("attempts() raises when it ends")


def _sealed(stores: Stores, now: Registers) -> Registers | None:
    token = keys.staging_token(now.repository, now.branch.id, stores.ids.fresh())
    layers = (SealedToken(token=now.branch.staging_token), *now.branch.sealed_tokens)
    record = now.branch.model_copy(update={"staging_token": token, "sealed_tokens": layers})
    try:
        return swap(stores, now, record, mine=lambda current: lists(current, token))
    except OutcomeUnknown:
        # Sealed or not, nothing is lost by looking again: what a token of mine held has been taken by another commit.
        return None


def _says_something(stores: Stores, now: Registers) -> bool:
    blobs = stores.blobs.at(now.repository.storage_namespace)
    return is_dirty(Stack(stores.kv, blobs, now.branch.sealed_tokens))
