"""Branches of branch deployments: their names, their creation, and their deletion by a job."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_graveler import GravelerBranch, GravelerIOManager, branch_for_deployment, make_delete_deployment_job
from dagster_graveler.deployments import deployment_branch
from dagster_graveler.testing import EphemeralLake
from graveler_core.errors import InvalidInput
from graveler_core.model.names import branch_id


def deploy(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name in ("IS_BRANCH_DEPLOYMENT", "GIT_BRANCH", "DEPLOYMENT_NAME"):
        monkeypatch.setenv(f"DAGSTER_CLOUD_{name}", variables.get(name, ""))


def test_production_publishes_into_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(monkeypatch, IS_BRANCH_DEPLOYMENT="0", DEPLOYMENT_NAME="prod", GIT_BRANCH="main")
    assert branch_for_deployment() == "main"
    assert branch_for_deployment("published") == "published"


def test_a_branch_deployment_has_a_branch_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(monkeypatch, IS_BRANCH_DEPLOYMENT="1", GIT_BRANCH="feature/x")
    assert branch_for_deployment() == "deploy-feature-x-" + branch_for_deployment().rpartition("-")[2]
    deploy(monkeypatch, IS_BRANCH_DEPLOYMENT="1", GIT_BRANCH="feature-x")
    assert branch_for_deployment() != deployment_branch("feature/x")
    deploy(monkeypatch, IS_BRANCH_DEPLOYMENT="1", DEPLOYMENT_NAME="d7")
    assert branch_for_deployment() == deployment_branch("d7")


def test_a_branch_deployment_without_a_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(monkeypatch, IS_BRANCH_DEPLOYMENT="1")
    with pytest.raises(InvalidInput, match="DAGSTER_CLOUD_GIT_BRANCH or DAGSTER_CLOUD_DEPLOYMENT_NAME must name"):
        branch_for_deployment()


@given(st.text(min_size=1))
def test_every_git_branch_gives_a_valid_name(name: str) -> None:
    assert branch_id(deployment_branch(name)).startswith("deploy-")


def test_the_branch_is_created_from_the_default_branch_and_deleted_by_the_job(
    graveler_lake: EphemeralLake, tmp_path: Path
) -> None:
    repository = graveler_lake.repository
    repository.branch("main").put("published", b"x")
    head = repository.branch("main").commit("published").id
    into = deployment_branch("feature/x")
    branch = GravelerBranch(
        graveler=graveler_lake.graveler,
        repository="lake",
        storage_root=tmp_path.as_uri(),
        into=into,
        default_branch="main",
        branch=f"{into}.{{run}}",
    )
    other = repository.create_branch(deployment_branch("feature-x") + ".run", source="main")

    @dg.asset
    def table() -> pa.Table:
        return pa.table({"n": [1]})

    graveler_lake.materialize([table], resources={"io_manager": GravelerIOManager(branch=branch)})
    assert repository.commit(into).id == head
    assert len([*repository.branches(f"{into}.")]) == 1
    run = {"ops": {"delete_deployment_branch": {"config": {"repository": "lake", "git_branch": "feature/x"}}}}
    for _ in range(2):
        job = make_delete_deployment_job(graveler_lake.graveler)
        assert job.execute_in_process(run, instance=graveler_lake.instance).success
        assert {each.id for each in repository.branches()} == {"main", other.name}
        assert repository.commit("main").id == head


def test_a_new_repository_has_the_default_branch(graveler_lake: EphemeralLake, tmp_path: Path) -> None:
    branch = GravelerBranch(
        graveler=graveler_lake.graveler,
        repository="other",
        storage_root=tmp_path.as_uri(),
        into="deploy-x",
        default_branch="main",
    )
    repository = branch.open_repository()
    assert repository.default_branch == "main"
    assert {each.id for each in repository.branches()} == {"main", "deploy-x"}
