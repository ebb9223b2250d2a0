"""Whether a branch is clean. Merge, revert, cherry-pick and hard reset refuse one that is not.

Dirty is a matter of records, not of effect: a branch is dirty if a layer holds any record or covers any prefix, or if
its compacted tree differs from its head. Judged by effect, a tombstone of an absent path would let a merge in, and
then revert what the merge brought under that path. An empty token is not dirty.
"""

from __future__ import annotations

from graveler_core.engine.uncommitted import against_head
from graveler_core.engine.view import view_of
from graveler_core.errors import DirtyBranch
from graveler_core.staging.stack import is_dirty
from graveler_core.stores import Registers, Stores


def require_clean(stores: Stores, registers: Registers, what: str) -> None:
    """Raise `DirtyBranch` if anything is staged on the branch.

    A write that is acknowledged after this check orders after the operation, and stays staged on top of it.
    """
    view = view_of(stores, registers)
    clean = not is_dirty(view.stack) and (
        view.base == view.head or next(against_head(view, stores.uncommitted), None) is None
    )
    if not clean:
        branch = registers.branch.id
        raise DirtyBranch(
            f"branch {branch!r} has uncommitted changes; commit or reset them before {what}", branch=branch
        )
