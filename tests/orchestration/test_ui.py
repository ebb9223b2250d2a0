"""The real thing: web server, daemon, run queue and code servers, as `./run ui` starts them."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from graveler_core.facade.graveler import Graveler
from orchestration import ui
from orchestration.local import WORKSPACE, Installation
from tests.orchestration.daily_table import MONTH, publish_by_hand
from tests.orchestration.ui_server import Server, wait_until

pytestmark = pytest.mark.xdist_group("spark")


def test_runs_are_queued_and_what_depends_on_a_branch_is_seen_stale(
    installation: Installation, instance: dg.DagsterInstance, graveler: Graveler, server: Server
) -> None:
    assert server.locations() == {"graveler": "RepositoryLocation", "author": "RepositoryLocation"}
    repository = graveler.create_repository("flights", f"{installation.data}/flights")

    # A commit that no run made is reported by the sensor, which runs in the daemon.
    by_hand = publish_by_hand(repository, [1.0, 2.0])
    published = dg.AssetKey(["flights", "main"])
    wait_until(lambda: data_version(instance, published) == by_hand)
    assert server.state() == ("MISSING", [])
    assert server.run("author", "__ASSET_JOB", {}, [["worst_days"]]).is_success
    assert server.state() == ("FRESH", [])

    run = server.run("graveler", "flights_pipeline", {"dagster/partition": MONTH})
    assert run.is_success
    head = repository.commit("main")
    assert head.metadata["run"] == run.run_id
    assert head.parents[0] == by_hand
    assert data_version(instance, published) == head.id
    assert server.state() == ("STALE", ["flights/main"])


def data_version(instance: dg.DagsterInstance, key: dg.AssetKey) -> str | None:
    event = instance.get_latest_materialization_event(key)
    made = event.asset_materialization if event else None
    return (made.tags or {}).get("dagster/data_version") if made else None


def test_the_ui_listens_where_it_is_told() -> None:
    command = ui.command("127.0.0.1", 4321)
    assert command[-6:] == ["--workspace", str(WORKSPACE), "--host", "127.0.0.1", "--port", "4321"]
    assert Path(command[command.index("--workspace") + 1]).is_file()
