"""Mutants that misread lost responses, and repeated calls that do not look for their first result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from graveler_core.codec.records import encode
from graveler_core.engine.committing import commit, earlier_attempts, head
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.committing.head import NewHead
from graveler_core.engine.compacting import compaction
from graveler_core.engine.protocol.swap import record_writes
from graveler_core.engine.references import branching
from graveler_core.errors import Conflict, CorruptData, Kind, OutcomeUnknown, PredicateFailed
from graveler_core.model.entities import BranchRecord
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.stores import Registers, Stores
from tests.proofs.simulation.mutants.plant import instead, mutant

HEAD_MOVERS = (commit, head)
FORGOTTEN = (earlier_attempts.TriedCommits, "reported", lambda _: nullcontext())


@mutant(seed=4, breaks="5")
def lost_answer_of_an_advance_is_a_failure() -> Iterator[None]:
    """A commit without a response counts as failed, and is made again."""
    nothing = lambda *_: None  # noqa: E731
    failed = ((head, "_chain", lambda *_: set()), (head, "_not_happened", lambda *_: True))
    with instead(*failed, (commit, "find_tried", nothing), (head, "find_tried", nothing), FORGOTTEN):
        yield


@mutant(seed=4, breaks="5")
def lost_answer_of_an_advance_is_a_success() -> Iterator[None]:
    """A commit without a response counts as made."""

    def hoped(stores: Stores, registers: Registers, record: BranchRecord, made: NewHead, *_: Any) -> bool:
        record_writes(stores, made.writes)
        where = keys.branch(registers.repository, record.id)
        try:
            stores.kv.set_if(where.partition, where.key, encode(record), registers.held.predicate)
        except PredicateFailed:
            return False
        except OutcomeUnknown:
            return True
        return True

    with instead(*((flow, "advance", hoped) for flow in HEAD_MOVERS)):
        yield


@mutant(seed=128, breaks="5")
def lost_answer_of_a_creation_is_a_failure() -> Iterator[None]:
    """The creation of a branch without a response reports that another branch exists."""

    def create(kv: Any, where: Any, record: Any, **options: Any) -> Any:
        try:
            return Held(record, kv.set_if(where.partition, where.key, encode(record), None))
        except OutcomeUnknown as e:
            raise PredicateFailed("taken for lost") from e

    with instead((branching, "access", SimpleNamespace(create=create, read=access.read, remove=access.remove))):
        yield


@mutant(seed=467, breaks="5", theme="transactions")
def commit_takes_its_own_late_swap_for_anothers() -> Iterator[None]:
    """A commit whose swap took effect late reports that another commit contains its changes."""
    with instead((commit, "find_tried", lambda *_: None), FORGOTTEN):
        yield


@mutant(seed=154, breaks="5")
def commit_does_not_look_for_its_key() -> Iterator[None]:
    """A repeated commit does not search the history for its idempotency key."""
    with instead((commit, "find_by_key", lambda *_: None)):
        yield


@mutant(seed=1, breaks="5", theme="writes")
def commit_looks_for_its_key_only_once() -> Iterator[None]:
    """A repeated commit searches for its idempotency key at its start, but not before each swap."""
    real = commit.find_by_key
    # Kept, so that no later draft is taken for one that is gone.
    asked: list[Draft] = []

    def once(stores: Stores, registers: Registers, draft: Draft) -> Any:
        if any(draft is known for known in asked):
            return None
        asked.append(draft)
        return real(stores, registers, draft)

    with instead((commit, "find_by_key", once)):
        yield


@mutant(seed=59, breaks="5")
def lost_answer_of_an_advance_is_told_as_a_conflict() -> Iterator[None]:
    """A commit that was made, or may be made later, reports that another commit was made."""

    def advanced(stores: Stores, registers: Registers, record: BranchRecord, made: NewHead, *_: Any) -> bool:
        record_writes(stores, made.writes)
        where = keys.branch(registers.repository, record.id)
        try:
            stores.kv.set_if(where.partition, where.key, encode(record), registers.held.predicate)
        except PredicateFailed:
            return False
        except OutcomeUnknown as e:
            raise Conflict("taken for lost", kind=Kind.LostRace) from e
        return True

    with instead(*((flow, "advance", advanced) for flow in HEAD_MOVERS)):
        yield


@mutant(seed=72, breaks="1")
def lost_answer_of_a_deletion_is_a_success() -> Iterator[None]:
    """A deletion without a response counts as done if another record is found, and the layers are dropped."""

    def remove(kv: Any, where: Any, held: Any, **_: Any) -> bool:
        return access.remove(kv, where, held)

    with instead((branching, "access", SimpleNamespace(create=access.create, read=access.read, remove=remove))):
        yield


@mutant(seed=1017, breaks="5")
def layer_that_another_took_is_taken_for_corrupt() -> Iterator[None]:
    """A flow that finds the files of a layer deleted reports damage, without reading the branch again."""

    def corrupt(stores: Stores, used: Registers, missing: CorruptData) -> Registers:
        raise missing

    with instead(*((flow, "without_layer", corrupt) for flow in (commit, compaction, head))):
        yield
