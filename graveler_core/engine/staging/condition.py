"""Decide whether the condition of a conditional write held when its row was set.

A write that begins again may find its own entry on the branch. This does not prove its condition: another flow may have
changed the path after the write had looked at it, and before the write set its row. That flow was acknowledged, and the
row hides its entry. Other flows change what is below a token without replacing the token: a transaction, merge or
import moves the head, and a bulk write puts its layer below a token without records.

* If the branch was deleted and created again, nothing is known.
* If the row has replaced another row of its token, the condition held. What is below the token is hidden by either row.
* If the branch lists the token, the entry below the token decides. It must be the expected entry. It may also be the
  written entry, because equal writes do not exclude each other.
* If the token has left the branch record, only the heads since the attempt are known. The first ones may show the same
  entry as the head that the attempt has read. Each later one must show the expected entry, because a commit may contain
  layers below the token, or the entry of the row. A bulk write whose layer was put below the token and is part of the
  same commit is not detected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile

from graveler_core.committed.index.lookup import lookup as lookup_committed
from graveler_core.engine.protocol.swap import lists
from graveler_core.engine.reading.view import commit_of, lookup, view_under
from graveler_core.model.entry import Entry
from graveler_core.refs.ancestry import first_parents
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class SetRow:
    """Row that an attempt of a conditional write has set, or may have set."""

    registers: Registers
    """Records that the attempt has read."""
    path: str
    replaced: bool
    """`True` if the row has replaced another row of the staging token."""


def held(stores: Stores, earlier: SetRow, now: Registers, staged: Entry, expected: bytes | None) -> bool:
    """Return `True` if the condition held when an earlier attempt set its row.

    Args:
        stores: Stores of the flow.
        earlier: The row.
        now: Records of the present attempt.
        staged: Entry of the row.
        expected: Identity of the entry that the path must have had, or `None` if it must have had none.

    Returns:
        `True` if the condition held, `False` if it did not, or if that is unknown.
    """
    used = earlier.registers.branch
    if used.uid != now.branch.uid:
        return False
    if earlier.replaced:
        return True
    if not lists(now.branch, used.staging_token):
        return _held_in_heads(stores, earlier, now, staged, expected)
    layers = layers_of(now.branch)
    depth = [layer.id for layer in layers].index(used.staging_token)
    below = lookup(view_under(stores, now, layers[depth + 1 :]), earlier.path)
    return below == staged or _identity(below) == expected


def _held_in_heads(stores: Stores, earlier: SetRow, now: Registers, staged: Entry, expected: bytes | None) -> bool:
    heads = list(_heads(stores, earlier, now))
    if not heads:
        return False
    *_, first = heads
    changed = dropwhile(lambda shown: shown == first, reversed(heads))
    return all(shown in {expected, staged.identity} for shown in changed)


def _heads(stores: Stores, earlier: SetRow, now: Registers) -> Iterator[bytes | None]:
    """Yield the identity of the path in each head since the attempt, newest first, its own head last. Yield nothing if
    the head of the attempt is not among the first parents of the present head.
    """
    used, repository = earlier.registers.branch.commit_id, now.repository
    floor = commit_of(stores, repository, used).header.generation
    chain = []
    for commit in first_parents(lambda id_: commit_of(stores, repository, id_), now.branch.commit_id):
        chain.append(commit)
        if commit.header.generation <= floor:
            break
    if chain[-1].id != used:
        return
    indexes = stores.indexes(repository)
    for commit in chain:
        yield _identity(lookup_committed(indexes, commit.layout.index, earlier.path.encode()))


def _identity(entry: Entry | None) -> bytes | None:
    return None if entry is None else entry.identity
