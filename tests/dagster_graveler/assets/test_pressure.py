"""The asset of a repository's pressure, and its check."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest

from dagster_graveler.assets.pressure import make_pressure_asset
from dagster_graveler.checks.pressure import make_pressure_check
from dagster_graveler.pressure import history
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core import Thresholds, connect
from graveler_core.facade.graveler import Graveler

ASSET, CHECK = make_pressure_asset("lake"), make_pressure_check("lake")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def store(tmp_path: object) -> str:
    return f"sqlite:///{tmp_path}/meta.db"


@pytest.fixture
def graveler(store: str) -> Iterator[Graveler]:
    with connect(store) as opened:
        yield opened


def measure(instance: dg.DagsterInstance, store: str) -> tuple[dict[str, object], dg.AssetCheckEvaluation]:
    """Materialize the asset; its metadata, and the check's answer."""
    result = dg.materialize([ASSET, CHECK], instance=instance, resources={"graveler": GravelerResource(url=store)})
    (made,) = result.asset_materializations_for_node("lake__pressure")
    (check,) = result.get_asset_check_evaluations()
    return {name: value.value for name, value in made.metadata.items()}, check


def test_no_repository_is_no_pressure(instance: dg.DagsterInstance, store: str) -> None:
    values, check = measure(instance, store)
    assert values["pressure"] == 0.0
    assert check.passed


def test_the_highest_pressure_counts_and_the_history_grows(
    instance: dg.DagsterInstance, store: str, graveler: Graveler
) -> None:
    lake = graveler.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)
    lake.set_thresholds(Thresholds(tombstones=1_000))
    lake.branch("main").remove_many([f"path/{n}" for n in range(500)])
    values, check = measure(instance, store)
    assert check.passed
    assert values["pressure"] == 0.5
    first = values["history"]

    lake.create_branch("dev", source="main").remove_many([f"path/{n}" for n in range(1_500)])
    values, check = measure(instance, store)
    assert not check.passed
    assert check.severity is dg.AssetCheckSeverity.WARN
    assert check.metadata["branches over pressure"].value == 1
    assert "| dev | 150% |" in str(check.metadata["branches"].value)
    numbers = ("pressure", "branches counted", "branches over pressure", "tombstones", "staged records", "layers")
    assert [values[name] for name in numbers] == [1.5, 2, 1, 2_000, 2_000, 2]
    assert values["history"] != first
    assert [value for _, value in history(instance, "lake")] == [0.5, 1.5]
