"""Layered indexes that forget which word is the newest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graveler_core.committed.index import successor
from graveler_core.committed.index.layer import Layer, overlaid
from tests.simulation.mutants.plant import instead, mutant


@mutant(seed=2, breaks="3")
def merged_runs_keep_the_oldest() -> Iterator[None]:
    """Where merged runs speak of one key, the oldest word stays."""

    def reverse(layers: Sequence[Layer]) -> Layer:
        return overlaid(layers[::-1])

    with instead((successor, "overlaid", reverse)):
        yield
