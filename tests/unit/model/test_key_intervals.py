"""Key intervals, against sets of keys."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.model.key_intervals import (
    KeyInterval,
    intersection,
    key_interval,
    ordered,
    prefix_end,
    prefix_end_text,
)

KEYS = st.binary(max_size=2)
INTERVALS = st.lists(st.tuples(KEYS, st.none() | KEYS), max_size=5)
Intervals = list[tuple[bytes, bytes | None]]


def inside(intervals: Intervals | tuple[KeyInterval, ...], key: bytes) -> bool:
    return any(start <= key and (end is None or key < end) for start, end in intervals)


def is_sorted(intervals: tuple[KeyInterval, ...]) -> bool:
    apart = all(end is not None and end <= start for (_, end), (start, _) in pairwise(intervals))
    return apart and all(end is None or start < end for start, end in intervals)


@given(prefix=st.binary(max_size=3), key=st.binary(max_size=4))
def test_a_prefix_ends_where_keys_stop_to_begin_with_it(prefix: bytes, key: bytes) -> None:
    end = prefix_end(prefix)
    assert key.startswith(prefix) == (prefix <= key and (end is None or key < end))


_CHARACTERS = st.sampled_from("a/0\x7f\x80\u07ff\ud7ff\ue000\uffff\U00010000\U0010ffff")


@given(prefix=st.text(_CHARACTERS, max_size=3), text=st.text(_CHARACTERS, max_size=4))
def test_the_end_of_a_prefix_as_text(prefix: str, text: str) -> None:
    end = prefix_end_text(prefix)
    inside = prefix.encode() <= text.encode() and (end is None or text.encode() < end.encode())
    assert inside == text.startswith(prefix)


@given(prefix=KEYS, start=KEYS, end=st.none() | KEYS, key=st.binary(max_size=3))
def test_an_interval_has_the_keys_with_a_prefix_between_two_keys(
    prefix: bytes, start: bytes, end: bytes | None, key: bytes
) -> None:
    wanted = key.startswith(prefix) and start <= key and (end is None or key < end)
    assert inside((key_interval(prefix, start, end),), key) == wanted


@given(intervals=INTERVALS, key=st.binary(max_size=3))
def test_ordered_intervals_have_the_same_keys(intervals: Intervals, key: bytes) -> None:
    made = ordered(intervals)
    assert is_sorted(made)
    assert inside(made, key) == inside(intervals, key)


@given(left=INTERVALS, right=INTERVALS, key=st.binary(max_size=3))
def test_an_intersection_has_the_keys_of_both(left: Intervals, right: Intervals, key: bytes) -> None:
    made = intersection(ordered(left), ordered(right))
    assert is_sorted(made)
    assert inside(made, key) == (inside(left, key) and inside(right, key))


def test_adjacent_intervals_stay_apart() -> None:
    """Intervals of one key are looked up, which is cheaper than a scan."""
    keys = [(b"a", b"a\0"), (b"a\0", b"a\0\0")]
    assert ordered(reversed(keys)) == intersection(ordered(keys), [(b"", None)]) == tuple(keys)
