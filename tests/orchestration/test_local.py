"""`.graveler/`: the demo, the UI and the command line agree on it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from dagster_graveler.run_tags import UID_TAG
from graveler_core.settings import Settings
from orchestration import local
from orchestration.local import Installation


def test_entering_sets_up_what_the_command_line_and_the_definitions_read(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert os.environ["DAGSTER_HOME"] == str(installation.dagster_home)
    settings = Settings()
    assert settings.store.get_secret_value() == installation.store == f"sqlite:///{installation.root}/meta.db"
    assert settings.data == installation.data
    assert os.environ["GRAVELER_INCOMING"] == installation.incoming.as_uri()
    assert installation.incoming.is_dir()
    assert os.environ["GRAVELER_SPARK_FROM"] == "5000000"
    installation.enter(spark_from=7)
    assert os.environ["GRAVELER_SPARK_FROM"] == "7"
    told = yaml.safe_load((installation.dagster_home / "dagster.yaml").read_text())
    assert told["telemetry"] == {"enabled": False}
    (limit,) = told["concurrency"]["runs"]["tag_concurrency_limits"]
    assert limit == {"key": UID_TAG, "value": {"applyLimitPerUniqueValue": True}, "limit": 1}


def test_the_command_line_finds_it_without_being_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings()
    assert local.here().data == settings.data
    assert settings.store.get_secret_value() == f"sqlite:///{local.here().root.relative_to(tmp_path.resolve())}/meta.db"


def test_what_the_user_changed_is_kept(installation: Installation) -> None:
    settings = installation.dagster_home / "dagster.yaml"
    settings.write_text("telemetry: {enabled: true}\n")
    installation.enter()
    assert settings.read_text() == "telemetry: {enabled: true}\n"
