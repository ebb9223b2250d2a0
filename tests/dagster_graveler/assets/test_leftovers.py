"""The asset of what deletions left, and its check."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import dagster as dg
import pytest
import time_machine

from dagster_graveler.assets.leftovers import make_leftovers_asset
from dagster_graveler.checks.leftovers import make_leftovers_check
from dagster_graveler.leftovers import LEFTOVERS
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core import connect
from graveler_core.facade.graveler import Graveler

ASSET, CHECK = make_leftovers_asset(), make_leftovers_check()


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def url(tmp_path: object) -> str:
    return f"sqlite:///{tmp_path}/meta.db"


@pytest.fixture
def graveler(url: str) -> Iterator[Graveler]:
    with connect(url) as opened:
        yield opened


def measure(instance: dg.DagsterInstance, url: str) -> tuple[dict[str, object], dg.AssetCheckEvaluation]:
    """Materialize the asset; its metadata, and the check's answer."""
    result = dg.materialize([ASSET, CHECK], instance=instance, resources={"graveler": GravelerResource(url=url)})
    (made,) = result.asset_materializations_for_node("graveler__leftovers")
    (check,) = result.get_asset_check_evaluations()
    return {name: value.value for name, value in made.metadata.items()}, check


def test_nothing_deleted_leaves_nothing(instance: dg.DagsterInstance, url: str, graveler: Graveler) -> None:
    values, check = measure(instance, url)
    assert values == {
        "deleted": 0,
        "purging": 0,
        "restoring": 0,
        "due": 0,
        "unreadable": 0,
        "days of the oldest": 0.0,
        "failed": 0,
    }
    assert check.passed


@pytest.mark.parametrize(("days", "due", "passed"), [(6, 0, True), (7.5, 1, True), (8.5, 1, False)])
def test_what_waits_for_too_long_fails(  # noqa: PLR0917
    instance: dg.DagsterInstance, url: str, graveler: Graveler, days: float, due: int, passed: bool
) -> None:
    with time_machine.travel(timedelta(days=-days), tick=True):
        graveler.create_repository("lake", "memory://lake-of-leftovers", adopt=True, ephemeral=True)
        graveler.delete_repository("lake")
    values, check = measure(instance, url)
    assert (values["deleted"], values["due"]) == (1, due)
    assert check.passed == passed
    assert check.metadata["days allowed"].value == 8.0


def test_what_the_last_cleaner_could_not_remove_fails(
    instance: dg.DagsterInstance, url: str, graveler: Graveler
) -> None:
    instance.report_runless_asset_event(dg.AssetMaterialization(LEFTOVERS, metadata={"failed": 2}))
    for _ in range(2):
        values, check = measure(instance, url)
        assert values["failed"] == check.metadata["failed"].value == 2
        assert not check.passed
