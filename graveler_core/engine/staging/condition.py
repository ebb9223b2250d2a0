"""Decide whether the condition of a conditional write held when its row was set.

A write that begins again may find its own entry on the branch. This does not prove its condition: another flow may have
changed the path after the write had looked at it, and before the write set its row. That flow was acknowledged, and the
row hides its entry. Other flows change what is below a token without replacing the token: a transaction, merge or
import moves the head, and a bulk write puts its layer below a token without records.

* If the branch was deleted and created again, nothing is known.
* If the row has replaced another row of its token, the condition held. What is below the token is hidden by either row.
* If the branch lists the token, the entry below the token decides. It must be the expected entry. It may also be the
  written entry, because equal writes do not exclude each other.
* If the token has left the branch record, the heads since the attempt decide. The first ones may show the same entry as
  the head that the attempt has read. Each later one must show the expected entry, or the entry of the row. If a commit
  took the token, it must have taken below the token only layers that the attempt has read, and commits must have taken
  all of these layers: a compaction may have dropped a layer before the attempt has read it. A compaction leaves no list
  of its layers, so a bulk write whose layer was put below the token and is part of the same compaction is not detected.

The condition is asked for each row that the write has set, in the attempt that ends the write. An earlier answer may
come from records that were outdated, for example from a layer that had been dropped already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile

from graveler_core.committed.index.lookup import lookup as lookup_committed
from graveler_core.engine.protocol.swap import lists
from graveler_core.engine.reading.view import commit_of, lookup, view_under
from graveler_core.model.entities import BranchRecord
from graveler_core.model.entry import Entry
from graveler_core.objects.commits import StoredCommit
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


def held(stores: Stores, rows: Sequence[SetRow], now: Registers, staged: Entry | None, expected: bytes | None) -> bool:
    """Return `True` if the condition held when earlier attempts set their rows.

    Args:
        stores: Stores of the flow.
        rows: The rows.
        now: Records of the present attempt.
        staged: Entry of the rows, or `None` for a tombstone.
        expected: Identity of the entry that the path must have had, or `None` if it must have had none.

    Returns:
        `True` if the condition held for each row, `False` if it did not, or if that is unknown.
    """
    return all(_held(stores, row, now, staged, expected) for row in rows)


def _held(stores: Stores, row: SetRow, now: Registers, staged: Entry | None, expected: bytes | None) -> bool:
    used = row.registers.branch
    if used.uid != now.branch.uid:
        return False
    if row.replaced:
        return True
    if not lists(now.branch, used.staging_token):
        return _held_in_heads(stores, row, now, staged, expected)
    layers = layers_of(now.branch)
    depth = [layer.id for layer in layers].index(used.staging_token)
    below = lookup(view_under(stores, now, layers[depth + 1 :]), row.path)
    return below == staged or _identity(below) == expected


def _held_in_heads(stores: Stores, row: SetRow, now: Registers, staged: Entry | None, expected: bytes | None) -> bool:
    commits = _commits_since(stores, row.registers, now)
    if not commits or _took_other_layers(commits, row.registers.branch):
        return False
    indexes, key = stores.indexes(now.repository), row.path.encode()
    first, *later = (_identity(lookup_committed(indexes, commit.layout.index, key)) for commit in commits)
    changed = dropwhile(lambda shown: shown == first, later)
    return all(shown in {expected, _identity(staged)} for shown in changed)


def _commits_since(stores: Stores, earlier: Registers, now: Registers) -> list[StoredCommit]:
    """Return the heads since an attempt, oldest first, beginning with its own. Return nothing if its head is not among
    the first parents of the present head.
    """
    used, repository = earlier.branch.commit_id, now.repository
    floor = commit_of(stores, repository, used).header.generation
    chain = []
    for commit in first_parents(lambda id_: commit_of(stores, repository, id_), now.branch.commit_id):
        chain.append(commit)
        if commit.header.generation <= floor:
            break
    return chain[::-1] if chain[-1].id == used else []


def _took_other_layers(commits: Sequence[StoredCommit], used: BranchRecord) -> bool:
    """Return `True` if one of the commits took the staging token of a branch record, but below it a layer that the
    record does not list, or if the commits left out a layer of the record.
    """
    known = frozenset(layer.id for layer in used.sealed_tokens)
    left = set(known)
    for commit in commits[1:]:
        taken = commit.header.consumed
        left.difference_update(taken)
        if used.staging_token in taken:
            return bool(left) or not known.issuperset(taken[taken.index(used.staging_token) + 1 :])
    return False


def _identity(entry: Entry | None) -> bytes | None:
    return None if entry is None else entry.identity
