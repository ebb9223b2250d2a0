"""A cluster that cannot start says why. What one does when it runs: `tests/graveler/spark/cluster`."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.standalone import NotReady, standalone


def test_a_daemon_that_does_not_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    with (
        pytest.raises(NotReady, match=r"(?s)master\.Master does not start.*no-java"),
        standalone(tmp_path / "cluster", environment={"JAVA_HOME": str(tmp_path / "no-java")}),
    ):
        raise AssertionError("it runs without Java")
