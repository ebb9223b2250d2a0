"""Tests of the costs of operations, on a store with batched reads and on one without: `docs/scale.md`."""

from __future__ import annotations

from collections import Counter

import pytest

from graveler_core.records import layout as keys
from tests.unit.engine.budgets.costs import Cost, Trips, reads, trips, writes
from tests.unit.engine.budgets.every import EVERY
from tests.unit.engine.budgets.measured import Measured
from tests.unit.engine.flows import table
from tests.unit.engine.world import entry

PLANNED: dict[str, Trips] = {
    "stage": (2, 0),
    "get, staged": (2, 0),
    "get, committed": (2, 0),
    "commit, one change": (6, 2),
    "transact, one put": (4, 0),
    "merge, one change on either side": (5, 1),
    "create a branch": (3, 0),
}
"""The budgets of the storage model, for stores that take many keys at once; of scans a commit has what it needs."""
BEYOND = {"create a branch"}
"""What does not keep to its budget yet."""


@pytest.mark.parametrize("plain", [False, True], ids=["able", "plain"])
@pytest.mark.parametrize("name", EVERY)
def test_costs(name: str, plain: bool) -> None:
    cost, prepare = EVERY[name]
    measured = Measured(plain=plain)
    spent = measured.spent(prepare(measured))
    found = (trips((spent.trips, spent.scans)), reads(spent, measured.levels), writes(spent, measured.levels))
    read = cost.plain_reads if plain and cost.plain_reads else cost.reads
    assert found == (trips(cost.plain if plain else cost.able), read, cost.writes)


def test_what_is_planned_is_kept() -> None:
    assert {name for name, planned in PLANNED.items() if not _within(EVERY[name][0], planned)} == BEYOND


def _within(cost: Cost, planned: Trips) -> bool:
    return cost.able[0] <= planned[0] and cost.able[1] <= planned[1]


def test_a_warm_process_reads_no_object() -> None:
    measured = Measured()
    measured.spent(lambda: list(measured.main.list()))
    measured.places.asked.clear()
    assert len(list(measured.main.list())) == len(list(measured.repo.at("main@").list())) == 300
    assert not measured.places.asked


def test_a_warm_process_scans_no_sealed_token() -> None:
    measured = Measured()
    for number in range(5):
        measured.main.stage("a", entry(number))
        measured.main.remove_prefix("p/")
    first = measured.spent(lambda: list(measured.main.list()))
    measured.kv.reset()
    assert len(list(measured.main.list())) == 301
    assert (first.scans, measured.kv.counts["scan"] + measured.kv.counts["scan_arrow"]) == (6, 1)


def test_each_object_is_read_once_by_one_listing() -> None:
    measured = Measured()
    spent = measured.spent(lambda: list(measured.main.list()))
    assert set(spent.objects) == {"node read", "range read"}
    assert max(Counter(measured.places.asked).values()) == 1


def _rows(measured: Measured) -> Counter[bytes]:
    """Rows of the repository's partition, by folder."""
    here = measured.world.kv.scan(keys.partition(measured.repo._record))
    return Counter(row.key.partition(b"/")[0] for row in here)


def test_a_commit_leaves_three_rows() -> None:
    measured = Measured()
    before = _rows(measured)
    measured.main.stage("a", entry(1))
    token = measured.main.record().staging_token
    measured.main.commit("m")
    assert _rows(measured) - before == {b"commits": 1, b"layouts": 1, b"cleanup": 1}
    assert not list(measured.world.kv.scan(keys.staging(token)))


def test_a_thousand_entries_staged_together_are_one_row() -> None:
    measured = Measured()
    before = _rows(measured)
    measured.main.stage_many(table({f"m/{number:04}": number for number in range(1_000)}))
    assert _rows(measured) - before == {b"cleanup": 1}
    assert not list(measured.world.kv.scan(keys.staging(measured.main.record().staging_token)))
