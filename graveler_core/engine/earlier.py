"""What earlier attempts at a commit may have done: under its idempotency key in other calls, or in this very call.

A swap whose answer was lost may still be on its way when the record is read again and stands unchanged. It is a
compare-and-swap on the record that the next attempt swaps from, so at most one of both succeeds; the one that loses
must not take the other for a stranger's, whose puts are in its way.
"""

from __future__ import annotations

from graveler_core.engine.advance import Tried, find_operation
from graveler_core.engine.draft import Draft, begin_operation
from graveler_core.engine.view import commit_of
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.ancestry import first_parents
from graveler_core.stores import Registers, Stores


def made_under_key(stores: Stores, registers: Registers, draft: Draft) -> StoredCommit | None:
    """The commit of an earlier call under the draft's idempotency key, on the chain of the head to be swapped from."""
    if not draft.idempotency_key:
        return None
    floor = begin_operation(stores, registers, draft.idempotency_key)
    return find_operation(stores, registers, draft.idempotency_key, floor)


def made_by_call(stores: Stores, registers: Registers, tried: Tried, began: CommitId) -> StoredCommit | None:
    """The newest commit that this call tried to make the head, between the head and the commit that it began on."""
    floor = commit_of(stores, registers.repository, began).header.generation
    for commit in first_parents(lambda c: commit_of(stores, registers.repository, c), registers.branch.commit_id):
        if commit.header.generation <= floor:
            return None
        if commit.id in tried.commits:
            return commit
    return None
