"""Workers, executors and machines that are killed within a commit: one commit, the local engine's, and nothing left."""

from __future__ import annotations

import os
import signal
from functools import partial

import pytest

from tests.graveler.spark.cluster.conftest import Driver, Drivers
from tests.graveler.spark.cluster.lakes import Lake, left, wrong
from tests.graveler.spark.cluster.marks import Attempt, alive, await_

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.slow]


HELD = (0, 2)


def held(driver: Driver, task: int) -> Attempt:
    """The first attempt at a task of the tree, when it has done its work and hands nothing back."""
    attempts = partial(driver.marks.attempts, "applying", task)
    driver.until(lambda: any(attempt.done for attempt in attempts()), f"task {task} is done")
    return attempts()[0]


def judge(lake: Lake, drivers: Drivers) -> None:
    """One commit, which a driver was told of."""
    document = drivers.started[-1].ended()
    assert (document["engine"], document["id"]) == ("spark", lake.spark.commit("main").id)
    assert not list(wrong(lake.expected("commit")))
    assert not left(lake.spark)


@pytest.mark.parametrize("whom", ["the worker", "its executor"])
def test_killed_when_the_work_is_done(lake: Lake, drivers: Drivers, whom: str) -> None:
    lake.begun().staged()
    marks = drivers.marks()
    holds = [marks.hold("after", "applying", task) for task in HELD]
    driver = drivers.start("commit")
    for task, hold in zip(HELD, holds, strict=True):
        attempt = held(driver, task)
        os.kill(attempt.pid if whom == "the worker" else attempt.executor, signal.SIGKILL)
        await_(lambda attempt=attempt: not alive(attempt.pid), "the worker is dead")
        hold.unlink()
    judge(lake, drivers)
    assert all(len(marks.attempts("applying", task)) > 1 for task in HELD)


def test_executors_killed_while_results_are_fetched(lake: Lake, drivers: Drivers) -> None:
    """What they had not handed over is done again, though the driver has gone on with the first ones."""
    lake.begun().staged()
    marks = drivers.marks()
    hold = marks.hold("handed", "applying", 0)
    driver = drivers.start("commit")
    driver.until((marks.directory / "handed.applying.0").exists, "the first result is handed over")
    before = marks.all()
    for executor in {attempt.executor for attempt in before}:
        os.kill(executor, signal.SIGKILL)
    hold.unlink()
    judge(lake, drivers)
    assert len(marks.all()) > len(before)
