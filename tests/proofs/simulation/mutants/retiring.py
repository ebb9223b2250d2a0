"""Mutants that drop layers too early, never, or without a cleanup record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graveler_core.engine.committing import commit
from graveler_core.engine.compacting import compaction
from graveler_core.engine.protocol.swap import cleanups as real_cleanups
from graveler_core.engine.protocol.swap import record_writes
from graveler_core.engine.references import branching, reset
from tests.proofs.simulation.mutants.plant import GARBAGE, instead, mutant

FLOWS = (commit, compaction, reset, branching)


@mutant(seed=0, breaks="3")
def layers_are_dropped_before_the_swap() -> Iterator[None]:
    """A commit drops the data of its layers before the swap that removes them."""
    real = commit._install

    def dropped_first(stores: Any, registers: Any, built: Any, *rest: Any) -> Any:
        commit.retire(stores, registers, built.layers)
        return real(stores, registers, built, *rest)

    with instead((commit, "_install", dropped_first)):
        yield


@mutant(seed=0, breaks=GARBAGE)
def layers_are_never_dropped() -> Iterator[None]:
    """Layers that a swap removes stay in the store."""
    with instead(*((flow, "retire", lambda *_: None) for flow in FLOWS)):
        yield


@mutant(seed=0, breaks=GARBAGE)
def cleanup_is_never_written() -> Iterator[None]:
    """No cleanup record is written for a layer that a swap removes."""
    with instead(*((flow, "cleanups", lambda *_: []) for flow in FLOWS)):
        yield


@mutant(seed=0, breaks=GARBAGE)
def cleanup_is_written_after_the_swap() -> Iterator[None]:
    """Cleanup records are written after the swap that removes the layers."""
    real = commit.retire

    def late(stores: Any, now: Any, layers: Any, *rest: Any) -> None:
        record_writes(stores, real_cleanups(stores, now, layers))
        real(stores, now, layers, *rest)

    with instead(*((flow, "cleanups", lambda *_: []) for flow in FLOWS), *((flow, "retire", late) for flow in FLOWS)):
        yield


@mutant(seed=5, breaks=GARBAGE)
def reset_does_not_name_the_staging_token() -> Iterator[None]:
    """A reset writes cleanup records for the sealed layers, but not for the staging token."""
    with instead((reset, "layers_of", lambda record: record.sealed_tokens)):
        yield
