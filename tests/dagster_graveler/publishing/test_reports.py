"""Checks that publications require of a branch."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest

from dagster_graveler.publishing.groups import GroupTable, TableGroup
from dagster_graveler.publishing.reports import require
from graveler_core import connect
from graveler_core.facade.repository import Repository


def group(table: str, *checks: str) -> TableGroup:
    return TableGroup(dg.AssetKey("main"), (GroupTable(dg.AssetKey(table), table, checks),), require=True)


def test_publications_at_the_same_time_keep_the_checks_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Repository.required_checks

    def required_checks(self: Repository) -> Any:
        """Read the rules. Another publication changes them immediately afterwards."""
        found = real(self)
        with monkeypatch.context() as patched:
            patched.setattr(Repository, "required_checks", real)
            require(self, group("weather", "good"), "main")
        return found

    with connect("memory://") as graveler:
        repository = graveler.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)
        repository.require_checks("main", ["flights/old", "manual"])
        with monkeypatch.context() as patched:
            patched.setattr(Repository, "required_checks", required_checks)
            require(repository, group("flights", "good"), "main")
        assert repository.required_checks() == {"main": ("flights/good", "manual", "weather/good")}
