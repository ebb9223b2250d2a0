"""What Dagster shows of the branch that an asset check measured."""

from pathlib import Path
from typing import Any

import dagster as dg

from dagster_graveler.io_managers.graveler import GravelerIOManager
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.graveler_branch import GravelerBranch


@dg.asset
def letters() -> str:
    return "abc"


@dg.asset_check(asset=letters, name="loaded")
def loads_the_table(letters: str) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=letters == "abc")


@dg.asset_check(asset=letters, name="told")
def tells_the_branch(branch: dg.ResourceParam[GravelerBranch]) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True, metadata=branch.measured("letters"))


def test_a_check_shows_the_branch_that_it_measured(tmp_path: Path) -> None:
    graveler = GravelerResource(url=f"sqlite:///{tmp_path / 'meta.db'}")
    branch = GravelerBranch(
        graveler=graveler, repository="lake", storage_root=(tmp_path / "data").as_uri(), branch="work"
    )
    defs = dg.Definitions(
        assets=[letters],
        asset_checks=[loads_the_table, tells_the_branch],
        jobs=[
            dg.define_asset_job("all"),
            dg.define_asset_job("checks", dg.AssetSelection.checks(loads_the_table, tells_the_branch)),
        ],
        resources={"io_manager": GravelerIOManager(branch=branch), "branch": branch},
        executor=dg.in_process_executor,
    )
    with dg.DagsterInstance.ephemeral() as instance:
        first = defs.resolve_job_def("all").execute_in_process(instance=instance)
        (written,) = first.asset_materializations_for_node("letters")
        told = {each.check_name: shown(each.metadata) for each in first.get_asset_check_evaluations()}
        wanted = {key: written.metadata[key].value for key in ("graveler/branch", "graveler/content")}
        assert wanted["graveler/branch"] == "work"
        assert told == {"loaded": {}, "told": wanted}
        (observed,) = [observation(event) for event in first.get_asset_observation_events()]
        assert observed["ref"] == "work"
        graveler.graveler().repository("lake").delete_branch("work")
        again = defs.resolve_job_def("checks").execute_in_process(instance=instance, raise_on_error=False)
        (evaluation,) = [each for each in again.get_asset_check_evaluations() if each.check_name == "told"]
        assert shown(evaluation.metadata) == {"graveler/branch": "main"}


def observation(event: dg.DagsterEvent) -> dict[str, Any]:
    data: Any = event.event_specific_data
    return shown(data.asset_observation.metadata)


def shown(metadata: Any) -> dict[str, Any]:
    return {key: value.value for key, value in metadata.items()}
