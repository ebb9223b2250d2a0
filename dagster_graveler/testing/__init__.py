"""Tests of pipelines without servers: an ephemeral lake, and assertions about what a run published.

Load the fixture `graveler_lake` in `conftest.py`:

    pytest_plugins = ["dagster_graveler.testing.fixtures"]
"""

from dagster_graveler.testing.assertions import assert_content, assert_kept, assert_published
from dagster_graveler.testing.lake import EphemeralLake, ephemeral_lake

__all__ = ["EphemeralLake", "assert_content", "assert_kept", "assert_published", "ephemeral_lake"]
