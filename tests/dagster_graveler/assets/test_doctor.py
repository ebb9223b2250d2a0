"""The doctor as a check of an asset: what it finds, and how severe that is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest

from dagster_graveler.assets.leftovers import make_leftovers_asset
from dagster_graveler.checks.doctor import make_doctor_check
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core import connect
from graveler_core.facade.graveler import Graveler
from graveler_core.model.dump import Restoration
from graveler_core.model.ids import BranchId
from graveler_core.records import access
from graveler_core.records import layout as keys

ASSET = make_leftovers_asset()


@pytest.fixture
def url(tmp_path: object) -> str:
    return f"sqlite:///{tmp_path}/meta.db"


@pytest.fixture
def graveler(url: str) -> Iterator[Graveler]:
    with connect(url) as opened:
        yield opened


def checked(url: str, **options: Any) -> dg.AssetCheckEvaluation:
    """Run the check; its answer."""
    check = make_doctor_check(**options)
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize([ASSET, check], instance=instance, resources={"graveler": GravelerResource(url=url)})
    assert result.success
    (found,) = result.get_asset_check_evaluations()
    return found


def findings(found: dg.AssetCheckEvaluation) -> list[dict[str, object]]:
    table = found.metadata["findings"]
    assert isinstance(table, dg.TableMetadataValue)
    return [dict(record.data) for record in table.records]


def test_a_healthy_store_passes(url: str, graveler: Graveler, tmp_path: Any) -> None:
    repo = graveler.create_repository("lake", (tmp_path / "lake").as_uri())
    repo.branch("main").put("a", b"1")
    found = checked(url, deep=True)
    assert (found.passed, findings(found), found.metadata["problems"].value) == (True, [], 0)
    assert found.metadata["not examined"].value == []


def test_a_warning_fails_as_a_warning(url: str, graveler: Graveler, tmp_path: Any) -> None:
    bare = graveler.create_bare_repository("lake", (tmp_path / "lake").as_uri())
    record = Restoration(digest="d" * 64, since=datetime.now(UTC) - timedelta(days=2))
    access.create(graveler._stores.kv, keys.restoration(bare._record), record)
    found = checked(url)
    assert (found.passed, found.severity, found.metadata["problems"].value) == (False, dg.AssetCheckSeverity.WARN, 1)
    (told,) = findings(found)
    assert (told["ailment"], told["severity"], told["where"]) == ("restoration-stuck", "warning", "graveler://lake")


def test_damage_fails_as_an_error_and_only_where_one_looks(url: str, graveler: Graveler, tmp_path: Any) -> None:
    repo = graveler.create_repository("lake", (tmp_path / "lake").as_uri())
    graveler.create_repository("other", (tmp_path / "other").as_uri())
    where = keys.branch(repo._record, BranchId("broken"))
    graveler._stores.kv.set(where.partition, where.key, b"damaged")
    found = checked(url)
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "record-damaged" in {told["ailment"] for told in findings(found)}
    assert checked(url, repository="other").passed


def test_an_incomplete_examination_does_not_pass(url: str, graveler: Graveler, tmp_path: Any) -> None:
    graveler.create_repository("lake", (tmp_path / "lake").as_uri())
    found = checked(url, budget=1e-6)
    assert not found.passed
    assert found.metadata["not examined"].value
