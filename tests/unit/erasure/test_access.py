"""Which permissions an erasure needs: on its paths, and on everything if it may reach everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from graveler_core.errors import PermissionDenied
from graveler_core.facade.repository import Repository
from tests.unit.erasure.lake import PATH, PREFIX, Lake
from tests.unit.guard.principals import Says, Told, repository


def asked_by(lake: Lake, *says: Says) -> Repository:
    return repository(lake.world, Told(*says))


def test_an_erasure_needs_its_paths(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    objects = "arn:graveler:fs:::repository/repo/object/"
    mine = asked_by(lake, Says("retention:EraseContent", f"{objects}{PREFIX}*"))
    for refused in ({"prefix": "u/"}, {"paths": [PATH, "u/2/b"]}, {"prefix": PREFIX, "shared": True}):
        with pytest.raises(PermissionDenied):
            mine.erase(why="a request", **refused)  # type: ignore[arg-type]
    assert len(lake.objects) == 5
    assert mine.erase(iter([PATH]), why="a request").objects == 2
    assert mine.erase(prefix=PREFIX, why="a request").objects == 1
    whole = asked_by(lake, Says("retention:EraseContent", "arn:graveler:fs:::repository/*"))
    assert whole.erase(prefix="u/", why="a request", shared=True).objects == 1
    everything = asked_by(lake, Says("fs:*"), Says("auth:*"), Says("retention:CollectGarbage"))
    with pytest.raises(PermissionDenied):
        everything.erase([PATH], why="a request")
