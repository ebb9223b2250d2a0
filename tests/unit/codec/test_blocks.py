"""Blocks of equal size: the same bytes, whatever the pieces."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec import blocks as module
from graveler_core.codec.blocks import blocks


@given(st.lists(st.binary(max_size=30)), st.integers(1, 20), st.sampled_from([1, 3, 1 << 12]))
def test_blocks_are_the_content_in_equal_sizes(pieces: list[bytes], size: int, small: int) -> None:
    before, module._SMALL_BYTES = module._SMALL_BYTES, small  # type: ignore[misc]
    try:
        found = list(blocks(pieces, size))
    finally:
        module._SMALL_BYTES = before  # type: ignore[misc]
    assert b"".join(found) == b"".join(pieces)
    assert all(type(block) is bytes for block in found)
    assert [len(block) for block in found[:-1]] == [size] * (len(found) - 1)
    assert all(0 < len(block) <= size for block in found)


def test_many_small_pieces_take_no_more_memory_than_their_bytes() -> None:
    tracemalloc.start()
    try:
        assert sum(map(len, blocks((b"x" for _ in range(300_000)), 1 << 20))) == 300_000
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2_000_000
