"""The real thing: web server, daemon, run queue and code servers, as `./run ui` starts them."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from orchestration import ui
from orchestration.local import WORKSPACE, Installation
from orchestration.progress import WATCH_TAG
from tests.examples import few
from tests.orchestration.daily_table import MONTH, publish_by_hand
from tests.orchestration.ui_server import Server, wait_until

PUBLISHED = dg.AssetKey(["flights", "main"])


@pytest.fixture
def repository(installation: Installation, graveler: Graveler) -> Repository:
    """The repository `flights`, with a published table before the servers start."""
    made = graveler.create_repository("flights", f"{installation.data}/flights")
    publish_by_hand(made, [1.0, 2.0])
    return made


@pytest.mark.everyday
def test_a_queued_run_makes_an_asset_fresh_and_a_commit_makes_it_stale(
    instance: dg.DagsterInstance, repository: Repository, server: Server
) -> None:
    """The sensor, which runs in the daemon, reports commits that no run made. CI then publishes with Spark, too."""
    assert server.locations() == {"graveler": "RepositoryLocation", "author": "RepositoryLocation"}
    wait_until(lambda: data_version(instance) == repository.commit("main").id)
    assert server.state() == ("MISSING", [])
    assert server.run("author", "reports__main__job", {}).is_success
    assert server.state() == ("FRESH", [])

    by_hand = publish_by_hand(repository, [3.0])
    wait_until(lambda: data_version(instance) == by_hand)
    assert server.state() == ("STALE", ["flights/main"])
    if not few():
        publishes_with_spark(instance, repository, server)


def publishes_with_spark(instance: dg.DagsterInstance, repository: Repository, server: Server) -> None:
    by_hand = repository.commit("main").id
    run = server.run("graveler", "flights_pipeline", {"dagster/partition": MONTH})
    assert run.is_success
    head = repository.commit("main")
    assert head.metadata["run"] == run.run_id
    assert head.parents[0] == by_hand
    assert data_version(instance) == head.id


def data_version(instance: dg.DagsterInstance) -> str | None:
    """Return the commit of branch `main` that was reported last."""
    event = instance.get_latest_materialization_event(PUBLISHED)
    made = event.asset_materialization if event else None
    return (made.tags or {}).get("dagster/data_version") if made else None


def test_runs_that_ended_with_an_earlier_ui_do_not_block_the_queue(instance: dg.DagsterInstance) -> None:
    @dg.job
    def nothing() -> None:
        """Do nothing."""

    started = dg.DagsterRunStatus.STARTED
    interrupted, of_the_demo = (
        create_run_for_test(instance, nothing.name, status=started, tags=tags) for tags in ({}, {WATCH_TAG: "demo"})
    )
    ui.fail_interrupted_runs(instance)
    states = [instance.get_run_by_id(run.run_id).status for run in (interrupted, of_the_demo)]  # type: ignore[union-attr]
    assert states == [dg.DagsterRunStatus.FAILURE, started]


def test_the_ui_listens_where_it_is_told() -> None:
    command = ui.command("127.0.0.1", 4321)
    assert command[-6:] == ["--workspace", str(WORKSPACE), "--host", "127.0.0.1", "--port", "4321"]
    assert Path(command[command.index("--workspace") + 1]).is_file()
