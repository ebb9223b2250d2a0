"""Reset of a single path: discard its staged change, so that the branch shows the head there.

1. If the only layer is the staging token and has an entry at the path, delete its row, as `engine.staging.remove` does
   and with the same conditions ✓. Below the token is the head, because there is no compacted tree.
2. Otherwise, look for a staged change of the path. If there is none, do nothing. A record that leaves the path as it is
   in the head counts as a change, because a commit that is being made may take an older record of the path.
3. Otherwise, add an exact restoration layer ✓: see `engine.staging.bulk`.
"""

from __future__ import annotations

from graveler_core.committed.index.lookup import lookup as lookup_committed
from graveler_core.engine.protocol.registers import fresh, same_content, settled
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.reading.view import view_of
from graveler_core.engine.staging.bulk import restore_prefix
from graveler_core.engine.staging.remove import delete_rows
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.names import path_key
from graveler_core.model.protection import BranchAction
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import LookupSource
from graveler_core.stores import Registers, Stores


def restore_path(stores: Stores, repo: RepositoryId, branch: BranchId, path: str) -> None:
    """Discard the staged change of one path. Do nothing if it has none.

    Raises:
        PermissionDenied: The branch is protected from writes, or the repository is read-only.
        SlowDown: The branch has too many layers.
        OutcomeUnknown: The change may have been discarded or may still be discarded.
    """
    key = path_key(path)

    def is_changed(now: Registers) -> bool:
        view = view_of(stores, now)
        match staged.lookup(view.stack, path):
            case LookupSource.HEAD:
                return False
            case LookupSource.BASE:
                if view.compacted is None:
                    return False
                base, head = (lookup_committed(view.indexes, index, key) for index in (view.compacted, view.head))
                return base != head
            case _:
                return True

    require_permitted(fresh(stores, repo, branch), BranchAction.WRITE)
    if delete_rows(stores, repo, branch, [key], to_head=True):
        return
    if settled(stores, repo, branch, is_changed, same=same_content):
        restore_prefix(stores, repo, branch, path, exact=True)
