"""A job that runs twice at the same time: two drivers, one key, one commit, of which both are told."""

from __future__ import annotations

import pytest

from graveler_core.gc.findings import Thing
from tests.graveler.spark.cluster.conftest import Drivers
from tests.graveler.spark.cluster.lakes import Lake, collected, left, wrong

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.slow]


@pytest.mark.parametrize(("verb", "turns"), [("commit", True), ("commit", False), ("merge", False)])
def test_both_are_told_of_one_commit(lake: Lake, drivers: Drivers, verb: str, turns: bool) -> None:
    """The second begins while the first one's workers are at work; without turns, both have workers at work."""
    lake.begun()
    if verb == "commit":
        lake.staged()
    else:
        lake.diverged()
    holds = []
    for _ in range(2):
        marks = drivers.marks()
        holds.append(marks.hold("after", "applying", 1))
        driver = drivers.start(verb, turns=turns)
        driver.until((marks.directory / "began").exists, "it has begun")
        if not turns or driver is drivers.started[0]:
            driver.until(lambda marks=marks: bool(marks.attempts("applying", 1)), "its workers are at work")
    for hold in holds:
        hold.unlink()
    first, second = (driver.ended() for driver in drivers.started)
    assert first["id"] == second["id"] == lake.spark.commit("main@").id
    assert not list(wrong(lake.expected(verb)))
    # A commit is written together with the swap that puts it on the branch: the second one leaves none.
    assert Thing.COMMIT not in {finding.thing for finding in left(lake.spark)}
    collected(lake)
    assert not list(wrong(lake))
    assert not left(lake.spark)
