"""A cluster of one machine: it starts, commits although a worker is killed, and leaves nothing running."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from benchmarks.standalone import Machines, standalone
from tests.graveler.spark.cluster.conftest import ROOT, Drivers, left_running
from tests.graveler.spark.cluster.driver import TASK_ROWS, Orders
from tests.graveler.spark.cluster.lakes import Lake, left, wrong

pytestmark = pytest.mark.xdist_group("cluster")


def test_it_starts_commits_and_ends(lake: Lake, postgresql_url: str, tmp_path: Path) -> None:
    lake.staged(rows=3 * TASK_ROWS)
    with standalone(tmp_path / "spark", Machines(1, 1), {"PYTHONPATH": str(ROOT)}) as cluster:
        with Drivers(Orders(postgresql_url, cluster.url, "", "", ""), tmp_path) as drivers:
            hold = drivers.marks().hold("after", "applying", 0)
            driver = drivers.start("commit")
            driver.until(lambda: any(a.done for a in driver.marks.attempts("applying", 0)), "the work is done")
            os.kill(driver.marks.attempts("applying", 0)[0].pid, signal.SIGKILL)
            hold.unlink()
            assert driver.ended()["engine"] == "spark"
        assert left_running(cluster.directory)
    assert len(driver.marks.attempts("applying", 0)) == 2
    assert not left_running(cluster.directory)
    assert not list(wrong(lake.expected("commit")))
    assert not left(lake.spark)
