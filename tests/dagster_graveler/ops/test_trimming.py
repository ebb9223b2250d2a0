"""The trimming of the reflog, a step of the sweep job."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_graveler.jobs.sweep import make_sweep_job
from dagster_graveler.ops.sweep import OP as SWEEP
from dagster_graveler.ops.trimming import OP as TRIM
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core import connect
from graveler_core.engine.references.events import fold
from graveler_core.engine.references.log import read_log
from graveler_core.engine.references.trimming import Trimmed
from graveler_core.errors import PermissionDenied, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from orchestration.local import Installation
from tests.dagster_graveler.ops.results import ran, retried, said
from tests.dagster_installation import FailOnce


def sweep(instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    return ran(make_sweep_job(GravelerResource(url=dg.EnvVar("GRAVELER_STORE")), "lake"), instance)


def length(graveler: Graveler, lake: Repository) -> int:
    head = read_log(graveler._stores, lake._record).head
    assert head is not None
    return head.header.generation


def test_a_long_log_is_stored_in_fewer_commits(
    instance: dg.DagsterInstance, installation: Installation, graveler: Graveler, lake: Repository
) -> None:
    with connect(installation.store) as writer:  # closed, so that nothing in its background adds to the log
        for number in range(105):
            writer.repository("lake").create_branch(f"b{number}", "main")
            writer.repository("lake").delete_branch(f"b{number}")
            fold(writer._stores, lake._record)
    events, before = [event.token for event in lake.reflog()], length(graveler, lake)
    shown = said(sweep(instance), TRIM)
    assert (shown["commits combined"], shown["former commits deleted"]) == (before - 100, 0)
    assert shown["outcome"] == f"Combined {before - 100} commits of the log, and deleted 0 former commits."
    assert length(graveler, lake) == 100
    assert [event.token for event in lake.reflog()] == events


def test_what_it_deleted_is_told(
    instance: dg.DagsterInstance, lake: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Repository, "trim_reflog", lambda _: Trimmed(1, 2))
    shown = said(sweep(instance), TRIM)
    assert shown["outcome"] == "Combined 1 commit of the log, and deleted 2 former commits."


def test_a_repository_that_does_not_exist_yet_has_no_log(
    instance: dg.DagsterInstance, installation: Installation
) -> None:
    shown = said(sweep(instance), TRIM)
    assert shown["outcome"] == "Repository lake does not exist yet, so it has no log to trim."


@pytest.mark.parametrize(("failing", "other"), [("trim_reflog", SWEEP), ("sweep", TRIM)])
def test_an_error_of_one_step_does_not_stop_the_other(
    instance: dg.DagsterInstance, lake: Repository, fail_once: FailOnce, failing: str, other: str
) -> None:
    fail_once(Repository, failing, PermissionDenied("ada may not"))
    result = sweep(instance)
    assert not result.success
    assert said(result)["outcome"] == said(result, other)["outcome"]


def test_a_store_that_cannot_be_reached_is_tried_again(
    instance: dg.DagsterInstance, lake: Repository, fail_once: FailOnce
) -> None:
    fail_once(Repository, "trim_reflog", Unavailable("away"))
    result = sweep(instance)
    assert (retried(result), result.success) == (1, True)
