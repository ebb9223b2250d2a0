"""The op that completes a repository: what it says, and how it fails and continues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_graveler import make_completion_job
from dagster_graveler.ops.completing import OP
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core.errors import SlowDown
from graveler_core.facade.graveler import Graveler
from graveler_core.transfer.completion import _Completion
from tests.dagster_graveler.ops.results import ran, retried, said
from tests.foreign.nessie_exports import HISTORY, write_archive


def test_a_repository_is_completed(
    instance: dg.DagsterInstance, graveler: Graveler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt stops after the commits. The next one continues."""
    uri = write_archive(HISTORY.files(2), tmp_path / "export.zip")
    graveler.migrate_nessie("tables", uri, (tmp_path / "own").as_uri(), incomplete=True)
    real, failed = _Completion._activate, list[str]()

    def fails_once(work: Any) -> None:
        if not failed:
            failed.append("once")
            raise SlowDown("busy")
        real(work)

    monkeypatch.setattr(_Completion, "_activate", fails_once)
    job = make_completion_job(GravelerResource(url=dg.EnvVar("GRAVELER_STORE")), {"repository": "tables"})
    done = ran(job, instance)
    assert done.success
    assert retried(done) == 1
    told = said(done)
    assert (told["commits"], told["earlier commits"], told["dagster/uri"]) == (0, 6, "graveler://tables")
    assert [*graveler.verify_nessie("tables", uri)] == []
    absent = ran(job, instance, {OP: {"repository": "none"}})
    assert not absent.success
    assert retried(absent) == 0
