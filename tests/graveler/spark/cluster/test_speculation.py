"""Copies of tasks that Spark starts by speculation: both do their work, at the same time, and it is one commit."""

from __future__ import annotations

import pytest

from tests.graveler.spark.cluster.conftest import Drivers
from tests.graveler.spark.cluster.lakes import Lake, collected, left, wrong
from tests.graveler.spark.cluster.writing import PATH, ROWS, TASKS

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.slow]

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.efficiency.enabled": "false",
    "spark.cores.max": "4",
}
"""A copy of every task that takes longer than others."""
HELD = (1, 2)


@pytest.mark.parametrize("verb", ["commit", "merge"])
def test_copies_at_work_beside_the_first_attempts(lake: Lake, drivers: Drivers, verb: str) -> None:
    lake.begun()
    if verb == "commit":
        lake.staged()
    else:
        lake.diverged()
    marks = drivers.marks()
    holds = [marks.hold("before", "applying", task) for task in HELD]
    driver = drivers.start(verb, settings=SPECULATION)
    for task in HELD:
        driver.until(lambda task=task: len(marks.attempts("applying", task)) == 2, f"a copy of {task}")
    for hold in holds:
        hold.unlink()
    assert driver.ended()["engine"] == "spark"
    for task in HELD:
        first, copy = sorted(marks.attempts("applying", task), key=lambda attempt: attempt.number)
        assert (first.number, copy.number) == (0, 1)
        assert first.executor != copy.executor
    assert not list(wrong(lake.expected(verb)))
    if verb == "commit":
        assert not left(lake.spark)
    collected(lake)  # a merge has folded the runs of its base first, into what nothing names
    assert not left(lake.spark)
    assert not list(wrong(lake))


def test_copies_of_tasks_that_write_a_dataframe(lake: Lake, drivers: Drivers) -> None:
    """Each attempt stores files of its own; the commit names those of one of them."""
    marks = drivers.marks()
    holds = [marks.hold("after", "rows", task) for task in HELD]
    driver = drivers.start("write", program="writing", settings=SPECULATION)
    for task in HELD:
        driver.until(lambda task=task: len(marks.attempts("rows", task)) == 2, f"a copy of {task}")
    for hold in holds:
        hold.unlink()
    assert driver.ended() == {"numbers": ROWS, "right": True}
    assert [commit.message for commit in lake.spark.log("main")] == ["The one", "Repository created"]
    assert len(list(lake.spark.at("main").list(f"{PATH}/part-"))) == TASKS
    assert not [finding for finding in lake.spark.fsck(deep=True) if finding.damage]
