"""Mutants of compactions, and of flows that move a head while a compacted tree exists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from graveler_core.engine.compacting import compaction
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.swap import cleanups, record_writes, swap
from graveler_core.engine.reading.view import BranchView
from graveler_core.engine.references import reset
from graveler_core.model.entities import BranchRecord
from graveler_core.model.ids import BranchId, MetarangeId, RepositoryId
from graveler_core.model.layers import SealedToken
from graveler_core.records import layout as keys
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Registers, Stores
from tests.proofs.simulation.mutants.plant import instead, mutant
from tests.proofs.simulation.mutants.swapping import written

SPARED = "of concurrent compactions, only one builds"
"""Purpose of the start time of compactions. No guarantee depends on it."""
Swap = Callable[..., Registers | None]


def _at_the_seal(other: Swap) -> Swap:
    """The real swap, but for the one that says that a compaction begins."""

    def swapped(stores: Stores, now: Registers, record: BranchRecord, **options: Any) -> Registers | None:
        seals = record.compaction_start_time != now.branch.compaction_start_time
        return (other if seals else swap)(stores, now, record, **options)

    return swapped


@mutant(seed=2, breaks="1", theme="compactions")
def compaction_seals_without_a_swap() -> Iterator[None]:
    """A compaction seals and records its start with a plain write of the branch record."""
    with instead((compaction, "swap", _at_the_seal(written))):
        yield


@mutant(seed=41, breaks="1", theme="compactions")
def compaction_takes_the_open_token() -> Iterator[None]:
    """A compaction does not seal: it also builds from the staging token, and its swap replaces the token."""

    def sealed(stores: Stores, now: Registers, start: datetime, *, seals: bool) -> Registers | None:
        begun = swap(stores, now, now.branch.model_copy(update={"compaction_start_time": start}))
        if begun is None:
            return None
        layers = SealedToken(token=begun.branch.staging_token), *begun.branch.sealed_tokens
        held = replace(begun.held, value=begun.branch.model_copy(update={"sealed_tokens": layers}))
        return Registers(now.repository, held)

    def install(stores: Stores, sealed: Registers, metarange: MetarangeId, *_: Any) -> None:
        base = sealed.branch
        record_writes(stores, cleanups(stores, sealed, base.sealed_tokens))
        while True:
            now = fresh(stores, sealed.repository.id, base.id)
            moved = (now.branch.commit_id, now.branch.compacted_metarange) != (base.commit_id, base.compacted_metarange)
            if moved or layers_of(now.branch) != base.sealed_tokens:
                raise compaction._lost(base.id)
            token = keys.staging_token(now.repository, base.id, stores.ids.fresh())
            update = {"compacted_metarange": metarange, "sealed_tokens": (), "staging_token": token}
            if swap(stores, now, now.branch.model_copy(update=update)) is not None:
                return

    with instead((compaction, "_sealed", sealed), (compaction, "_install", install)):
        yield


@mutant(seed=130, breaks="8", theme="compactions")
def compaction_ignores_the_compacted_tree() -> Iterator[None]:
    """A compaction is built on the head although there is a compacted tree."""
    real = compaction.view_under

    def view_under(*arguments: Any) -> BranchView:
        return replace(real(*arguments), compacted=None)

    with instead((compaction, "view_under", view_under)):
        yield


@mutant(seed=0, breaks="8", theme="compactions")
def compaction_drops_its_layers_before_the_swap() -> Iterator[None]:
    """A compaction drops the data of its layers before the swap that removes them."""
    real = compaction._install

    def dropped_first(stores: Stores, sealed: Registers, metarange: MetarangeId, *rest: Any) -> None:
        compaction.retire(stores, sealed, sealed.branch.sealed_tokens)
        real(stores, sealed, metarange, *rest)

    with instead((compaction, "_install", dropped_first)):
        yield


@mutant(seed=104, breaks="4", theme="moves")
def hard_reset_forgets_the_compacted_tree() -> Iterator[None]:
    """A hard reset moves the head and keeps a compacted tree that hides the head."""
    real = reset.swap

    def swapped(stores: Stores, now: Registers, record: BranchRecord, **options: Any) -> Registers | None:
        if record.staging_token == now.branch.staging_token:
            record = record.model_copy(update={"compacted_metarange": now.branch.compacted_metarange})
        return real(stores, now, record, **options)

    with instead((reset, "swap", swapped)):
        yield


@mutant(seed=0, breaks=SPARED, theme="compactions")
def compaction_does_not_look_at_the_start_time() -> Iterator[None]:
    """A compaction starts although another one has just started."""
    real = compaction._seal

    def seal(stores: Stores, repo: RepositoryId, branch: BranchId, every: timedelta) -> Registers:
        return real(stores, repo, branch, timedelta(0))

    with instead((compaction, "_seal", seal)):
        yield


@mutant(seed=0, breaks=SPARED, theme="compactions")
def compaction_never_says_that_it_begins() -> Iterator[None]:
    """The seal of a compaction does not record the start time."""
    real = compaction._sealed

    def sealed(stores: Stores, now: Registers, start: datetime, *, seals: bool) -> Registers | None:
        return real(stores, now, now.branch.compaction_start_time, seals=seals)  # type: ignore[arg-type]

    with instead((compaction, "_sealed", sealed)):
        yield
