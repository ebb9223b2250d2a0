"""Mutants of the layered index that keep an old value or hide a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graveler_core.codec.elements import ElementAction
from graveler_core.committed.index import diff, successor
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layer import Layer, overlaid
from graveler_core.committed.index.layers import read_run, write_run
from graveler_core.committed.lookup import lookup
from graveler_core.model.index import Index, Run
from graveler_core.objects.objects import Write
from tests.proofs.simulation.mutants.plant import instead, mutant


@mutant(seed=125, breaks="3")
def merged_runs_keep_the_oldest() -> Iterator[None]:
    """If merged runs contain the same key, the oldest value is kept."""

    def reverse(layers: Sequence[Layer]) -> Layer:
        return overlaid(layers[::-1])

    with instead((successor, "overlaid", reverse)):
        yield


@mutant(seed=288, breaks="3", theme="indexes")
def equal_runs_cancelled_as_a_set() -> Iterator[None]:
    """A diff ignores all runs that both sides have, even if their order differs."""

    def apart(left: Sequence[Run], right: Sequence[Run]) -> list[Run]:
        return list({*left} ^ {*right})

    with instead((diff, "_runs_apart", apart)):
        yield


@mutant(seed=1, breaks="3", theme="indexes")
def merged_runs_that_are_no_neighbours() -> Iterator[None]:
    """The newest and the oldest of several runs are merged in the place of the newest, above the runs between them."""

    def spilled(indexes: Indexes, base: Index, earlier: Layer) -> tuple[tuple[Run, ...], list[Write]]:
        runs, writes = base.runs, list[Write]()
        if len(earlier):
            run, writes = write_run(indexes, earlier)
            runs = (run, *runs)
        count = successor._mergeable(indexes, runs)
        if count:
            ends = overlaid([read_run(indexes, run) for run in (runs[0], runs[count - 1])])
            merged, more = write_run(indexes, ends)
            runs, writes = (merged, *runs[1 : count - 1], *runs[count:]), [*writes, *more]
        return runs, writes

    with instead((successor, "_spilled", spilled)):
        yield


@mutant(seed=3, breaks="3", theme="indexes")
def removal_dropped_by_looking_only_at_the_metarange() -> Iterator[None]:
    """A removal is dropped if the metarange does not contain the key, although a run does."""
    real = successor._earlier

    def earlier(indexes: Indexes, base: Index) -> Layer:
        elements = real(indexes, base).elements
        held = [lookup(indexes.trees, base.metarange_id, element.key) is not None for element in elements]
        kept = zip(elements, held, strict=True)
        return Layer(elements=[e for e, below in kept if below or e.action is not ElementAction.INCREMENTAL_REMOVE])

    with instead((successor, "_earlier", earlier)):
        yield
