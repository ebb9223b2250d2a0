"""From how many rows on work is given to Spark, and in which pieces, unless said otherwise."""

from __future__ import annotations

from typing import Final

THRESHOLD: Final = 5_000_000
"""Rows from which on Spark is asked: fewer are done in the driver within seconds."""
ROWS_PER_PIECE: Final = 1_000_000
"""Rows that a task works on: about a second, so that starting it is little and repeating it cheap."""
