"""Pytest fixtures. Load them with `pytest_plugins = ["dagster_graveler.testing.fixtures"]` in `conftest.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dagster_graveler.testing.lake import EphemeralLake, ephemeral_lake


@pytest.fixture
def graveler_lake(tmp_path: Path) -> Iterator[EphemeralLake]:
    """Lake in the temporary directory of the test."""
    with ephemeral_lake(tmp_path) as lake:
        yield lake
