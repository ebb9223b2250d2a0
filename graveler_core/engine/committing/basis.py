"""Check that a branch still has the state on which a transaction is based. Source: seed 002; optimistic concurrency as
in Delta Lake, where an overwrite conflicts with files that were added to what it read.

The check uses the branch record from which the transaction swaps. A successful swap therefore proves that the result of
the check was still valid. If another flow moves the head, seals, compacts or adds a layer in the meantime, the swap
fails and everything is checked again.

* The head is the commit of the basis or, with prefixes, has the same content as the commit under each prefix. Other
  commits may change other paths. Otherwise a large overwrite would starve on a busy branch.
* With prefixes, nothing is staged under any of them. There must be no record in the layers above the newest restoration
  of the prefix, no prefix removal that overlaps the prefix, and no difference between compacted tree and head. A record
  counts even if it has no effect, as for a transaction's own paths. An overwrite must not discard staged changes,
  because an acknowledged write is committed or stays staged. If the staged changes stayed, they would hide the
  overwrite. Therefore the transaction is refused.

A write that is acknowledged after the layers were checked is ordered after the transaction, and stays staged on top.
"""

from __future__ import annotations

from graveler_core.committed.index.kept_differences import KeptDifferences
from graveler_core.engine.reading.snapshot import diff
from graveler_core.engine.reading.view import BranchView
from graveler_core.errors import Conflict, DirtyBranch
from graveler_core.model.key_intervals import prefix_end
from graveler_core.model.names import prefix_key
from graveler_core.model.operations import Basis
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import LookupSource, spans
from graveler_core.stores import Registers, Stores


def require_basis(stores: Stores, registers: Registers, view: BranchView, basis: Basis) -> None:
    """Raise an error unless the branch has the state that the basis describes.

    Raises:
        Conflict: The branch has moved on (`LostRace`). `details` has the commit ids `expected` and `actual`.
        DirtyBranch: Something is staged under a prefix. `details["paths"]` names one place.
        NotFound: Prefixes are given, and the commit does not exist (`CommitNotFound`).
    """
    if not basis.under and registers.branch.commit_id != basis.commit:
        raise _moved(registers, basis, "")
    for prefix in basis.under:
        _require_under(stores, registers, view, basis, prefix)


def _require_under(stores: Stores, registers: Registers, view: BranchView, basis: Basis, prefix: str) -> None:
    branch, start = registers.branch, prefix_key(prefix)
    span = start, prefix_end(start)
    if branch.commit_id != basis.commit:
        sides = basis.commit, branch.commit_id
        if next(diff(stores, registers.repository, sides, span), None) is not None:
            raise _moved(registers, basis, f" under {prefix!r}")
    dirty = _staged(stores, view, span)
    if dirty is not None:
        raise DirtyBranch(
            f"transaction: {dirty!r} is staged on branch {branch.id!r}, under {prefix!r}; commit or reset it first",
            paths=[dirty],
        )


def _moved(registers: Registers, basis: Basis, where: str) -> Conflict:
    branch = registers.branch
    return Conflict(
        f"transaction: branch {branch.id!r} has changed{where} since commit {basis.commit}, on which the transaction "
        f"is based; the head is now {branch.commit_id}; read the branch again, then repeat the transaction",
        expected=basis.commit,
        actual=branch.commit_id,
    )


def _staged(stores: Stores, view: BranchView, span: tuple[bytes, bytes | None]) -> str | None:
    """Return a path or prefix in a key interval with a staged change or a change in the compacted tree, or `None`."""
    start, end = span
    for page in staged.scan(view.stack, start=start, end=end, few=1):
        if page.num_rows:
            return _text(page.column(KEY)[0].as_py())
    known = KeptDifferences(view.indexes, stores.uncommitted)
    for part in spans(view.stack.layers, start, end):
        if part.source is LookupSource.HEAD:
            continue
        if part.source is LookupSource.NOTHING:
            return _text(part.start)
        found = next(known.between(view.head, view.base, start=part.start, end=part.end), None)
        if found is not None:
            return _text(found.keys[0].as_py())
    return None


def _text(key: bytes) -> str:
    return key.decode(errors="replace")  # a part may begin after a prefix, between the bytes of a character
