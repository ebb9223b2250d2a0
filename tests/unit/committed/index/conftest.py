"""Digests of operations in many blocks, though the changes are few."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.segments.blocks import small_blocks


@pytest.fixture(autouse=True, scope="module")
def _small_blocks() -> Iterator[None]:
    with small_blocks():
        yield
