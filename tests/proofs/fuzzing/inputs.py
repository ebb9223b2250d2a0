"""Inputs for decoders: mutations of samples, and arbitrary bytes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

INTERESTING = (0, 1, 2, 0x7F, 0x80, 0xFF)
"""Bytes at which lengths, signs and versions change their meaning."""
PIECES = (
    b"\0",
    b"\xff" * 4,
    b"\0" * 8,
    b"\xff" * 8,
    b"\x7f\xff\xff\xff",
    b"../",
    b"%00",
    b'"',
    b"}",
    b"[",
    b"\xed\xa0\x80",
    b"1" * 400,
)
MOST_CHANGES = 6
LONGEST_PIECE = 64
MOST_COPIES = 20


def mutate(random: Random, data: bytes) -> bytes:
    """Change some bytes: set, insert, delete, repeat, move or cut."""
    for _ in range(1 + _below(random, MOST_CHANGES)):
        one, other = _below(random, len(data) + 1), _below(random, len(data) + 1)
        at = min(one, other)
        to = min(max(one, other), at + LONGEST_PIECE)
        data = _CHANGES[_below(random, len(_CHANGES))](random, data[:at], data[at:to], data[to:])
    return data


def _below(random: Random, end: int) -> int:
    """Return a number from 0 to `end`, without `end`. Most inputs take longer to draw than to decode, and this is the
    fastest way to draw.
    """
    return int(random.random() * end)


def _set(random: Random, before: bytes, piece: bytes, after: bytes) -> bytes:
    return before + bytes([INTERESTING[_below(random, len(INTERESTING))]]) + (piece + after)[1:]


def _set_any(random: Random, before: bytes, piece: bytes, after: bytes) -> bytes:
    return before + bytes([_below(random, 256)]) + (piece + after)[1:]


def _flip(random: Random, before: bytes, piece: bytes, after: bytes) -> bytes:
    return before + bytes(each ^ 1 << _below(random, 8) for each in piece[:1]) + (piece + after)[1:]


def _insert(random: Random, before: bytes, piece: bytes, after: bytes) -> bytes:
    return before + PIECES[_below(random, len(PIECES))] + piece + after


def _delete(random: Random, before: bytes, piece: bytes, after: bytes) -> bytes:
    return before + after


def _repeat(random: Random, before: bytes, piece: bytes, after: bytes) -> bytes:
    return before + piece * (2 + _below(random, MOST_COPIES - 1)) + after


def _turn(random: Random, before: bytes, piece: bytes, after: bytes) -> bytes:
    return after + before


def _cut(random: Random, before: bytes, piece: bytes, after: bytes) -> bytes:
    return before


_CHANGES = (_set, _set_any, _flip, _insert, _delete, _repeat, _turn, _cut)


@st.composite
def inputs(draw: st.DrawFn, samples: Sequence[bytes]) -> bytes:
    """A mutated sample, most of the time, or any bytes."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    return mutate(draw(st.randoms(use_true_random=False)), draw(st.sampled_from(samples)))
