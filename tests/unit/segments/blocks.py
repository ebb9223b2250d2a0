"""Blocks of a few changes, so that little content makes many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from graveler_core.segments import operations
from graveler_core.segments.boundary import HASH_VALUES


@contextmanager
def small_blocks(mean: int = 3) -> Iterator[int]:
    """Digests of operations are made with blocks of so many changes in the mean; gives the threshold."""
    with patch.object(operations, "_THRESHOLD", HASH_VALUES // mean):
        yield HASH_VALUES // mean
