"""Commit, merge and diff as ops on any branch: what they do, what they say, and that they do it once."""

from __future__ import annotations

import logging
from typing import Any

import dagster as dg
import pytest

from dagster_graveler.jobs.versioning import make_versioning_jobs
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core.errors import Conflict, Kind, OutcomeUnknown, SlowDown
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.model.commit_texts import MAX_MESSAGE_BYTES
from tests.dagster_graveler.ops.results import ran, retried, said
from tests.dagster_installation import FailOnce


class Ops:
    """The three jobs on the installation at hand."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        graveler = GravelerResource(url=dg.EnvVar("GRAVELER_STORE"))
        self.jobs = {job.name: job for job in make_versioning_jobs(graveler)}

    def run(self, op: str, **config: Any) -> dg.ExecuteInProcessResult:
        return ran(self.jobs[f"{op}_job"], self.instance, {op: {"repository": "lake", **config}})


@pytest.fixture
def ops(instance: dg.DagsterInstance, lake: Repository) -> Ops:
    """One commit on main, one more on dev."""
    lake.branch("main").put("a", b"1")
    lake.branch("main").commit("One")
    dev = lake.create_branch("dev", source="main")
    dev.put("b", b"22")
    dev.commit("Two")
    return Ops(instance)


def history(lake: Repository, ref: str = "main") -> list[str]:
    return [commit.message for commit in lake.log(ref, first_parent=True)][:-1]


def test_a_commit_says_where_it_was_made_and_by_which_run(ops: Ops, lake: Repository) -> None:
    lake.branch("main").put("c", b"3")
    result = ops.run("commit", branch="main", message="Three")
    head = lake.commit("main")
    assert result.success
    assert result.output_for_node("commit") == head.id
    assert said(result) == {"commit": head.id, "branch": "main", "engine": "local"}
    assert (head.message, head.committer) == ("Three", "dagster")
    assert head.metadata == {"run": result.run_id, "job": "commit_job", "step": "commit"}


def test_nothing_to_commit_is_success(ops: Ops, lake: Repository) -> None:
    assert ops.run("commit", branch="main", message="Three").output_for_node("commit") == lake.commit("main").id
    assert history(lake) == ["One"]


@pytest.mark.parametrize("error", [OutcomeUnknown("lost"), SlowDown("busy"), Conflict("raced", kind=Kind.LostRace)])
@pytest.mark.parametrize("after", [False, True])
def test_a_commit_that_is_tried_again_is_one_commit(
    ops: Ops, lake: Repository, fail_once: FailOnce, error: Exception, after: bool
) -> None:
    lake.branch("main").put("c", b"3")
    calls = fail_once(Branch, "commit", error, after=after)
    assert ops.run("commit", branch="main", message="Three").success
    assert len(calls) == 2
    assert history(lake) == ["Three", "One"]


def test_a_message_at_the_limit_is_committed_and_a_longer_one_fails_at_once(ops: Ops, lake: Repository) -> None:
    lake.branch("main").put("c", b"3")
    result = ops.run("commit", branch="main", message="m" * (MAX_MESSAGE_BYTES - 1))
    (failure,) = result.filter_events(lambda event: event.is_step_failure)
    data = failure.step_failure_data.user_failure_data
    assert data is not None
    assert data.metadata["kind"].value == "TextTooLong"
    assert history(lake) == ["One"]
    longest = "m" * (MAX_MESSAGE_BYTES - 2)
    assert ops.run("commit", branch="main", message=longest).success
    assert history(lake) == [longest, "One"]


def test_a_hopeless_commit_is_given_up(ops: Ops) -> None:
    result = ops.run("commit", branch="nowhere", message="Three")
    (failure,) = result.filter_events(lambda event: event.is_step_failure)
    data = failure.step_failure_data.user_failure_data
    assert data is not None
    assert data.metadata["kind"].value == "BranchNotFound"
    assert retried(result) == 0


def test_a_merge_shows_what_it_brought(ops: Ops, lake: Repository) -> None:
    result = ops.run("merge", source="dev", into="main")
    head = lake.commit("main")
    values = said(result)
    assert (values["commit"], values["changes"], values["engine"]) == (head.id, 1, "local")
    assert head.message == "Merge dev into main"
    assert ops.run("merge", source="dev", into="main").output_for_node("merge") == head.id


def test_a_squash_and_a_replay(ops: Ops, lake: Repository, instance: dg.DagsterInstance) -> None:
    lake.create_branch("other", "main")
    squashed = ops.run("merge", source="dev", into="main", squash=True)
    logged = [each.user_message for each in instance.all_logs(squashed.run_id) if each.level == logging.WARNING]
    assert any(each.startswith("squash: true makes one commit with one parent") for each in logged)
    assert lake.commit("main").parents == (lake.commit("main~1").id,)
    assert history(lake)[0] == "Squash dev into main"
    assert squashed.output_for_node("merge") == lake.commit("main").id
    assert ops.run("merge", source="dev", into="other", replay=True).success
    assert history(lake, "other")[0] == history(lake, "dev")[0]


@pytest.mark.parametrize(
    ("op", "config"),
    [
        ("commit", {"branch": "feature/x", "message": "Three"}),
        ("merge", {"source": "dev", "into": "feature/x"}),
        ("merge", {"source": "feature/x", "into": "main"}),
    ],
    ids=["commit", "destination", "source"],
)
def test_a_name_that_is_refused_comes_with_one_that_is_allowed(ops: Ops, op: str, config: dict[str, str]) -> None:
    result = ops.run(op, **config)
    assert "for example 'feature-x'" in str(result.failure_data_for_node(op))
    assert not retried(result)


def test_the_former_word_for_a_replay_is_refused(ops: Ops, lake: Repository) -> None:
    result = ops.run("merge", source="dev", into="main", squash=False)
    assert not result.success
    assert "replay=True" in str(result.failure_data_for_node("merge"))


def test_a_merge_that_is_tried_again_is_one_merge(ops: Ops, lake: Repository, fail_once: FailOnce) -> None:
    fail_once(Repository, "merge", OutcomeUnknown("lost"), after=True)
    assert ops.run("merge", source="dev", into="main").success
    assert history(lake) == ["Merge dev into main", "One"]


def test_a_step_that_was_tried_again_says_how_often_and_why(
    ops: Ops, lake: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, errors = Repository.merge, [Conflict("raced", kind=Kind.LostRace), SlowDown("busy"), OutcomeUnknown("lost")]

    def failing(repository: Repository, *given: Any, **options: Any) -> Any:
        if errors:
            raise errors.pop(0)
        return real(repository, *given, **options)

    monkeypatch.setattr(Repository, "merge", failing)
    result = ops.run("merge", source="dev", into="main")
    values = said(result)
    assert values["retries"] == retried(result) == 3
    assert values["tried again after"] == "Conflict: raced; SlowDown: busy; OutcomeUnknown: lost"
    assert "retries" not in said(ops.run("diff", left="main~1", right="main"))


def test_the_launchpad_offers_what_the_newest_commit_changed(instance: dg.DagsterInstance, ops: Ops) -> None:
    graveler = GravelerResource(url=dg.EnvVar("GRAVELER_STORE"))
    jobs = {job.name: job for job in make_versioning_jobs(graveler, "lake")}
    counted = jobs["diff_job"].execute_in_process(instance=instance).output_for_node("diff")
    assert counted == {"added": 1, "changed": 0, "removed": 0}
    assert [bool(job.run_config) for job in jobs.values()] == [False, False, True]


def test_conflicts_end_a_merge_and_are_shown(ops: Ops, lake: Repository) -> None:
    lake.branch("main").put("b", b"x")
    lake.branch("main").commit("Other")
    result = ops.run("merge", source="dev", into="main")
    (failure,) = result.filter_events(lambda event: event.is_step_failure)
    shown = failure.step_failure_data.user_failure_data.metadata  # type: ignore[union-attr]
    assert [record.data for record in shown["conflicts"].records] == [{"path": "b", "conflict": "added in both"}]  # type: ignore[union-attr]
    assert ops.run("merge", source="dev", into="main", strategy="source").success


def test_a_changed_prefix_ends_a_merge(ops: Ops, lake: Repository) -> None:
    lake.branch("main").put("t/1", b"x")
    lake.branch("main").commit("Other")
    result = ops.run("merge", source="dev", into="main", unchanged=["t/"])
    (failure,) = result.filter_events(lambda event: event.is_step_failure)
    shown = failure.step_failure_data.user_failure_data.metadata  # type: ignore[union-attr]
    assert shown["kind"].value == "PrefixChanged"
    assert not result.filter_events(lambda event: event.is_step_up_for_retry)
    assert ops.run("merge", source="dev", into="main", unchanged=["u/"]).success


def test_a_diff_counts_and_shows(ops: Ops) -> None:
    result = ops.run("diff", left="main", right="dev")
    assert result.output_for_node("diff") == {"added": 1, "changed": 0, "removed": 0}
    assert said(result)["engine"] == "local"
    assert [record.data["path"] for record in said(result)["diff"].records] == ["b"]
    assert ops.run("diff", left="dev", right="main", since_merge_base=True).output_for_node("diff")["added"] == 0
