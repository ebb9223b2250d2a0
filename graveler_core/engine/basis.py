"""Whether a branch is still what the author of a transaction looked at. Source: seed 002; optimistic concurrency as in
Delta Lake, where an overwrite conflicts with files that were added to what it read.

Judged against the branch record that the transaction swaps from, so that its swap proves the answer: whoever moves the
head, seals, compacts or puts a layer on the branch meanwhile makes the swap fail, and all is judged anew.

* The head is the commit, or (with prefixes) holds under each what the commit holds there. Commits of others elsewhere
  are no hindrance, else a large overwrite would starve on a busy branch.
* With prefixes, nothing is staged under any: no record in any layer down to the first restoration over it, no removal
  over a part of it, no difference of the compacted tree from the head. A matter of records, not of effect, as with a
  transaction's own paths. What others have staged is theirs: it is not thrown away by an overwrite (an acknowledged
  write is committed or stays staged), and left alone it would show through afterwards. So it is refused.

A write that is acknowledged after the look at the layers orders after the transaction, and stays staged on top.
"""

from __future__ import annotations

from graveler_core.committed.index.kept_differences import KeptDifferences
from graveler_core.engine.snapshot import diff
from graveler_core.engine.view import View
from graveler_core.errors import Conflict, DirtyBranch
from graveler_core.model.names import prefix_key
from graveler_core.model.operations import Basis
from graveler_core.segments.sorted_keys import KEY, prefix_end
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import Source, spans, within
from graveler_core.stores import Registers, Stores


def require_basis(stores: Stores, registers: Registers, view: View, basis: Basis) -> None:
    """Raise unless the branch record is of a branch that holds what the basis says.

    Raises:
        Conflict: (`LostRace`) the branch has moved on; `details` have `expected` and `actual`, commit ids.
        DirtyBranch: something is staged under a prefix; `details["paths"]` names one place.
        NotFound: (`CommitNotFound`) prefixes are given, and there is no such commit.
    """
    if not basis.under and registers.branch.commit_id != basis.commit:
        raise _moved(registers, basis, "has")
    for prefix in basis.under:
        _require_under(stores, registers, view, basis, prefix)


def _require_under(stores: Stores, registers: Registers, view: View, basis: Basis, prefix: str) -> None:
    branch, start = registers.branch, prefix_key(prefix)
    span = start, prefix_end(start)
    if branch.commit_id != basis.commit:
        sides = basis.commit, branch.commit_id
        if next(diff(stores, registers.repository, sides, span), None) is not None:
            raise _moved(registers, basis, f"has, under {prefix!r}, other contents at")
    dirty = _staged(stores, view, span)
    if dirty is not None:
        raise DirtyBranch(
            f"transaction: {dirty!r} is staged on branch {branch.id!r}, under {prefix!r}; commit or reset it first",
            paths=[dirty],
        )


def _moved(registers: Registers, basis: Basis, has: str) -> Conflict:
    branch = registers.branch
    return Conflict(
        f"transaction: branch {branch.id!r} {has} the head {branch.commit_id}, not {basis.commit}; look again",
        expected=basis.commit,
        actual=branch.commit_id,
    )


def _staged(stores: Stores, view: View, span: tuple[bytes, bytes | None]) -> str | None:
    """A path or prefix in a key span of which a layer or the compacted tree says something; None for none."""
    start, end = span
    for page in staged.scan(view.stack, start=start, end=end, few=1):
        if page.num_rows:
            return _text(page.column(KEY)[0].as_py())
    known = KeptDifferences(view.indexes, stores.uncommitted)
    for each in spans(view.stack.layers):
        part = within(each, start, end)
        if part is None or part.source is Source.HEAD:
            continue
        if part.source is Source.NOTHING:
            return _text(part.start)
        found = next(known.between(view.head, view.base, start=part.start, end=part.end), None)
        if found is not None:
            return _text(found.keys[0].as_py())
    return None


def _text(key: bytes) -> str:
    return key.decode(errors="replace")  # a part may begin behind a prefix, between two characters
