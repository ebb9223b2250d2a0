"""The job that delivers webhooks, its schedule, and what the UI shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import dagster as dg
import pytest

from dagster_graveler.display.hooks import hook_runs_table
from dagster_graveler.jobs.hooks import make_hooks_job, make_hooks_schedule
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core.engine.protocol import hooks
from graveler_core.errors import Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.webhooks import Webhook
from graveler_core.stores import HookAnswer, Hooks
from orchestration.local import Installation
from tests.dagster_graveler.ops.results import ran, retried, said
from tests.dagster_installation import FailOnce
from tests.unit.engine.interposed import Crash
from tests.unit.stores.test_webhook_request import answering, receiver

STORE = GravelerResource(url=dg.EnvVar("GRAVELER_STORE"))


@pytest.fixture
def repo(installation: Installation, graveler: Graveler) -> Repository:
    return graveler.create_repository("shop", f"{installation.data}/shop")


def committed_by_a_process_that_ends(repo: Repository) -> None:
    """Commit in a process that dies when it should call the webhook."""

    def dies(hook: Webhook, run_id: str, event: str, body: bytes) -> HookAnswer:
        raise Crash

    repo.branch("main").put("a", b"1")
    stores = replace(repo._stores, hooks=Hooks(send=dies), hook_calls=_Dying())
    Graveler(stores).repository("shop").branch("main").commit("m")


class _Dying:
    """Calls of hooks that are never made."""

    def start(self, work: object) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def test_it_calls_what_was_left_and_shows_the_runs(
    instance: dg.DagsterInstance, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_hooks_job(STORE, "shop")
    assert said(ran(job, instance))["outcome"] == "No webhook was left to call."
    with receiver(answering(200)) as received:
        repo.set_hook("tell", f"http://127.0.0.1:{received.port}/", ["post-commit"])
        monkeypatch.setattr(hooks, "LEASE", timedelta(0))
        committed_by_a_process_that_ends(repo)
        assert not received.paths
        shown = said(ran(job, instance))
    assert received.paths == ["/"]
    assert (shown["outcome"], shown["webhooks called"]) == ("Called 1 webhook.", 1)
    assert "| tell | post-commit | main | passed |  |" in shown["newest runs"]


def test_the_schedule_skips_repositories_without_hooks(repo: Repository) -> None:
    job = make_hooks_job(STORE, "shop")
    schedule = make_hooks_schedule(job, repository="shop")
    assert (schedule.name, schedule.cron_schedule) == ("shop_deliver_hooks_schedule", "0 * * * *")
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING
    with dg.build_schedule_context(resources={"graveler": STORE}) as context:
        skipped = schedule.evaluate_tick(context)
        assert (skipped.run_requests, skipped.skip_message) == ([], "repository shop has no hooks")
    repo.set_hook("tell", "http://127.0.0.1/", ["post-merge"])
    with dg.build_schedule_context(resources={"graveler": STORE}) as context:
        (request,) = schedule.evaluate_tick(context).run_requests or []
        assert request.run_key is None


def test_the_schedule_waits_for_the_repository(installation: Installation) -> None:
    schedule = make_hooks_schedule(make_hooks_job(STORE, "shop"), repository="shop")
    with dg.build_schedule_context(resources={"graveler": STORE}) as context:
        assert schedule.evaluate_tick(context).skip_message == "repository shop does not exist yet"


def test_a_repository_that_does_not_exist_fails_without_retries(
    instance: dg.DagsterInstance, installation: Installation
) -> None:
    result = ran(make_hooks_job(STORE, "shop"), instance)
    (failure,) = result.filter_events(lambda event: event.is_step_failure)
    told = failure.step_failure_data.user_failure_data
    assert told.description == "repository 'shop' does not exist"
    assert told.metadata["kind"].value == "RepositoryNotFound"
    assert retried(result) == 0


def test_failures_are_retried(instance: dg.DagsterInstance, repo: Repository, fail_once: FailOnce) -> None:
    fail_once(Repository, "deliver_hooks", Unavailable("away"))
    result = ran(make_hooks_job(STORE, "shop"), instance)
    assert result.success
    assert retried(result) == 1


def test_an_answer_cannot_break_the_table(repo: Repository) -> None:
    with receiver(answering(400, b"a | b\n**bold** [link](http://x) <script>")) as received:
        repo.set_hook("tell", f"http://127.0.0.1:{received.port}/", ["post-create-tag"])
        repo.create_tag("v1", "main")
        repo._stores.hook_calls.close()
    (_, _, row) = hook_runs_table(list(repo.hook_runs())).splitlines()
    assert row.endswith(r"| failed | a \| b \*\*bold\*\* \[link\](http://x) \<script\> |")


def test_an_answer_without_text_shows_its_status(repo: Repository) -> None:
    with receiver(answering(404)) as received:
        repo.set_hook("tell", f"http://127.0.0.1:{received.port}/", ["post-create-tag"])
        repo.create_tag("v1", "main")
        repo._stores.hook_calls.close()
    assert hook_runs_table(list(repo.hook_runs())).endswith("| failed | status 404 |")
