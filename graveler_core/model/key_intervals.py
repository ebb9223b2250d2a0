"""Key intervals: sets of paths that are adjacent in the order of their bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_LAST_CHARACTER = chr(sys.maxunicode)
_BEFORE_SURROGATES, _AFTER_SURROGATES = "\ud7ff", "\ue000"
"""Characters beside the code points that have no UTF-8 encoding."""


class KeyInterval(NamedTuple):
    """Keys from `start`, inclusive, to `end`, exclusive. A key is the UTF-8 encoding of a path."""

    start: bytes = b""
    end: bytes | None = None
    """`None`: no upper limit."""


def prefix_end(prefix: bytes) -> bytes | None:
    """Return the least key that is greater than every key with a prefix, or `None` if there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


def prefix_end_text(prefix: str) -> str | None:
    """Return the least text that is greater than every text with a prefix, or `None` if there is none.

    Texts are ordered as their keys are. The end of a key prefix may be no text, because its bytes are not UTF-8.
    """
    stripped = prefix.rstrip(_LAST_CHARACTER)
    if not stripped:
        return None
    last = stripped[-1]
    return stripped[:-1] + (_AFTER_SURROGATES if last == _BEFORE_SURROGATES else chr(ord(last) + 1))


def key_interval(prefix: bytes, start: bytes = b"", end: bytes | None = None) -> KeyInterval:
    """Return the interval of the keys with `prefix`, from `start`, before `end` (`None`: no end)."""
    last = prefix_end(prefix)
    if last is None or (end is not None and end < last):
        last = end
    return KeyInterval(max(prefix, start), last)


def intersection(
    left: Sequence[tuple[bytes, bytes | None]], right: Sequence[tuple[bytes, bytes | None]]
) -> tuple[KeyInterval, ...]:
    """Return the keys that are in both of two sorted lists of disjoint key intervals. Empty intervals are left out."""
    found: list[KeyInterval] = []
    a = b = 0
    while a < len(left) and b < len(right):
        (first, end), (other, other_end) = left[a], right[b]
        start, last = max(first, other), _least(end, other_end)
        if last is None or start < last:
            found.append(KeyInterval(start, last))
        if last == end:
            a += 1
        else:
            b += 1
    return tuple(found)


def ordered(intervals: Iterable[tuple[bytes, bytes | None]]) -> tuple[KeyInterval, ...]:
    """Return the same keys as sorted, disjoint key intervals. Empty intervals are left out."""
    made: list[KeyInterval] = []
    for start, end in sorted(intervals, key=lambda interval: interval[0]):
        if end is not None and end <= start:
            continue
        if made and (made[-1].end is None or start < made[-1].end):
            last = made[-1]
            made[-1] = KeyInterval(last.start, None if last.end is None or end is None else max(last.end, end))
        else:
            made.append(KeyInterval(start, end))
    return tuple(made)


def _least(one: bytes | None, other: bytes | None) -> bytes | None:
    return other if one is None or (other is not None and other < one) else one
