"""Commit and merge as ops: tried again, resumed, given up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import dagster as dg
import pytest

from dagster_graveler.run_tags import BRANCH_TAG
from graveler_core.errors import Conflict, GravelerError, Kind, OutcomeUnknown, PermissionDenied, SlowDown, Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from orchestration.local import Installation
from tests.dagster_graveler.publishing import publish_job
from tests.dagster_graveler.publishing.publish_job import BRANCH, publish_only
from tests.dagster_installation import FailOnce

COMMIT, MERGE = "flights__main.commit", "flights__main.publish"


@pytest.fixture
def instance(installation: Installation) -> Iterator[dg.DagsterInstance]:
    """On disk: runs are resumed."""
    with dg.DagsterInstance.get() as found:
        yield found


class Publication:
    """The job that writes one file on a branch and publishes it."""

    def __init__(self, instance: dg.DagsterInstance, repository: Repository) -> None:
        self.instance = instance
        self.repository = repository

    def publish(
        self, *, resumes: str | None = None, tags: Mapping[str, str] | None = None, only: dg.AssetKey | None = None
    ) -> dg.JobExecutionResult:
        options = dg.ReexecutionOptions.from_failure(resumes, self.instance) if resumes else None
        return dg.execute_job(
            dg.reconstructable(publish_only),
            self.instance,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            tags={BRANCH_TAG: BRANCH, **(tags or {})},
            reexecution_options=options,
            asset_selection=[only] if only else None,
        )

    def history(self, ref: str = "main") -> list[str]:
        return [commit.id for commit in self.repository.log(ref, first_parent=True)]

    def branches(self) -> list[str]:
        return [branch.id for branch in self.repository.branches()]

    def data_version(self) -> str | None:
        event = self.instance.get_latest_materialization_event(dg.AssetKey(["flights", "main", "publish"]))
        return (event.asset_materialization.tags or {}).get("dagster/data_version") if event else None  # type: ignore[union-attr]


@pytest.fixture
def publication(installation: Installation, instance: dg.DagsterInstance, graveler: Graveler) -> Publication:
    return Publication(instance, graveler.create_repository("flights", f"{installation.data}/flights"))


def retried(result: dg.JobExecutionResult) -> list[str | None]:
    return [e.step_key for e in result.all_events if e.event_type is dg.DagsterEventType.STEP_UP_FOR_RETRY]


def started(result: dg.JobExecutionResult) -> list[str | None]:
    return [e.step_key for e in result.all_events if e.event_type is dg.DagsterEventType.STEP_START]


def test_what_is_staged_is_published(publication: Publication) -> None:
    result = publication.publish(tags={"graveler/message": "one *file*"})
    assert result.success
    assert publication.repository.at("main").read("t/one") == b"1"
    assert publication.repository.commit("main").message == "one *file*"
    assert publication.branches() == ["main"]
    assert publication.data_version() == publication.history()[0]


@pytest.mark.parametrize(
    ("owner", "method", "step"), [(Branch, "commit", COMMIT), (Repository, "merge", MERGE)], ids=["commit", "merge"]
)
@pytest.mark.parametrize(
    ("error", "after"),
    [
        (Conflict("lost a race", kind=Kind.LostRace), False),
        (SlowDown("busy"), False),
        (SlowDown("busy, and yet it was done"), True),
    ],
    ids=["lost-race", "busy", "done-all-the-same"],
)
def test_a_step_is_tried_again_and_finds_its_own_commit(
    publication: Publication, fail_once: FailOnce, *, owner: type, method: str, step: str, error: Exception, after: bool
) -> None:
    calls = fail_once(owner, method, error, after=after)
    result = publication.publish()
    assert result.success
    assert retried(result) == [step]
    assert calls == [method] * 2
    merged = publication.repository.commit("main")
    assert len(publication.history()) == 2
    assert len(publication.history(merged.parents[1])) == 2
    assert publication.data_version() == merged.id


def test_a_lost_reply_is_looked_for_under_the_policy(publication: Publication, fail_once: FailOnce) -> None:
    calls = fail_once(Repository, "merge", OutcomeUnknown("no answer came"), after=True)
    result = publication.publish()
    assert result.success
    assert retried(result) == [MERGE]
    assert calls == ["merge"] * 2
    assert len(publication.history()) == 2


@pytest.mark.parametrize(
    "error", [Conflict("both changed t/one", kind=Kind.MergeConflict), PermissionDenied("not you")], ids=str
)
def test_what_is_hopeless_is_not_tried_again(
    publication: Publication, fail_once: FailOnce, error: GravelerError
) -> None:
    calls = fail_once(Repository, "merge", error)
    result = publication.publish()
    assert not result.success
    assert calls == ["merge"]
    assert retried(result) == []
    assert len(publication.history()) == 1
    assert publication.branches() == [BRANCH, "main"]
    assert publication.data_version() is None


def test_a_real_conflict_leaves_both_branches_as_they_are(publication: Publication) -> None:
    publication.repository.create_branch(BRANCH, source="main")
    main = publication.repository.branch("main")
    main.put("t/one", b"another")
    ours = main.commit("by hand")
    result = publication.publish()
    assert not result.success
    assert retried(result) == []
    (failure,) = result.filter_events(lambda e: e.is_step_failure)
    assert "t/one" in str(failure.step_failure_data)
    assert publication.history()[0] == ours.id
    assert publication.repository.at(f"{BRANCH}@").read("t/one") == b"1"


@pytest.mark.parametrize("after", [False, True], ids=["refused", "done-all-the-same"])
def test_a_resumed_run_goes_on_with_its_own_commit(publication: Publication, fail_once: FailOnce, after: bool) -> None:
    fail_once(Repository, "merge", PermissionDenied("not today"), after=after)
    failed = publication.publish()
    assert not failed.success
    committed = publication.history(BRANCH)
    resumed = publication.publish(resumes=failed.run_id)
    assert resumed.success
    assert started(resumed) == [MERGE]
    assert len(publication.history()) == 2
    assert publication.repository.commit("main").parents[1] == committed[0]
    assert publication.data_version() == publication.history()[0]


@pytest.mark.parametrize("later", [["two"], ["three", "two"]], ids=["once", "twice"])
def test_what_was_written_after_a_commit_is_published_too(
    publication: Publication, fail_once: FailOnce, monkeypatch: pytest.MonkeyPatch, later: list[str]
) -> None:
    fail_once(Repository, "merge", PermissionDenied("not today"))
    failed = publication.publish()
    for name in later:
        monkeypatch.setitem(publish_job.CONTENT, name, b"2")
        fail_once(Repository, "merge", PermissionDenied("not yet"))
        options = dg.ReexecutionOptions(failed.run_id, step_selection=["t", COMMIT, MERGE])
        failed = dg.execute_job(
            dg.reconstructable(publish_only),
            publication.instance,
            tags={BRANCH_TAG: BRANCH},
            reexecution_options=options,
        )
        assert not failed.success
    assert publication.publish(resumes=failed.run_id).success
    paths = [entry.path for entry in publication.repository.at("main").list()]
    assert paths == ["t/one", *(f"t/{name}" for name in later)]


def test_publishing_again_without_changes_is_no_commit(publication: Publication) -> None:
    assert publication.publish().success
    history = publication.history()
    assert publication.publish().success
    assert publication.history() == history
    assert publication.data_version() == history[0]


def test_a_branch_that_is_not_there_is_one_clear_failure(publication: Publication) -> None:
    result = publication.publish(tags={BRANCH_TAG: "nowhere"}, only=dg.AssetKey(["flights", "main", "publish"]))
    assert not result.success
    assert retried(result) == []
    (failure,) = result.filter_events(lambda e: e.is_step_failure)
    assert "nowhere" in str(failure.step_failure_data)


def test_a_merged_branch_that_cannot_be_deleted_does_no_harm(publication: Publication, fail_once: FailOnce) -> None:
    fail_once(Repository, "delete_branch", Unavailable("gone fishing"))
    assert publication.publish().success
    assert publication.branches() == [BRANCH, "main"]
    assert publication.data_version() == publication.history()[0]
