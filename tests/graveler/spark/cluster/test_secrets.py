"""Tests that the files and logs of a cluster contain no secret."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.standalone import Standalone
from tests.graveler.spark.cluster.conftest import Drivers
from tests.graveler.spark.cluster.lakes import Lake

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.slow]
SECRET, SETTING = "hunter2-canary", "canary-in-the-settings"


def test_no_log_and_no_page_shows_one(lake: Lake, drivers: Drivers, cluster: Standalone, tmp_path: Path) -> None:
    """What the pages show is what the event log holds."""
    events = tmp_path / "events"
    events.mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.log.level": "INFO",
        "spark.executorEnv.SHOWN": SETTING,
    }
    drivers.orders = replace(drivers.orders, store=f"{drivers.orders.store}&password={SECRET}")
    lake.staged()
    driver = drivers.start("commit", settings=settings)
    _, said = driver.process.communicate()
    assert driver.process.returncode == 0, said
    written = [
        path.read_bytes() for place in (events, cluster.directory) for path in place.rglob("*") if path.is_file()
    ]
    assert any(SETTING.encode() in content for content in written), "settings are shown"
    assert not any(SECRET.encode() in content for content in (*written, said.encode()))
