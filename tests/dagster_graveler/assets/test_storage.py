"""The asset of a repository's storage, and its check."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
import time_machine

from dagster_graveler.assets.storage import make_storage_asset
from dagster_graveler.checks.storage import make_storage_check
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.storage import CHECK, history, storage_key, stored
from graveler_core import connect
from graveler_core.facade.graveler import Graveler
from graveler_core.gc.collected import Collected

ASSET, HALF = make_storage_asset("lake"), make_storage_check("lake", share=0.5)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/meta.db"


@pytest.fixture
def graveler(url: str) -> Iterator[Graveler]:
    with connect(url) as opened:
        yield opened


def fill(graveler: Graveler, tmp_path: Path) -> None:
    """Store four bytes that a commit names, six that nothing names, and two that are young."""
    lake = graveler.create_repository("lake", (tmp_path / "lake").as_uri())
    main = lake.branch("main")
    for content in (b"unused", b"used"):
        main.put("a", content)
    main.commit("one file")
    for path in (tmp_path / "lake" / "data").iterdir():
        os.utime(path, (0, 0))
    main.put("b", b"12")


def measure(instance: dg.DagsterInstance, url: str) -> tuple[dict[str, object], dg.AssetCheckEvaluation]:
    """Materialize the asset; its metadata, and the check's answer."""
    result = dg.materialize([ASSET, HALF], instance=instance, resources={"graveler": GravelerResource(url=url)})
    (made,) = result.asset_materializations_for_node("lake__storage")
    (check,) = result.get_asset_check_evaluations()
    return {name: value.value for name, value in made.metadata.items()}, check


def test_a_repository_that_does_not_exist_stores_nothing(
    instance: dg.DagsterInstance, url: str, graveler: Graveler
) -> None:
    values, check = measure(instance, url)
    assert (values["bytes"], values["reclaimable bytes"], values["reclaimable share"]) == (0, 0, 0.0)
    assert values["outcome"] == "Repository lake does not exist yet, so there is nothing to collect."
    assert check.passed


def test_bytes_are_told_by_state(instance: dg.DagsterInstance, url: str, graveler: Graveler, tmp_path: Path) -> None:
    fill(graveler, tmp_path)
    values, check = measure(instance, url)
    assert (values["bytes"], values["reclaimable bytes"], values["reclaimable share"]) == (12, 6, 0.5)
    table = str(values["objects"])
    assert "| live: a branch or a tag shows them | 1 | 4 |" in table
    assert "| younger than the grace period: kept | 1 | 2 |" in table
    assert str(values["history"]).startswith("![bytes of content and reclaimable bytes over time](data:image/png")
    assert check.passed
    assert len(list((tmp_path / "lake" / "data").iterdir())) == 3  # nothing was deleted or condemned
    assert graveler.repository("lake").collect(dry_run=True).condemned == 1
    measure(instance, url)
    assert [(stored, lost) for _, stored, lost in history(instance, "lake")] == [(12, 6)] * 2


def test_the_check_alone_looks_at_the_last_measurement(
    instance: dg.DagsterInstance, url: str, graveler: Graveler, tmp_path: Path
) -> None:
    fill(graveler, tmp_path)
    when = datetime.now(UTC) - timedelta(days=2)
    with time_machine.travel(when, tick=True):
        numbers = {"bytes": 100, "reclaimable bytes": 60}
        instance.report_runless_asset_event(dg.AssetMaterialization(storage_key("lake"), metadata=numbers))
    found = checked_alone(instance, url, HALF)
    assert not found.passed
    assert (found.metadata["bytes"].value, found.metadata["reclaimable bytes"].value) == (100, 60)
    assert found.metadata["measured"].value == pytest.approx(when.timestamp(), abs=600)


def checked_alone(instance: dg.DagsterInstance, url: str, check: dg.AssetChecksDefinition) -> dg.AssetCheckEvaluation:
    """Run the check without its asset."""
    result = dg.materialize(
        [ASSET, check],
        selection=dg.AssetSelection.checks(dg.AssetCheckKey(storage_key("lake"), CHECK)),
        instance=instance,
        resources={"graveler": GravelerResource(url=url)},
    )
    assert not result.filter_events(lambda event: event.is_step_materialization)
    (found,) = result.get_asset_check_evaluations()
    return found


@pytest.mark.parametrize(("share", "passed"), [(0.4, False), (0.6, True)])
def test_the_check_alone_measures_if_nothing_was_measured(
    instance: dg.DagsterInstance, url: str, graveler: Graveler, tmp_path: Path, *, share: float, passed: bool
) -> None:
    fill(graveler, tmp_path)
    found = checked_alone(instance, url, make_storage_check("lake", share=share))
    assert (found.passed, found.severity) == (passed, dg.AssetCheckSeverity.WARN)
    assert found.description == f"50% of the content can be reclaimed: 6 of 12 bytes. Allowed: {share:.0%}."


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_is_spared_is_named(dry_run: bool) -> None:
    assert stored(Collected(dry_run=dry_run, named_size=3, spared_size=2, waiting_size=4)) == 7
