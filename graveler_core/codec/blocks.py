"""Blocks of equal size from pieces of any size, with at most one copy of each byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

_SMALL_BYTES: Final = 4 << 10
"""Size below which a piece is copied at once, so that many of them take no more memory than their bytes."""


def blocks(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield the content of pieces in blocks.

    Args:
        pieces: The pieces. They must not change.
        size: Size of a block in bytes. The last block may be shorter; nothing yields no block.
    """
    waiting, waiting_bytes = list[bytearray | memoryview](), 0
    for piece in pieces:
        if len(piece) == size and not waiting:
            yield bytes(piece)
            continue
        rest = memoryview(piece)
        while waiting_bytes + len(rest) >= size:
            taken = size - waiting_bytes
            yield b"".join((*waiting, rest[:taken]))
            waiting, waiting_bytes, rest = [], 0, rest[taken:]
        waiting_bytes += len(rest)
        if len(rest) >= _SMALL_BYTES:
            waiting.append(rest)
        elif waiting and isinstance(waiting[-1], bytearray):
            waiting[-1] += rest
        elif len(rest):
            waiting.append(bytearray(rest))
    if waiting:
        yield b"".join(waiting)
