"""The programs of `jobs`, started by Dagster Pipes: what they tell Dagster."""

import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from graveler_core.facade.graveler import Graveler
from orchestration.local import Installation

ROOT = Path(__file__).parents[2]


@pytest.fixture
def given(installation: Installation, graveler: Graveler) -> list[dict[str, Any]]:
    """What a step was told that ran `jobs.commit` twice, as a retry would."""
    graveler.create_repository("lake", f"{installation.data}/lake").branch("main").put("a", b"1")
    found: list[dict[str, Any]] = []

    @dg.op
    def commit(context: dg.OpExecutionContext, pipes: dg.PipesSubprocessClient) -> None:
        key = f"{context.run_id}/{context.op_handle}"
        arguments = ["graveler://lake/main", "-m", "One", "--idempotency-key", key]
        command = [sys.executable, "-m", "jobs.commit", "--store", installation.store, *arguments]
        for _ in range(2):
            ran = pipes.run(command=command, context=context, env={"PYTHONPATH": str(ROOT)})
            found.extend(ran.get_custom_messages())

    @dg.job(resource_defs={"pipes": dg.PipesSubprocessClient()})
    def nightly() -> None:
        commit()

    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    assert nightly.execute_in_process(run_config=quiet).success
    return found


@pytest.mark.filterwarnings("ignore:Function `PipesMessageReader.expected_writer_count` is currently in preview")
def test_a_step_that_runs_twice_gives_one_commit(given: list[dict[str, Any]], graveler: Graveler) -> None:
    head = graveler.repository("lake").commit("main")
    assert [document["id"] for document in given] == [head.id, head.id]
    assert head.message == "One"
    assert given[0]["engine"] == "local"
