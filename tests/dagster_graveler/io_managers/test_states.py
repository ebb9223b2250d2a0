"""State that an input is read from: a ref, the branch of the run, the reported commit, or one head for each run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_graveler.data_version import DATA_VERSION_TAG
from dagster_graveler.io_managers.graveler import GravelerIOManager
from dagster_graveler.resources import read_commits
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.testing import EphemeralLake
from graveler_core.errors import NotFound
from tests.dagster_graveler.io_managers.letters import Seen, loaded, stored
from tests.dagster_graveler.io_managers.values import letters

KEY = dg.AssetKey(["area", "letters"])
SPEC = dg.AssetSpec(KEY)
TAG = "graveler/read_commit.lake.main"


def publish(lake: EphemeralLake, number: int) -> str:
    """Publish a table with one number, and return the commit."""
    lake.materialize([stored(letters(("a", number)))], tags={"graveler/branch": f"b{number}"})
    repository = lake.repository
    repository.branch(f"b{number}").commit(f"table {number}")
    merged = repository.merge(f"b{number}", into="main").id
    repository.delete_branch(f"b{number}")
    return merged


def report(lake: EphemeralLake, commit: str, key: dg.AssetKey = KEY) -> None:
    lake.instance.report_runless_asset_event(
        dg.AssetMaterialization(key, tags={DATA_VERSION_TAG: commit, "dagster/data_version_is_user_provided": "true"})
    )


def read(lake: EphemeralLake, metadata: dict[str, Any] | None = None, **options: Any) -> tuple[int, dict[str, Any]]:
    """Load the table in a run of its own. Return its number and the recorded metadata of the input."""
    seen: Seen = []
    down = loaded(seen, pa.Table, metadata)
    result = lake.materialize([SPEC, down], selection=[down], **options)
    (observation,) = [e.asset_observation_data.asset_observation for e in result.get_asset_observation_events()]
    assert observation.asset_key == KEY
    found = {key: value.value for key, value in observation.metadata.items()}
    return seen[0]["n"].to_pylist()[0], found


def test_without_a_report_the_head_is_read(graveler_lake: EphemeralLake) -> None:
    publish(graveler_lake, 1)
    head = publish(graveler_lake, 2)
    assert read(graveler_lake) == (2, {"commit": head, "ref": head})


def test_the_reported_commit_is_read_although_the_branch_has_moved(graveler_lake: EphemeralLake) -> None:
    first = publish(graveler_lake, 1)
    report(graveler_lake, first)
    second = publish(graveler_lake, 2)
    report(graveler_lake, first)
    assert read(graveler_lake) == (1, {"commit": first, "ref": first})
    report(graveler_lake, second)
    assert read(graveler_lake)[0] == 2


@pytest.mark.parametrize("version", ["v7", "0" * 64])
def test_a_data_version_that_is_not_a_commit_is_not_read(graveler_lake: EphemeralLake, version: str) -> None:
    head = publish(graveler_lake, 1)
    report(graveler_lake, version)
    assert read(graveler_lake) == (1, {"commit": head, "ref": head})


def test_a_ref_pins_the_input(graveler_lake: EphemeralLake) -> None:
    first = publish(graveler_lake, 1)
    graveler_lake.repository.create_tag("v1", first)
    publish(graveler_lake, 2)
    assert read(graveler_lake, {"ref": "v1"}) == (1, {"commit": first, "ref": "v1"})
    assert read(graveler_lake, {"ref": "main"})[0] == 2
    with pytest.raises(NotFound, match="v2"):
        read(graveler_lake, {"ref": "v2"})


def test_the_branch_of_the_run_comes_before_reports(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    report(graveler_lake, publish(graveler_lake, 1))
    assets = [stored(letters(("a", 2))), loaded(seen, pa.Table)]
    graveler_lake.materialize(assets, tags={"graveler/branch": "dev"})
    assert seen[0]["n"].to_pylist() == [2]
    assert read(graveler_lake, tags={"graveler/branch": "dev"})[0] == 2
    assert read(graveler_lake)[0] == 1


def test_a_run_that_cannot_have_a_branch_reads_the_reported_commit(graveler_lake: EphemeralLake) -> None:
    """The template asks for a partition. A run without one can read."""
    first = publish(graveler_lake, 1)
    publish(graveler_lake, 2)
    report(graveler_lake, first)
    given: dict[str, Any] = {"graveler": graveler_lake.graveler, "storage_root": graveler_lake.branch.storage_root}
    monthly = replace(graveler_lake, branch=GravelerBranch(repository="lake", branch="{partition}-{run}", **given))
    assert read(monthly) == (1, {"commit": first, "ref": first})


def test_all_steps_of_a_run_read_one_head(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    head = publish(graveler_lake, 1)

    @dg.asset(ins={"letters": dg.AssetIn(KEY)})
    def first(letters: pa.Table) -> None:
        seen.append(letters)
        publish(graveler_lake, 2)

    @dg.asset(ins={"letters": dg.AssetIn(KEY)}, deps=[first])
    def second(letters: pa.Table) -> None:
        seen.append(letters)

    result = graveler_lake.materialize([SPEC, first, second], selection=[first, second])
    assert [table["n"].to_pylist() for table in seen] == [[1], [1]]
    run = graveler_lake.instance.get_run_by_id(result.run_id)
    assert run is not None
    assert run.tags[TAG] == f"{head}@{run.run_id}"


@pytest.mark.parametrize("by", ["user", "run"])
@pytest.mark.parametrize("steps", ["all", "one"])
def test_a_reexecution_of_all_steps_reads_the_current_head(
    graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch, steps: str, by: str
) -> None:
    """Dagster copies the tags of the first run. A commit that the user has given stays."""
    first = publish(graveler_lake, 1)
    assert read(graveler_lake, tags={TAG: first} if by == "user" else {})[0] == 1
    (run,) = (run for run in graveler_lake.instance.get_runs() if TAG in run.tags)
    second = publish(graveler_lake, 2)
    monkeypatch.setattr(read_commits, "is_resumption", lambda _instance, _run: steps == "one")
    keeps = by == "user" or steps == "one"
    assert read(graveler_lake, tags=dict(run.tags))[0] == (1 if keeps else 2)
    (again,) = (
        found for found in graveler_lake.instance.get_runs() if TAG in found.tags and found.run_id != run.run_id
    )
    assert again.tags[TAG] == (run.tags[TAG] if keeps else f"{second}@{again.run_id}")


def test_a_run_can_be_started_with_the_commit_that_it_reads(graveler_lake: EphemeralLake) -> None:
    first = publish(graveler_lake, 1)
    publish(graveler_lake, 2)
    assert read(graveler_lake, tags={TAG: first})[0] == 1


def test_each_published_branch_of_a_run_has_a_head_of_its_own(graveler_lake: EphemeralLake) -> None:
    seen: dict[str, list[int]] = {}
    publish(graveler_lake, 1)
    graveler_lake.repository.create_branch("old", source="main")
    publish(graveler_lake, 2)
    given: dict[str, Any] = {"graveler": graveler_lake.graveler, "storage_root": graveler_lake.branch.storage_root}
    other = replace(graveler_lake, branch=GravelerBranch(repository="other", **given))
    publish(other, 3)
    old = GravelerBranch(repository="lake", into="old", **given)
    branches = {"main": graveler_lake.branch, "old": old, "other": other.branch}

    def reader(name: str) -> dg.AssetsDefinition:
        @dg.asset(name=name, ins={"letters": dg.AssetIn(KEY, input_manager_key=f"{name}_files")})
        def read(letters: pa.Table) -> None:
            seen[name] = letters["n"].to_pylist()

        return read

    readers = [reader(name) for name in branches]
    managers = {f"{name}_files": GravelerIOManager(branch=branch) for name, branch in branches.items()}
    graveler_lake.materialize([SPEC, *readers], selection=readers, resources=managers)
    assert seen == {"main": [2], "old": [1], "other": [3]}


def test_a_value_can_be_loaded_outside_of_a_run(graveler_lake: EphemeralLake) -> None:
    publish(graveler_lake, 1)
    asset = stored(letters(("a", 1)))
    definitions = dg.Definitions([asset], resources=graveler_lake.resources)
    value = definitions.load_asset_value(KEY, python_type=pa.Table, instance=graveler_lake.instance)
    assert value.to_pylist() == [{"letter": "a", "n": 1}]
