"""Stored times that a clock far ahead or far behind has written."""

from __future__ import annotations

from datetime import timedelta

import pytest

from graveler_core.model.clock import CLOCKS_DIFFER, has_lapsed, is_far_ahead, not_before
from tests.unit.engine.world import START

MICROSECOND = timedelta(microseconds=1)
MINUTE, DAY, YEAR = timedelta(minutes=1), timedelta(days=1), timedelta(days=365)


def test_a_time_that_is_later_by_no_more_than_clocks_differ_is_not_wrong() -> None:
    assert not is_far_ahead(START - YEAR, START)
    assert not is_far_ahead(START + CLOCKS_DIFFER, START)
    assert is_far_ahead(START + CLOCKS_DIFFER + MICROSECOND, START)


@pytest.mark.parametrize(("time", "most"), [(MINUTE, CLOCKS_DIFFER), (DAY, DAY)])
def test_a_claim_lasts_for_its_time_and_one_far_ahead_is_over(time: timedelta, most: timedelta) -> None:
    """A long claim of a process whose clock is wrong by hours is not taken from it."""
    assert not has_lapsed(START, time, START)
    assert not has_lapsed(START, time, START + time - MICROSECOND)
    assert has_lapsed(START, time, START + time)
    assert not has_lapsed(START + most, time, START)
    assert has_lapsed(START + most + MICROSECOND, time, START)


def test_what_came_after_an_event_is_not_before_it() -> None:
    assert not_before(START, START + DAY, START + YEAR) == START + DAY
    assert not_before(START, START - DAY, START + YEAR) == START
    assert not_before(START + YEAR, START - DAY, START) == START - DAY
