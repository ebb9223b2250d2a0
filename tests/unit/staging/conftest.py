"""Segment layers of several pieces although they are small."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graveler_core.staging import segment_layer


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    """Two records a piece."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(segment_layer, "PIECE_ROWS", 2)
        yield
