"""Which permissions an erasure needs: on its paths, and on everything if it may reach everything. Also the committer
of its commits.
"""

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


@pytest.mark.parametrize(("may", "committer"), [((), "ada"), ((Says("fs:SetCommitter"),), "eve")])
def test_the_committer_is_the_user(tmp_path: Path, may: tuple[Says, ...], committer: str) -> None:
    lake = Lake(tmp_path)
    done = asked_by(lake, Says("retention:EraseContent"), *may).erase([PATH], why="a request", committer="eve")
    assert {lake.repo.commit(commit).committer for _, commit in done.commits} == {committer}
