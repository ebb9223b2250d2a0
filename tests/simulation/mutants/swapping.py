"""Swaps that are none, that forget a field, and lost answers that are misread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from graveler_core.codec.records import encode
from graveler_core.engine import advance, branching, bulk, commit, merge, reset, seal, transact, transplant
from graveler_core.errors import OutcomeUnknown, PredicateFailed
from graveler_core.model.entities import Branch
from graveler_core.model.ids import CommitId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.staging import area
from graveler_core.stores import Registers, Stores
from tests.simulation.mutants.plant import instead, mutant


def _set(stores: Stores, now: Registers, record: Branch, **_: Any) -> Registers:
    """What stands there now is not asked about."""
    where = keys.branch(now.repository, now.branch.id)
    stores.kv.set(where.partition, where.key, encode(record))
    found = access.read(stores.kv, where)
    return Registers(now.repository, found or now.held)


def _keeping_compacted(real: Callable[..., Any]) -> Callable[..., Any]:
    """A swap that leaves the compacted tree in place."""

    def swapped(stores: Stores, now: Registers, record: Branch, *rest: Any, **options: Any) -> Any:
        kept = record.model_copy(update={"compacted_metarange": now.branch.compacted_metarange})
        return real(stores, now, kept, *rest, **options)

    return swapped


@mutant(seed=0)
def seal_without_a_swap() -> Iterator[None]:
    with instead((seal, "swap", _set)):
        yield


@mutant(seed=0)
def bulk_write_without_a_swap() -> Iterator[None]:
    with instead((bulk, "swap", _set)):
        yield


@mutant(seed=0)
def advance_without_a_swap() -> Iterator[None]:
    def advanced(stores: Stores, registers: Registers, record: Branch, commit: CommitId) -> bool:
        _set(stores, registers, record)
        return True

    with instead((commit, "advance", advanced)):
        yield


@mutant(seed=0)
def branch_is_created_over_another() -> Iterator[None]:
    def create(kv: Any, where: Any, record: Any, **_: Any) -> Held[Any]:
        kv.set(where.partition, where.key, encode(record))
        return Held(record, b"")  # type: ignore[arg-type]

    with instead((branching, "access", SimpleNamespace(create=create, read=access.read, remove=access.remove))):
        yield


@mutant(seed=0)
def branch_is_deleted_whatever_it_has_become() -> Iterator[None]:
    def remove(kv: Any, where: Any, held: Any, **_: Any) -> bool:
        kv.delete(where.partition, where.key)
        return True

    with instead((branching, "access", SimpleNamespace(create=access.create, read=access.read, remove=remove))):
        yield


@mutant(seed=0)
def commit_forgets_to_clear_the_compacted_tree() -> Iterator[None]:
    with instead((commit, "advance", _keeping_compacted(commit.advance))):
        yield


@mutant(seed=0)
def reset_forgets_the_compacted_tree() -> Iterator[None]:
    with instead((reset, "swap", _keeping_compacted(reset.swap))):
        yield


@mutant(seed=0)
def merge_does_not_clear_the_compacted_tree() -> Iterator[None]:
    with instead((merge, "advance", _keeping_compacted(merge.advance))):
        yield


@mutant(seed=0)
def replay_does_not_clear_the_compacted_tree() -> Iterator[None]:
    with instead((transplant, "advance", _keeping_compacted(transplant.advance))):
        yield


@mutant(seed=0)
def transact_does_not_apply_to_the_compacted_tree() -> Iterator[None]:
    with instead((transact, "_compacted", lambda stores, view, changes: view.compacted)):
        yield


@mutant(seed=0)
def transact_clears_the_compacted_tree() -> Iterator[None]:
    with instead((transact, "_compacted", lambda stores, view, changes: None)):
        yield


@mutant(seed=0)
def bulk_write_replaces_a_token_that_looked_empty() -> Iterator[None]:
    def swapped(stores: Stores, now: Registers, layer: Any, epoch: int) -> bool:
        below = now.branch.sealed_tokens
        sealed = (
            ()
            if area.is_empty(stores.kv, now.branch.staging_token)
            else (bulk.SealedToken(token=now.branch.staging_token),)
        )
        token = keys.staging_token(now.repository, now.branch.id, stores.ids.fresh())
        update = {"epoch": epoch, "sealed_tokens": (layer, *sealed, *below), "staging_token": token}
        record = now.branch.model_copy(update=update)
        return bulk.swap(stores, now, record, mine=lambda current: bulk.lists(current, layer.id)) is not None

    with instead((bulk, "_swapped", swapped)):
        yield


@mutant(seed=0)
def lost_answer_of_an_advance_is_a_failure() -> Iterator[None]:
    nothing = lambda *_: None  # noqa: E731
    failed = ((advance, "_chain", lambda *_: set()), (advance, "_not_happened", lambda *_: True))
    with instead(*failed, (commit, "made_by_call", nothing), (transact, "made_by_call", nothing)):
        yield


@mutant(seed=0)
def lost_answer_of_an_advance_is_a_success() -> Iterator[None]:
    def hoped(stores: Stores, registers: Registers, record: Branch, made: CommitId) -> bool:
        where = keys.branch(registers.repository, record.id)
        try:
            stores.kv.set_if(where.partition, where.key, encode(record), registers.held.predicate)
        except PredicateFailed:
            return False
        except OutcomeUnknown:
            return True
        return True

    with instead(*((flow, "advance", hoped) for flow in (commit, merge, transact, transplant))):
        yield


@mutant(seed=0)
def lost_answer_of_a_creation_is_a_failure() -> Iterator[None]:
    def create(kv: Any, where: Any, record: Any, **options: Any) -> Any:
        try:
            return Held(record, kv.set_if(where.partition, where.key, encode(record), None))
        except OutcomeUnknown as e:
            raise PredicateFailed("taken for lost") from e

    with instead((branching, "access", SimpleNamespace(create=create, read=access.read, remove=access.remove))):
        yield


@mutant(seed=0)
def commit_takes_its_own_late_swap_for_anothers() -> Iterator[None]:
    with instead((commit, "made_by_call", lambda *_: None)):
        yield


@mutant(seed=0)
def commit_does_not_look_for_its_key() -> Iterator[None]:
    with instead((commit, "_made_before", lambda *_: None)):
        yield


@mutant(seed=0)
def commit_looks_for_its_key_only_once() -> Iterator[None]:
    real = commit._made_before
    asked: set[int] = set()

    def once(stores: Stores, registers: Registers, draft: Any) -> Any:
        if id(draft) in asked:
            return None
        asked.add(id(draft))
        return real(stores, registers, draft)

    with instead((commit, "_made_before", once)):
        yield
