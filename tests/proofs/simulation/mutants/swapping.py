"""Mutants that write without a compare-and-swap, or leave out a field in a swap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from types import SimpleNamespace
from typing import Any

import greenlet

from graveler_core.codec.records import encode
from graveler_core.engine.committing import commit, head, seal, transact
from graveler_core.engine.committing.head import NewHead
from graveler_core.engine.merging import merge, transplant
from graveler_core.engine.protocol.swap import Write, cleanups, record_writes, swap
from graveler_core.engine.reading.view import commit_of
from graveler_core.engine.references import branching, reset
from graveler_core.engine.staging import bulk
from graveler_core.model.entities import BranchRecord
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs.ancestry import first_parents
from graveler_core.staging import area
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Registers, Stores
from tests.proofs.simulation.mutants.plant import GARBAGE, instead, mutant


def written(
    stores: Stores, now: Registers, record: BranchRecord, *, before: Sequence[Write] = (), **_: Any
) -> Registers:
    """What stands there now is not asked about."""
    record_writes(stores, before)
    where = keys.branch(now.repository, now.branch.id)
    stores.kv.set(where.partition, where.key, encode(record))
    found = access.read(stores.kv, where)
    return Registers(now.repository, found or now.held)


def _keeping_compacted(real: Callable[..., Any]) -> Callable[..., Any]:
    """A swap that leaves the compacted tree in place."""

    def swapped(stores: Stores, now: Registers, record: BranchRecord, *rest: Any, **options: Any) -> Any:
        kept = record.model_copy(update={"compacted_metarange": now.branch.compacted_metarange})
        return real(stores, now, kept, *rest, **options)

    return swapped


def in_calls(flow: Any, advance: Callable[..., bool]) -> Iterator[tuple[Any, str, Any]]:
    """Patches for the calls of one flow: they move the head in another way, those of other flows as ever."""
    callers: set[object] = set()
    real, move_head = head.advance, flow.move_head

    def moved(*arguments: Any) -> Any:
        callers.add(greenlet.getcurrent())
        try:
            return move_head(*arguments)
        finally:
            callers.discard(greenlet.getcurrent())

    def advanced(*arguments: Any) -> bool:
        return (advance if greenlet.getcurrent() in callers else real)(*arguments)

    yield flow, "move_head", moved
    yield head, "advance", advanced


@mutant(seed=114, breaks="1")
def seal_without_a_swap() -> Iterator[None]:
    """A commit seals with a plain write of the branch record."""
    with instead((seal, "swap", written)):
        yield


@mutant(seed=9, breaks="4")
def bulk_write_without_a_swap() -> Iterator[None]:
    """A bulk write adds its layer with a plain write of the branch record."""
    with instead((bulk, "swap", written)):
        yield


@mutant(seed=18, breaks="4")
def advance_without_a_swap() -> Iterator[None]:
    """A commit moves the head with a plain write of the branch record."""

    def advanced(stores: Stores, registers: Registers, record: BranchRecord, made: NewHead, *_: Any) -> bool:
        written(stores, registers, record, before=made.writes)
        return True

    with instead((commit, "advance", advanced)):
        yield


@mutant(seed=5, breaks="4")
def branch_is_created_over_another() -> Iterator[None]:
    """A branch is created with a plain write, even if a branch with this name exists."""

    def create(kv: Any, where: Any, record: Any, **_: Any) -> Held[Any]:
        kv.set(where.partition, where.key, encode(record))
        return Held(record, b"")  # type: ignore[arg-type]

    with instead((branching, "access", SimpleNamespace(create=create, read=access.read, remove=access.remove))):
        yield


@mutant(seed=72, breaks=GARBAGE)
def branch_is_deleted_whatever_it_has_become() -> Iterator[None]:
    """A branch record is deleted even if it has changed."""

    def remove(kv: Any, where: Any, held: Any, **_: Any) -> bool:
        kv.delete(where.partition, where.key)
        return True

    with instead((branching, "access", SimpleNamespace(create=access.create, read=access.read, remove=remove))):
        yield


@mutant(seed=15, breaks="4")
def commit_forgets_to_clear_the_compacted_tree() -> Iterator[None]:
    """A commit moves the head and keeps the compacted tree on which it was built."""
    with instead((commit, "advance", _keeping_compacted(commit.advance))):
        yield


@mutant(seed=434, breaks="4")
def reset_forgets_the_compacted_tree() -> Iterator[None]:
    """A reset removes the layers and keeps the compacted tree."""
    with instead((reset, "swap", _keeping_compacted(reset.swap))):
        yield


@mutant(seed=2, breaks="4")
def merge_does_not_clear_the_compacted_tree() -> Iterator[None]:
    """A merge moves the head and keeps a compacted tree that hides the head."""
    with instead(*in_calls(merge, _keeping_compacted(head.advance))):
        yield


@mutant(seed=161, breaks="4", theme="heads")
def replay_does_not_clear_the_compacted_tree() -> Iterator[None]:
    """A cherry-pick or revert moves the head and keeps a compacted tree that hides the head."""
    with instead(*in_calls(transplant, _keeping_compacted(head.advance))):
        yield


@mutant(seed=56, breaks="4")
def transact_does_not_apply_to_the_compacted_tree() -> Iterator[None]:
    """A transaction keeps the compacted tree unchanged, so the tree hides the transaction."""
    with instead(
        (transact, "_compacted", lambda stores, view, outcome: view.compacted and view.compacted.metarange_id)
    ):
        yield


@mutant(seed=1107, breaks="1")
def transact_clears_the_compacted_tree() -> Iterator[None]:
    """A transaction drops the compacted tree, and with it the staged changes in the tree."""
    with instead((transact, "_compacted", lambda stores, view, outcome: None)):
        yield


@mutant(seed=666, breaks="1")
def bulk_write_replaces_a_token_that_looked_empty() -> Iterator[None]:
    """A bulk write replaces a staging token that it found empty, although a writer may be using it."""

    def swapped(stores: Stores, now: Registers, layer: Any, epoch: int) -> bool:
        below = now.branch.sealed_tokens
        sealed = (
            ()
            if area.is_empty(stores.kv, now.branch.staging_token)
            else (bulk.SealedToken(token=now.branch.staging_token),)
        )
        token = keys.staging_token(now.repository, now.branch.id, stores.ids.fresh())
        record_writes(stores, cleanups(stores, now, layers_of(now.branch)))
        update = {"epoch": epoch, "sealed_tokens": (layer, *sealed, *below), "staging_token": token}
        record = now.branch.model_copy(update=update)
        return bulk.swap(stores, now, record, mine=lambda current: bulk.lists(current, layer.id)) is not None

    with instead((bulk, "_swapped", swapped)):
        yield


@mutant(seed=199, breaks="1", theme="merges")
def merge_drops_what_is_staged_meanwhile() -> Iterator[None]:
    """The swap of a merge removes all layers, also those that were added after its check for staged changes."""
    real = head.advance

    def advanced(stores: Stores, registers: Registers, record: BranchRecord, made: NewHead, *rest: Any) -> bool:
        token = keys.staging_token(registers.repository, record.id, stores.ids.fresh())
        update = {"staging_token": token, "sealed_tokens": ()}
        record_writes(stores, cleanups(stores, registers, layers_of(registers.branch)))
        return real(stores, registers, record.model_copy(update=update), made, *rest)

    with instead(*in_calls(merge, advanced)):
        yield


@mutant(seed=111, breaks="4", theme="merges")
def merge_moves_the_head_commit_by_commit() -> Iterator[None]:
    """A merge that repeats commits moves the head to each of them in turn."""
    real = head.advance

    def advanced(stores: Stores, registers: Registers, record: BranchRecord, made: NewHead, *rest: Any) -> bool:
        now: Registers | None = registers
        chain = takewhile(lambda c: c.id != registers.branch.commit_id, _chain(stores, registers, made.commit.id))
        for part in reversed(list(chain)[1:]):
            now = now and swap(stores, now, now.branch.model_copy(update={"commit_id": part.id}))
        return now is not None and real(stores, now, record, made, *rest)

    with instead(*in_calls(merge, advanced)):
        yield


def _chain(stores: Stores, registers: Registers, head: CommitId) -> Iterator[StoredCommit]:
    return first_parents(lambda commit: commit_of(stores, registers.repository, commit), head)


@mutant(seed=85, breaks="5", theme="resets")
def resets_keep_the_epoch() -> Iterator[None]:
    """A reset or hard reset does not increment the epoch of the branch, so running commits do not detect it."""
    real = reset.swap

    def swapped(stores: Stores, now: Registers, record: BranchRecord, **options: Any) -> Registers | None:
        return real(stores, now, record.model_copy(update={"epoch": now.branch.epoch}), **options)

    with instead((reset, "swap", swapped)):
        yield
