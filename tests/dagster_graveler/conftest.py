"""A local installation, and Spark."""

from __future__ import annotations

from dagster_graveler.testing.fixtures import graveler_lake
from tests.dagster_installation import fail_once, graveler, installation, instance
from tests.spark_session import spark

__all__ = ["fail_once", "graveler", "graveler_lake", "installation", "instance", "spark"]
