"""Mutants of removals without a tombstone, with weaker conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unittest.mock import ANY

from graveler_core.codec.records import decode
from graveler_core.engine.staging import remove
from graveler_core.errors import OutcomeUnknown, PredicateFailed, SlowDown
from graveler_core.kv.bulk import delete_together
from graveler_core.kv.store import Expected, Store
from graveler_core.model.entities import BranchRecord
from tests.proofs.simulation.mutants.plant import instead, mutant

DELETION = (remove, "delete_together")


@mutant(seed=30, breaks="1", theme="removals")
def removal_deletes_the_staged_entry() -> Iterator[None]:
    """A staged entry that was never committed is deleted without a condition and without a closing re-read."""

    def deleted(kv: Store, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        for partition, key, _ in rows:
            kv.delete(partition, key)

    with instead((*DELETION, deleted)):
        yield


@mutant(seed=30, breaks="1", theme="removals")
def removal_looks_only_afterwards() -> Iterator[None]:
    """The condition of a deletion covers only the row. If the branch record changed, a tombstone is written."""

    def deleted(kv: Store, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        for row in rows:
            kv.delete_if(*row)
        [(partition, key, expected)] = unchanged
        try:
            found = kv.get(partition, key)
        except SlowDown as refused:
            raise OutcomeUnknown("deleted, and not looked at again") from refused
        if found is None or found.predicate != expected:
            raise PredicateFailed("the record has changed")

    with instead((*DELETION, deleted)):
        yield


@mutant(seed=30, breaks="1", theme="removals")
def removal_asks_for_the_token_only() -> Iterator[None]:
    """The condition of a deletion covers the staging token, but not the head."""

    def deleted(kv: Store, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        [(partition, key, _)] = unchanged
        found = kv.get(partition, key)
        if found is None or decode(BranchRecord, found.value, "branch").staging_token != rows[0][0].decode():
            raise PredicateFailed("another token")
        delete_together(kv, rows, [(partition, key, found.predicate)])

    with instead((*DELETION, deleted)):
        yield


@mutant(seed=241, breaks="7", theme="removals and repositories")
def removal_trusts_the_repository_it_knows() -> Iterator[None]:
    """A removal does not check whether the cached repository record is still current."""
    with instead((remove, "decode", lambda *_: ANY)):
        yield


@mutant(seed=0, breaks="1", theme="removals")
def removal_does_not_look_into_the_tree() -> Iterator[None]:
    """A staged entry is deleted although the compacted tree or the head has the path."""
    with instead((remove, "_is_wrong_below", lambda *_, **__: False)):
        yield


@mutant(seed=3118, breaks="1", theme="removals")
def removal_takes_a_refusal_for_its_lost_deletion() -> Iterator[None]:
    """A deletion without a response is sent again, and counts as done if it is refused."""

    def deleted(kv: Store, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        try:
            delete_together(kv, rows, unchanged)
        except OutcomeUnknown:
            try:
                delete_together(kv, rows, unchanged)
            except PredicateFailed:
                return

    with instead((*DELETION, deleted)):
        yield


@mutant(seed=3118, breaks="1", theme="removals")
def removal_mends_a_lost_deletion_by_a_tombstone() -> Iterator[None]:
    """A removal whose deletion got no response writes a tombstone and reports success."""

    def deleted(kv: Store, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        try:
            delete_together(kv, rows, unchanged)
        except OutcomeUnknown as lost:
            raise PredicateFailed("no answer") from lost

    with instead((*DELETION, deleted)):
        yield
