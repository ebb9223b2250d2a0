"""Tests of the pure function that decides if a branch should be compacted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.records import decode, encode
from graveler_core.errors import CorruptData, InvalidInput
from graveler_core.model.compaction import CompactionSettings, Thresholds
from graveler_core.staging.pressure import FEW, RELIEF, Load, pressure

THRESHOLDS = Thresholds(tombstones=100, layers=10, staged=5_000, age=timedelta(hours=2))
LOADS = st.builds(
    Load,
    tombstones=st.integers(0, 300),
    staged=st.integers(0, 15_000),
    layers=st.integers(0, 30),
    age=st.timedeltas(timedelta(0), timedelta(hours=6)),
)


def test_nothing_staged_is_no_pressure() -> None:
    found = pressure(Load(), THRESHOLDS)
    assert (found.value, found.over, found.reasons) == (0.0, False, ())


@pytest.mark.parametrize(
    ("load", "why"),
    [
        (Load(tombstones=100), "100 tombstones of 100"),
        (Load(layers=10), "10 layers of 10"),
        (Load(staged=5_000), "5,000 staged records of 5,000"),
        (Load(staged=FEW, age=timedelta(hours=2)), "staged for 2:00:00 of 2:00:00"),
    ],
)
def test_each_threshold_is_reached_by_itself(load: Load, why: str) -> None:
    found = pressure(load, THRESHOLDS)
    assert (found.value, found.over, found.reasons) == (1.0, True, (why,))


@pytest.mark.parametrize("load", [Load(tombstones=99), Load(layers=9), Load(staged=4_999)])
def test_below_a_threshold_nothing_is_asked_for(load: Load) -> None:
    assert not pressure(load, THRESHOLDS).over


def test_a_few_records_may_be_of_any_age() -> None:
    assert pressure(Load(staged=FEW - 1, age=timedelta(days=9)), THRESHOLDS).value < 1


def test_the_worst_comes_first() -> None:
    found = pressure(Load(tombstones=110, layers=30), THRESHOLDS)
    assert found.value == 3.0
    assert found.reasons == ("30 layers of 10", "110 tombstones of 100")


def test_a_branch_that_was_over_stays_so_until_it_is_well_below() -> None:
    load = Load(tombstones=60)
    assert not pressure(load, THRESHOLDS).over
    assert pressure(load, THRESHOLDS, was_over=True).over
    assert not pressure(Load(tombstones=int(100 * RELIEF) - 1), THRESHOLDS, was_over=True).over


@given(LOADS, st.booleans())
def test_it_is_over_exactly_when_it_says_why(load: Load, was_over: bool) -> None:
    found = pressure(load, THRESHOLDS, was_over=was_over)
    assert found.over == bool(found.reasons) == (found.value >= (RELIEF if was_over else 1))


@given(LOADS, LOADS)
def test_more_is_never_less_pressure(one: Load, other: Load) -> None:
    both = Load(
        max(one.tombstones, other.tombstones),
        max(one.staged, other.staged),
        max(one.layers, other.layers),
        max(one.age, other.age),
    )
    assert pressure(both, THRESHOLDS).value >= max(pressure(one, THRESHOLDS).value, pressure(other, THRESHOLDS).value)


@pytest.mark.parametrize(
    ("given_", "rule"),
    [
        ({"layers": 0}, "layers 0: Input should be greater than or equal to 1"),
        ({"age": timedelta(0)}, "age datetime.timedelta(0): Input should be greater than 0 seconds"),
        ({"tombstones": "many"}, "tombstones 'many': Input should be a valid integer"),
        ({"rows": 3}, "rows 3: Extra inputs are not permitted"),
    ],
)
def test_thresholds_that_make_no_sense_are_refused(given_: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Thresholds(**given_)
    assert refused.value.message.startswith(f"thresholds: {rule}")


def test_stored_thresholds_that_make_no_sense_are_damage() -> None:
    stored = encode(CompactionSettings(thresholds=Thresholds(layers=7))).replace(b'"layers":7', b'"layers":0')
    with pytest.raises(CorruptData, match="settings: thresholds: layers 0"):
        decode(CompactionSettings, stored, "settings")
