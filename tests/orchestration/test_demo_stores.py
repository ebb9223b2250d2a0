"""`./run demo` with its metadata on each kind of server."""

from __future__ import annotations

from pathlib import Path

import pytest

from graveler_core import connect
from tests.orchestration.test_demo import tell

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scheme", ["mysql", "redis", "dynamodb"])
def test_it_works_on_a_server(scheme: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{scheme}_url")
    told = tell(tmp_path, "--months", "2", "--store", url)
    assert "27,004 staged on branch 2013-01 of timetable" in told
    assert [line.split()[1] for line in told.splitlines() if line.endswith("  on Spark")] == ["commit", "merge"]
    assert not (tmp_path / ".graveler" / "meta.db").exists()
    with connect(url) as graveler:
        messages = [commit.message for commit in graveler.repository("flights").log("main", first_parent=True)]
        assert messages == ["What was delivered", "Flights of 2013-02", "Flights of 2013-01", "Repository created"]
        assert not [finding for finding in graveler.repository("flights").fsck() if finding.damage]
        newest = next(iter(graveler.repository("timetable").log("main", first_parent=True)))
        assert newest.message == "Each flight of 2013-01"
