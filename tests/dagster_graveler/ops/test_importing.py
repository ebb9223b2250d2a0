"""The op that imports: what it does, what it says of that, and what it does when it is tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dagster_graveler.jobs.importing import make_import_job
from dagster_graveler.ops.importing import OP
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core.errors import SlowDown
from graveler_core.facade.repository import Repository
from tests.dagster_graveler.ops.results import ran, retried, said


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    for name in ("a/1", "a/2", "b"):
        (tmp_path / "raw" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "raw" / name).write_text(name)
    return tmp_path / "raw"


def run(instance: dg.DagsterInstance, raw: Path, **config: Any) -> dg.ExecuteInProcessResult:
    job = make_import_job(GravelerResource(url=dg.EnvVar("GRAVELER_STORE")))
    told = {"repository": "lake", "branch": "main", "source": raw.as_uri(), **config}
    return ran(job, instance, {OP: told})


def test_a_place_and_again(instance: dg.DagsterInstance, lake: Repository, raw: Path) -> None:
    first = said(run(instance, raw, destination="in", exclude=["b"], message="Take over"))
    commit = lake.commit("main")
    assert (commit.message, commit.committer) == ("Take over", "dagster")
    assert (first["outcome"], first["commit"], first["objects"], first["added"]) == ("imported", commit.id, 2, 2)
    assert (first["left out by globs"], first["dagster/uri"]) == (1, "graveler://lake/main/in")
    again = said(run(instance, raw, destination="in", exclude=["b"]))
    assert (again["outcome"], again["commit"]) == ("nothing new", commit.id)


def test_the_launchpad_offers_a_place(
    instance: dg.DagsterInstance, lake: Repository, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLACE", raw.as_uri())
    given = {"repository": "lake", "branch": "main", "source": {"env": "PLACE"}, "destination": "in"}
    job = make_import_job(GravelerResource(url=dg.EnvVar("GRAVELER_STORE")), given)
    result = ran(job, instance)
    assert (said(result)["outcome"], said(result)["engine"]) == ("imported", "local")
    assert lake.commit("main").metadata == {"run": result.run_id, "job": "import_job", "step": OP}
    assert said(run(instance, raw, destination="in", exclude=["a/*"]))["outcome"] == "nothing new"


def test_an_inventory(instance: dg.DagsterInstance, lake: Repository, raw: Path, tmp_path: Path) -> None:
    key = str(raw / "b")[1:]
    pq.write_table(pa.table({"key": [key], "size": [1]}), tmp_path / "inventory.parquet")
    told = said(run(instance, raw, inventory=(tmp_path / "inventory.parquet").as_uri()))
    assert (told["outcome"], told["objects"]) == ("imported", 1)
    assert lake.branch("main").read("b") == b"b"


def test_tried_again_after_the_commit(
    instance: dg.DagsterInstance, lake: Repository, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt did its work, and did not live to say so."""
    real, failed = Repository.import_prefix, list[str]()

    def fails_once(repository: Repository, *arguments: Any, **options: Any) -> Any:
        done = real(repository, *arguments, **options)
        if not failed:
            failed.append("once")
            raise SlowDown("busy")
        return done

    monkeypatch.setattr(Repository, "import_prefix", fails_once)
    result = run(instance, raw)
    assert result.success
    assert said(result)["outcome"] == "imported by an earlier attempt"
    assert said(result)["commit"] == lake.commit("main").id
    assert len(list(lake.log("main"))) == 2


def test_what_is_hopeless_is_not_tried_again(instance: dg.DagsterInstance, lake: Repository, raw: Path) -> None:
    result = run(instance, raw / "nowhere")
    assert not result.success
    assert retried(result) == 0
    (raw / "back\\slash").touch()
    assert not run(instance, raw).success
    told = said(run(instance, raw, skip_invalid=True))
    assert (told["invalid"], told["objects"]) == (1, 3)
    assert told["invalid keys"][0][0] == "back\\slash"
