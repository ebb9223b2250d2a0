"""Mutants of the log of references: another order of steps, or missing checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graveler_core.codec.records import encode
from graveler_core.engine.committing import head
from graveler_core.engine.protocol import swap
from graveler_core.engine.protocol.swap import record_writes
from graveler_core.engine.reading.view import commit_of
from graveler_core.engine.references import branching, reset
from graveler_core.engine.references import events as reference_events
from graveler_core.engine.references import log as reference_log
from graveler_core.kv.bulk import set_many
from graveler_core.model.entities import BranchRecord
from graveler_core.model.references import InternalReference
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.proofs.simulation.mutants.plant import instead, mutant
from tests.proofs.simulation.references import THEME

LOG = "the log of references is correct"
FORMER = "former heads are recorded"


@mutant(seed=72, breaks=LOG, theme=THEME)
def intent_is_written_after_the_deletion() -> Iterator[None]:
    """The intent of a deletion is written after the record was deleted."""
    late: dict[int, Any] = {}

    def without_intent(stores: Any, writes: Any) -> None:
        late[id(stores)] = writes[-1]
        record_writes(stores, writes[:-1])

    def then(stores: Any, repo: Any) -> None:
        set_many(stores.kv, [late.pop(id(stores))])

    with instead((branching, "record_writes", without_intent), (branching, "fold_sometimes", then)):
        yield


@mutant(seed=54, breaks=LOG, theme=THEME)
def fold_forgets_what_waits_before_its_swap() -> Iterator[None]:
    """A fold removes the pending events before its swap puts them into the log."""

    def fold(stores: Any, repo: Any, waiting: Any) -> int:
        decision = reference_events.decide(stores, repo, waiting)
        for key, held in decision.spent:
            access.remove(stores.kv, keys.pending_events(repo).at(key), held)
        while decision.happened and not reference_log.put(reference_log.read_log(stores, repo), decision.happened):
            pass
        return len(decision.happened)

    with instead((reference_events, "_fold", fold)):
        yield


@mutant(seed=988, breaks=LOG, theme=THEME)
def fold_does_not_ask_what_is_logged() -> Iterator[None]:
    """A fold logs every intent of a deleted branch, even if the deletion is already logged."""
    with instead((reference_events, "deletion_key", lambda event: "none")):
        yield


@mutant(seed=263, breaks=LOG, theme=THEME)
def intent_counts_as_deletion() -> Iterator[None]:
    """Every intent is logged as a deletion, even if the branch still exists."""
    real = access.read_many

    def nothing(kv: Any, locations: Any) -> Any:
        return [
            None if where.model is BranchRecord else held
            for where, held in zip(locations, real(kv, locations), strict=True)
        ]

    with instead((reference_events, "access", _Access(nothing))):
        yield


@mutant(seed=100, breaks=LOG, theme=THEME)
def log_is_moved_without_a_swap() -> Iterator[None]:
    """A fold moves the reference to the log with a plain write, even if another fold has moved it."""

    def point(log: Any, commit: Any, writes: Any = ()) -> bool:
        record_writes(log.stores, writes)
        where = keys.reference_log(log.repository)
        access.write(log.stores.kv, where, InternalReference(commit_id=commit, nonce=log.stores.ids.fresh()))
        return True

    with instead((reference_log, "point", point)):
        yield


@mutant(seed=125, breaks=LOG, theme=THEME)
def any_intent_tells_the_head() -> Iterator[None]:
    """The first of several intents to delete a branch is logged, although the branch may have moved since."""
    with instead((reference_events, "_knows", lambda event: event.id)):
        yield


@mutant(seed=9, breaks=LOG, theme=THEME)
def moves_are_forgotten() -> Iterator[None]:
    """A swap that moves the head does not record the former head."""
    real = swap.following

    def forgetful(stores: Any, now: Any, record: Any) -> Any:
        return real(stores, now, record).model_copy(update={"past": now.past})

    with instead((swap, "following", forgetful), (head, "following", forgetful)):
        yield


@mutant(seed=91, breaks=FORMER, theme=THEME)
def hard_reset_forgets_the_former_head() -> Iterator[None]:
    """A hard reset does not record the commit that the branch leaves."""
    with instead((reset, "former_head", _nothing_new)):
        yield


@mutant(seed=9, breaks=FORMER, theme=THEME)
def deletion_forgets_the_former_head() -> Iterator[None]:
    """The deletion of a branch does not record the commit that the branch leaves."""
    with instead((branching, "former_head", _nothing_new)):
        yield


def _nothing_new(stores: Any, repo: Any, commit: Any) -> Any:
    """A write without effect: the header of the commit, which exists."""
    where = keys.commit(repo, commit)
    return where.partition, where.key, encode(commit_of(stores, repo, commit).header)


class _Access:
    """`records.access` with another way of reading many."""

    def __init__(self, read_many: Any) -> None:
        self.read_many = read_many

    def __getattr__(self, name: str) -> Any:
        return getattr(access, name)
