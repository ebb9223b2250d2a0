"""Benchmarks of a writer while its branch is compacted."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.beside import beside_a_writer, staged_in_bulk, staged_one_by_one
from benchmarks.scenario import Measured, Place, scenario
from graveler_core.facade.branch import Branch


@scenario("compaction", staged_in_bulk, sizes=(100_000, 1_000_000))
def long_compaction(place: Place) -> Iterator[Measured]:
    """Compact entries that were staged in bulk."""
    yield from beside_a_writer(place, "compaction", "in bulk", Branch.compact)


@scenario("compaction", staged_one_by_one, sizes=(100_000, 1_000_000))
def long_compaction_of_rows(place: Place) -> Iterator[Measured]:
    """Compact entries that were staged one by one. Their rows are dropped in the background afterwards."""
    yield from beside_a_writer(place, "compaction", "one by one", Branch.compact)
