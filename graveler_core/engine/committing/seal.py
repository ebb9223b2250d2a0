"""Sealing: the first swap of a commit.

✓ The staging token is put on top of `sealed_tokens`, and a new token replaces it. From then on, no write to the old
token is acknowledged: a writer that still uses it finds another token in its closing re-read and writes again.

A commit that does not succeed leaves the sealed token. If a branch has very many of them, they are compacted first
(`engine.staging.layer_room`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from graveler_core.engine.compacting.compaction import compact
from graveler_core.engine.protocol import write_counters as counting
from graveler_core.engine.protocol.registers import fresh, same_content
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import lists, swap
from graveler_core.engine.staging.layer_room import is_crowded
from graveler_core.errors import Conflict, NoChanges, OutcomeUnknown
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.layers import SealedToken
from graveler_core.model.protection import BranchAction
from graveler_core.records import layout as keys
from graveler_core.staging import area
from graveler_core.staging.stack import is_dirty
from graveler_core.stores import Registers, Stores

REPORTED_LAYERS: Final = 19
"""Number of layers below the one that a commit seals, from which on the commit reports the branch to the sensors. It
may be refused, and leave them all. The usual threshold for a compaction is 20 layers.
"""


def seal(stores: Stores, repo: RepositoryId, branch: BranchId, *, allow_empty: bool) -> Registers:
    """Seal the staging token for a commit if it contains a record. Return the registers to build from.

    Raises:
        PermissionDenied: The branch is protected from commits, or the repository is read-only.
        NoChanges: No layer contains changes and there is no compacted tree (unless `allow_empty`). Nothing was
            sealed.
    """

    def attempt() -> Registers | None:
        now = fresh(stores, repo, branch)
        require_permitted(now, BranchAction.COMMIT)
        if not area.is_empty(stores.kv, now.branch.staging_token):
            if is_crowded(now.branch):
                _make_room(stores, now)
                return None
            return _sealed(stores, now)
        if allow_empty or now.branch.compacted_metarange is not None:
            return now
        if is_dirty(stores.stack(now.repository, now.branch.sealed_tokens)):
            return now
        if same_content(now, fresh(stores, repo, branch)):
            raise NoChanges(f"branch {branch!r}: nothing to commit", branch=branch, commit=now.branch.commit_id)
        return None

    return retry(stores, f"branch {repo}/{branch}", attempt)


def _make_room(stores: Stores, now: Registers) -> None:
    """Compact the layers that earlier commits have sealed and left behind. Another flow may take them first, and the
    next attempt reads the record in any case.
    """
    with suppress(NoChanges, Conflict, OutcomeUnknown):
        compact(stores, now.repository.id, now.branch.id)


def _sealed(stores: Stores, now: Registers) -> Registers | None:
    if len(now.branch.sealed_tokens) >= REPORTED_LAYERS:
        counting.name(stores, now)
    token = keys.staging_token(now.repository, now.branch.id, stores.ids.fresh())
    layers = (SealedToken(token=now.branch.staging_token), *now.branch.sealed_tokens)
    record = now.branch.model_copy(update={"staging_token": token, "sealed_tokens": layers})
    try:
        return swap(stores, now, record, mine=lambda current: lists(current, token))
    except OutcomeUnknown:
        # It is safe to read the record again. If this call sealed the token, the record lists it, or another commit
        # already contains its records.
        return None
