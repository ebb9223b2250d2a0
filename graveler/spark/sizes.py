"""Default sizes: the minimum number of rows for which Spark is used, and the number of rows per task."""

from __future__ import annotations

from typing import Final

THRESHOLD: Final = 5_000_000
"""Minimum number of rows for which Spark is used. Fewer rows are processed in the driver within seconds."""
ROWS_PER_TASK: Final = 1_000_000
"""Rows per task. They take about a second, so that the start of a task is a small part of its cost, and a retry is
cheap.
"""
