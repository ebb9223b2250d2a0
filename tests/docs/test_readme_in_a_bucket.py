"""The examples of the README on an empty bucket, with nothing but its URL: no database, no files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.readme import run_examples
from tests.servers.process import ServerProcess
from tests.servers.s3 import environment, fresh_bucket


def test_the_examples(
    s3_process: ServerProcess, tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(s3_process.port).items():
        monkeypatch.setenv(name, value)
    run_examples(programs / "python", tmp_path, fresh_bucket(s3_process.port).partition("?")[0])
    assert not list(tmp_path.glob("**/*.db"))
