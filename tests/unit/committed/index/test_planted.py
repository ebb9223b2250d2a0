"""Bugs planted into layered indexes, each of which the histories find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from graveler_core.codec.elements import ElementAction
from graveler_core.committed.index import diff, fold, layers, lookup, scan, successor
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layer import Layer, overlaid
from graveler_core.committed.lookup import lookup as tree_lookup
from graveler_core.model.index import Index, Run
from tests.unit.committed.index import test_histories as histories
from tests.unit.segments.samples import records

Planted = tuple[Any, str, Any]
EARLIER, SPILLED, LAYERS = successor._earlier, successor._spilled, layers.layers


def removals_look_at_the_metarange_only(indexes: Indexes, base: Index) -> Layer:
    kept = []
    for element in EARLIER(indexes, base).elements:
        below = tree_lookup(indexes.trees, base.metarange_id, element.key)
        if element.action is not ElementAction.INCREMENTAL_REMOVE or below is not None:
            kept.append(element)
    return Layer(elements=kept)


def earlier_changes_are_lost(indexes: Indexes, base: Index, earlier: Layer) -> Any:
    return SPILLED(indexes, base, Layer(elements=[]))


def the_oldest_word_stays(found: Sequence[Layer]) -> Layer:
    return overlaid(found[::-1])


def equal_runs_cancel_as_a_set(left: Sequence[Run], right: Sequence[Run]) -> list[Run]:
    return list({*left} ^ {*right})


def runs_are_not_compared(left: Sequence[Run], right: Sequence[Run]) -> list[Run]:
    return []


def the_inline_index_is_not_read(indexes: Indexes, index: Index) -> list[Layer]:
    return LAYERS(indexes, replace(index, inline=b""))


def the_last_run_is_not_read(indexes: Indexes, index: Index) -> list[Layer]:
    return LAYERS(indexes, replace(index, runs=index.runs[:-1]))


COMMITS = histories.test_every_commit_holds_what_it_should, histories.COMMITS
PAIRS = histories.test_differences_of_any_two_commits, histories.PAIRS
LOOKUPS = histories.test_lookups, histories.LOOKUPS
PLANTED: dict[str, tuple[Any, Planted]] = {
    "removals look at the metarange only": (COMMITS, (successor, "_earlier", removals_look_at_the_metarange_only)),
    "what spills is lost": (COMMITS, (successor, "_spilled", earlier_changes_are_lost)),
    "merged runs keep the oldest word": (COMMITS, (successor, "overlaid", the_oldest_word_stays)),
    "inline indexes forget what is the commit's own": (COMMITS, (successor, "combined", overlaid)),
    "runs are not compared": (PAIRS, (diff, "_runs_apart", runs_are_not_compared)),
    "a fold forgets the inline index": (COMMITS, (fold, "layers", the_inline_index_is_not_read)),
    "a scan forgets the oldest run": (COMMITS, (scan, "layers", the_last_run_is_not_read)),
    "a lookup forgets the oldest run": (LOOKUPS, (lookup, "layers", the_last_run_is_not_read)),
}


@pytest.mark.ci
@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (test, strategies), (module, name, planted) = PLANTED[bug]
    monkeypatch.setattr(module, name, planted)
    searching = settings(
        max_examples=300,
        phases=[Phase.generate],
        derandomize=True,
        deadline=None,
        report_multiple_bugs=False,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises(AssertionError):
        searching(given(**strategies)(test.hypothesis.inner_test))()


def test_equal_runs_in_another_order_do_not_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same runs say different things in another order; no history of this library makes two such indexes."""
    world = histories.World()
    root = world.root({b"k": 0})
    runs = []
    for number in (1, 2):
        run, writes = layers.write_run(world.indexes, Layer(table=records({b"k": number})))
        runs.append(run)
        for write in writes:
            world.kv.set(*write)
    left, right = (replace(root, runs=order) for order in ((runs[0], runs[1]), (runs[1], runs[0])))
    assert world.differences(left, right) == {b"k": [1, 2]}
    monkeypatch.setattr(diff, "_runs_apart", equal_runs_cancel_as_a_set)
    assert world.differences(left, right) == {}
