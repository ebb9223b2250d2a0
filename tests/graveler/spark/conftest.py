"""Spark, and a storage namespace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flights_data import delivered
from tests.spark_session import spark

__all__ = ["delivered", "spark"]


@pytest.fixture
def namespace(tmp_path: Path) -> str:
    """A storage namespace whose path would need escaping in a URI."""
    return (tmp_path / "a lake, 100 % real").as_uri()
