"""The op that migrates from lakeFS: what it brings, what it says of that, and how it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_graveler import make_lakefs_migration_job
from dagster_graveler.ops.migrating import OP
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core.errors import SlowDown
from graveler_core.facade.graveler import Graveler
from tests.dagster_graveler.ops.results import ran, retried, said
from tests.foreign import fixtures
from tests.foreign.lakefs_history import REPOSITORY


def run(instance: dg.DagsterInstance, own: Path, state: str, **config: Any) -> dg.ExecuteInProcessResult:
    job = make_lakefs_migration_job(
        GravelerResource(url=dg.EnvVar("GRAVELER_STORE")),
        {"repository": REPOSITORY, "source": {"env": "LAKEFS"}, "storage_namespace": own.as_uri()},
    )
    given = {"repository": REPOSITORY, "source": {"env": "LAKEFS"}, "storage_namespace": own.as_uri()}
    return ran(job, instance, {OP: {**given, "manifest": fixtures.manifest(state), **config}})


@pytest.fixture(autouse=True)
def source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEFS", fixtures.NAMESPACE.as_uri())


def test_a_repository_comes_over_and_follows(
    instance: dg.DagsterInstance, graveler: Graveler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt of the first run did its work, and did not live to say so."""
    real, failed = Graveler.migrate_lakefs, list[str]()

    def fails_once(handle: Graveler, *arguments: Any, **options: Any) -> Any:
        done = real(handle, *arguments, **options)
        if not failed:
            failed.append("once")
            raise SlowDown("busy")
        return done

    monkeypatch.setattr(Graveler, "migrate_lakefs", fails_once)
    first = run(instance, tmp_path / "own", "first", verify=True)
    assert first.success
    told = said(first)
    assert (told["commits"], told["earlier commits"], told["verified"]) == (0, 6, True)
    assert told["source"] == fixtures.NAMESPACE.as_uri()
    told = said(run(instance, tmp_path / "own", "second", verify=True))
    assert (told["commits"], told["branches created"], told["branches moved"]) == (1, ["later"], ["main"])
    assert told["dagster/uri"] == f"graveler://{REPOSITORY}"
    assert {branch.id for branch in graveler.repository(REPOSITORY).branches()} == {"dev", "later", "main"}


def test_differences_and_what_is_hopeless_fail_at_once(
    instance: dg.DagsterInstance, graveler: Graveler, tmp_path: Path
) -> None:
    assert run(instance, tmp_path / "own", "second").success
    graveler.repository(REPOSITORY).branch("main").put("own", b"work")
    graveler.repository(REPOSITORY).branch("main").commit("own work")
    for config in ({"verify": True}, {"storage_namespace": fixtures.NAMESPACE.as_uri()}):
        result = run(instance, tmp_path / "own", "second", **config)
        assert not result.success
        assert retried(result) == 0
    (failed, *_) = [e for e in run(instance, tmp_path / "own", "second", verify=True).all_events if e.is_step_failure]
    assert "branch main is changed" in str(failed.step_failure_data.user_failure_data.metadata["differences"].value)
