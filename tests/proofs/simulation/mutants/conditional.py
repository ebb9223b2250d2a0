"""Mutants of conditional writes."""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.engine.staging import condition, conditional
from tests.proofs.simulation.mutants.plant import instead, mutant


@mutant(seed=18, breaks="conditional writes", theme="conditions")
def conditional_write_asks_nothing_about_its_rows() -> Iterator[None]:
    """A conditional write that finds its own entry is acknowledged."""
    with instead((conditional, "held", lambda *_: True)):
        yield


@mutant(seed=894, breaks="conditional writes", theme="conditions")
def conditional_write_ignores_what_a_commit_took() -> Iterator[None]:
    """A conditional write ignores layers that were put below its row and are part of the same commit."""
    with instead((condition, "_took_other_layers", lambda *_: False)):
        yield


@mutant(seed=18, breaks="conditional writes", theme="conditions")
def conditional_write_ignores_the_heads() -> Iterator[None]:
    """A conditional write whose token has left the branch record does not look at the heads since then."""
    with instead((condition, "_held_in_heads", lambda *_: True)):
        yield
