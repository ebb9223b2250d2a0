"""Lost answers that are misread, and repeated calls that do not look for what they did before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from graveler_core.codec.records import encode
from graveler_core.engine import advance, branching, commit, compaction, merge, transact, transplant
from graveler_core.engine.draft import Draft
from graveler_core.errors import Conflict, CorruptData, Kind, OutcomeUnknown, PredicateFailed
from graveler_core.model.entities import Branch
from graveler_core.model.ids import CommitId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.stores import Registers, Stores
from tests.simulation.mutants.plant import instead, mutant

HEAD_MOVERS = (commit, merge, transact, transplant)
FORGOTTEN = (advance.Tried, "told", lambda _: nullcontext())


@mutant(seed=122, breaks="5")
def lost_answer_of_an_advance_is_a_failure() -> Iterator[None]:
    """A commit whose answer was lost counts as not made, and is made again."""
    nothing = lambda *_: None  # noqa: E731
    failed = ((advance, "_chain", lambda *_: set()), (advance, "_not_happened", lambda *_: True))
    with instead(*failed, (commit, "made_by_call", nothing), (transact, "made_by_call", nothing), FORGOTTEN):
        yield


@mutant(seed=4, breaks="5")
def lost_answer_of_an_advance_is_a_success() -> Iterator[None]:
    """A commit whose answer was lost counts as made."""

    def hoped(stores: Stores, registers: Registers, record: Branch, made: CommitId, *_: Any) -> bool:
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


@mutant(seed=122, breaks="5")
def lost_answer_of_a_creation_is_a_failure() -> Iterator[None]:
    """A branch creation whose answer was lost is told to have found another branch."""

    def create(kv: Any, where: Any, record: Any, **options: Any) -> Any:
        try:
            return Held(record, kv.set_if(where.partition, where.key, encode(record), None))
        except OutcomeUnknown as e:
            raise PredicateFailed("taken for lost") from e

    with instead((branching, "access", SimpleNamespace(create=create, read=access.read, remove=access.remove))):
        yield


@mutant(seed=20, breaks="5", theme="transactions")
def commit_takes_its_own_late_swap_for_anothers() -> Iterator[None]:
    """A commit whose swap came through late answers that another commit took its changes."""
    with instead((commit, "made_by_call", lambda *_: None), FORGOTTEN):
        yield


@mutant(seed=163, breaks="5")
def commit_does_not_look_for_its_key() -> Iterator[None]:
    """A repeated commit does not look for its idempotency key on the chain."""
    with instead((commit, "_made_before", lambda *_: None)):
        yield


@mutant(seed=88, breaks="5", theme="writes")
def commit_looks_for_its_key_only_once() -> Iterator[None]:
    """A repeated commit looks for its key when it begins, not before each swap."""
    real = commit._made_before
    # Kept, so that no later draft is taken for one that is gone.
    asked: list[Draft] = []

    def once(stores: Stores, registers: Registers, draft: Draft) -> Any:
        if any(draft is known for known in asked):
            return None
        asked.append(draft)
        return real(stores, registers, draft)

    with instead((commit, "_made_before", once)):
        yield


@mutant(seed=59, breaks="5")
def lost_answer_of_an_advance_is_told_as_a_conflict() -> Iterator[None]:
    """A commit that may have been made, or may yet be, says that another one was."""

    def advanced(stores: Stores, registers: Registers, record: Branch, made: CommitId, *_: Any) -> bool:
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
    """A branch whose record is another one after a lost answer counts as deleted, and its layers are dropped."""

    def remove(kv: Any, where: Any, held: Any, **_: Any) -> bool:
        return access.remove(kv, where, held)

    with instead((branching, "access", SimpleNamespace(create=access.create, read=access.read, remove=remove))):
        yield


@mutant(seed=660, breaks="5")
def layer_that_another_took_is_taken_for_corrupt() -> Iterator[None]:
    """Who finds a layer's files gone does not ask whether the branch still lists it."""

    def corrupt(stores: Stores, used: Registers, missing: CorruptData) -> Registers:
        raise missing

    with instead(*((flow, "without_layer", corrupt) for flow in (commit, compaction, transact))):
        yield
