"""What a person clicks in the Dagster UI is published, or kept with a reason: web server, daemon and Chromium."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import dagster as dg
import pytest

from graveler_core import connect
from orchestration.local import Installation
from tests.dagster_graveler.publishing.small_lake import PUBLISH, PUBLISHED, TABLES
from tests.orchestration.browser import Browser, browser
from tests.orchestration.ui_server import PATIENCE_SECONDS, Server, free_port, processes_of, wait_until

MODULE = "tests.dagster_graveler.publishing.lake_location"
GROUP = f"locations/{MODULE}/asset-groups/lake"
PUBLISH_PAGE = "assets/lake/main/publish"
JANUARY, FEBRUARY, MARCH = "2013-01", "2013-02", "2013-03"


class Clicks:
    """The small lake in a running UI: clicks, and what came of them."""

    def __init__(self, directory: Path, instance: dg.DagsterInstance, chromium: Browser) -> None:
        self.instance = instance
        self._directory = directory
        self._chromium = chromium
        self._seen: set[str] = set()

    def deliver(self, **rows: list[str]) -> None:
        """Configure what the tables deliver from now on."""
        (self._directory / "delivered.json").write_text(json.dumps(rows))

    def materialize(self, page: str, *partitions: str) -> dg.DagsterRun:
        """Materialize what a page shows, for some partitions. Return the run when it has ended."""
        return self._run(lambda: self._chromium.materialize(page, partitions))

    def execute_from_failure(self, run: dg.DagsterRun) -> dg.DagsterRun:
        """Execute a run again from its failure. Return the new run when it has ended."""
        return self._run(lambda: self._chromium.execute_from_failure(run.run_id))

    def _run(self, click: Callable[[], None]) -> dg.DagsterRun:
        self._seen |= {run.run_id for run in self.instance.get_runs()}
        click()
        wait_until(lambda: bool(self._new()) and all(run.is_finished for run in self._new()))
        (run,) = self._new()
        return run

    def _new(self) -> list[dg.DagsterRun]:
        """Return the runs since the last click. Those of the sensor, which publishes what is complete, do not count."""
        found = self.instance.get_runs()
        return [run for run in found if run.run_id not in self._seen and "dagster/sensor_name" not in run.tags]

    def published(self) -> set[tuple[str, str, str]]:
        """Return table, partition and content of the files on `main`."""
        with connect(os.environ["LAKE_STORE"]) as graveler:
            at = graveler.repository("lake").at("main")
            return {(*entry.path.split("/")[:2], at.read(entry.path).decode()) for entry in at.list()}  # type: ignore[misc]

    def branches(self) -> list[str]:
        with connect(os.environ["LAKE_STORE"]) as graveler:
            return [branch.id for branch in graveler.repository("lake").branches() if branch.id != "main"]

    def state(self) -> str:
        """Return the state that the last materialization of the publish asset shows."""
        event = self.instance.get_latest_materialization_event(PUBLISH)
        made = event.asset_materialization if event else None
        return str(made.metadata["graveler/state"].value) if made else "never materialized"

    def data_version(self) -> str | None:
        event = self.instance.get_latest_materialization_event(PUBLISHED)
        made = event.asset_materialization if event else None
        return (made.tags or {}).get("dagster/data_version") if made else None

    def head(self) -> str:
        with connect(os.environ["LAKE_STORE"]) as graveler:
            return graveler.repository("lake").commit("main").id

    def kept(self) -> list[str]:
        """Return what the sensor of the daemon says about kept branches."""
        found = (each.asset_observation for each in self._observations())
        return [str(one.description) for one in found if one and one.metadata["graveler/state"].value == "kept"]

    def _observations(self) -> list[dg.EventLogEntry]:
        return [record.event_log_entry for record in self.instance.fetch_observations(PUBLISH, limit=100).records]


@pytest.fixture
def clicks(
    installation: Installation, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Clicks]:
    directory, port = installation.root, free_port()
    monkeypatch.setenv("LAKE_STORE", installation.store)
    monkeypatch.setenv("LAKE_DATA", installation.data)
    monkeypatch.setenv("LAKE_DELIVERED", str(directory / "delivered.json"))
    (directory / "delivered.json").write_text("{}")
    command = [sys.executable, "-P", "-m", "orchestration.ui", "--port", str(port)]
    workspace = directory / "workspace.yaml"
    workspace.write_text(
        json.dumps({"load_from": [{"python_module": {"module_name": MODULE, "location_name": MODULE}}]})
    )
    log = directory / "ui.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--workspace", str(workspace)], cwd=directory.parent, stdout=output, stderr=output
        )
    try:
        server = Server(port, instance)
        wait_until(lambda: process.poll() is not None or bool(server.locations()))
        assert process.poll() is None, log.read_text()
        with browser(f"http://127.0.0.1:{port}") as chromium:
            yield Clicks(directory, instance, chromium)
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0, log.read_text()
        assert processes_of(installation) == []
    finally:
        for pid in processes_of(installation):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
def test_whatever_is_clicked_is_published_or_kept(clicks: Clicks) -> None:
    # A single table is kept, and the daemon's sensor tells why.
    assert clicks.materialize("assets/raw", JANUARY).is_success
    assert clicks.published() == set()
    (kept,) = clicks.branches()
    wait_until(lambda: bool(clicks.kept()))
    assert f"Branch {kept} is kept: table cleaned was not materialized" in clicks.kept()[0]

    # The publish asset alone publishes what is there, because the user asked for it.
    assert clicks.materialize(PUBLISH_PAGE, JANUARY).is_success
    assert clicks.published() == {("raw", JANUARY, "raw row")}
    assert clicks.branches() == []
    assert clicks.state() == "published"
    assert clicks.data_version() == clicks.head()

    # Once more, it has nothing to do and says so.
    before = clicks.head()
    assert clicks.materialize(PUBLISH_PAGE, JANUARY).is_success
    assert clicks.state() == "nothing to publish"
    assert clicks.head() == before

    # All of one month.
    assert clicks.materialize(GROUP, JANUARY).is_success
    assert {table for table, month, _ in clicks.published() if month == JANUARY} == set(TABLES)
    assert clicks.data_version() == clicks.head() != before

    # All of two months is a backfill of the daemon: one run, one merge.
    before = clicks.head()
    run = clicks.materialize(GROUP, FEBRUARY, MARCH)
    assert run.is_success
    assert "dagster/backfill" in run.tags
    assert {table for table, month, _ in clicks.published() if month == FEBRUARY} == set(TABLES)
    assert {table for table, month, _ in clicks.published() if month == MARCH} == set(TABLES)
    assert clicks.branches() == []
    assert clicks.data_version() == clicks.head() != before


@pytest.mark.slow
def test_a_failure_is_kept_and_executed_again(clicks: Clicks) -> None:
    # The source of a table is away. Executed again from the failure, the run goes on with its branch and publishes.
    clicks.deliver(weather=["away"])
    failed = clicks.materialize(GROUP, JANUARY)
    assert not failed.is_success
    assert clicks.published() == set()
    assert len(clicks.branches()) == 1
    clicks.deliver()
    assert clicks.execute_from_failure(failed).is_success
    assert {table for table, _, _ in clicks.published()} == set(TABLES)
    assert clicks.branches() == []
    assert clicks.data_version() == clicks.head()

    # Bad data: only the check would run again, so the branch stays kept, and so does `main`.
    before = clicks.head()
    clicks.deliver(cleaned=["bad"])
    refused = clicks.materialize(GROUP, JANUARY)
    assert not refused.is_success
    (kept,) = clicks.branches()
    again = clicks.execute_from_failure(refused)
    assert not again.is_success
    assert again.tags["graveler/branch"] == kept
    assert clicks.head() == before
    assert not clicks.materialize(PUBLISH_PAGE, JANUARY).is_success
    assert clicks.head() == before
    wait_until(lambda: any("check good of cleaned: failed" in said for said in clicks.kept()))

    # The table is repaired on the kept branch, and published.
    clicks.deliver(cleaned=["repaired"])
    assert clicks.materialize("assets/cleaned", JANUARY).is_success
    wait_until(lambda: clicks.head() != before)  # the sensor finds the branch complete and checked
    assert ("cleaned", JANUARY, "raw row\nrepaired") in clicks.published()
