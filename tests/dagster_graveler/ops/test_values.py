"""Values between the ops of this package's jobs, in a project whose IO manager stores only assets."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import dagster as dg
import pytest
import time_machine

from dagster_graveler.io_managers.graveler import GravelerIOManager
from dagster_graveler.jobs.cleaning import make_cleaning_job
from dagster_graveler.jobs.versioning import make_versioning_jobs
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.graveler_branch import GravelerBranch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from orchestration.local import Installation
from tests.dagster_graveler.ops.results import ran

Project = Callable[[dg.JobDefinition], dg.JobDefinition]


@pytest.fixture
def project(installation: Installation) -> Project:
    """Return a job as a project loads it."""

    def loaded(job: dg.JobDefinition) -> dg.JobDefinition:
        graveler = GravelerResource(url=installation.store)
        branch = GravelerBranch(graveler=graveler, repository="lake", storage_root=installation.data)
        resources = {"graveler": graveler, "branch": branch, "io_manager": GravelerIOManager(branch=branch)}
        return dg.Definitions(jobs=[job], resources=resources).resolve_job_def(job.name)

    return loaded


@pytest.fixture
def graveler_resource(installation: Installation) -> GravelerResource:
    return GravelerResource(url=installation.store)


def test_a_commit_returns_its_id(
    instance: dg.DagsterInstance, lake: Repository, project: Project, graveler_resource: GravelerResource
) -> None:
    lake.branch("main").put("a", b"1")
    commit_job, *_ = make_versioning_jobs(graveler_resource)
    config = {"repository": "lake", "branch": "main", "message": "One"}
    result = ran(project(commit_job), instance, {"commit": config})
    assert result.success
    assert result.output_for_node("commit") == lake.commit("main").id


def test_a_deleted_repository_is_emptied(
    instance: dg.DagsterInstance,
    installation: Installation,
    graveler: Graveler,
    project: Project,
    graveler_resource: GravelerResource,
) -> None:
    with time_machine.travel(timedelta(days=-10), tick=True):
        graveler.create_repository("old", f"{installation.data}/old")
        graveler.delete_repository("old")
    result = ran(project(make_cleaning_job(graveler_resource)), instance)
    assert result.success
    assert list(graveler.deleted_repositories()) == []


def test_a_job_can_get_another_io_manager(
    instance: dg.DagsterInstance, lake: Repository, project: Project, graveler_resource: GravelerResource
) -> None:
    stored = []

    class Noted(dg.ConfigurableIOManager):
        def handle_output(self, context: dg.OutputContext, obj: object) -> None:
            stored.append(obj)

        def load_input(self, context: dg.InputContext) -> object:
            raise AssertionError("nothing is loaded")

    commit_job, *_ = make_versioning_jobs(graveler_resource)
    noted = Noted().get_resource_definition()
    other = commit_job.with_top_level_resources({**commit_job.resource_defs, "io_manager": noted})
    lake.branch("main").put("a", b"1")
    config = {"repository": "lake", "branch": "main", "message": "One"}
    assert ran(project(other), instance, {"commit": config}).success
    assert stored == [lake.commit("main").id]
