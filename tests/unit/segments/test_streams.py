"""Merging sorted streams page by page: the newest record of a key, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.segments import streams
from graveler_core.segments.sorted_keys import KEY
from graveler_core.segments.streams import merge, overlaid
from tests.unit.segments.samples import CHANGES, STATES, Changes, State, after, entries, records, state_of

STREAMS = st.lists(st.tuples(CHANGES, st.integers(1, 7)), min_size=1, max_size=5)


def pages(changes: Changes, rows: int) -> Iterator[pa.Table]:
    table = records(changes)
    return (table.slice(row, rows) for row in range(0, table.num_rows, rows))


def merged(said: list[tuple[Changes, int]], at_once: int) -> Iterator[pa.Table]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(streams, "ROWS_AT_ONCE", at_once)
        yield from merge([pages(*stream) for stream in said])


@given(STREAMS, st.sampled_from([1, 4, 9, streams.ROWS_AT_ONCE]))
def test_newest_wins(said: list[tuple[Changes, int]], at_once: int) -> None:
    found: dict[bytes, int | None] = {}
    for page in merged(said, at_once):
        assert len(said) == 1 or page.num_rows <= max(at_once, len(said))
        for row in page.select([KEY, "size"]).to_pylist():
            assert row[KEY] not in found
            found[row[KEY]] = row["size"]
    wanted: dict[bytes, int | None] = {}
    for changes, _ in said:
        wanted = {**changes, **wanted}
    assert found == wanted
    assert list(found) == sorted(found)


def test_nothing_is_read_before_it_is_asked_for() -> None:
    read: list[tuple[str, int]] = []

    def stream(name: str, numbers: range) -> Iterator[pa.Table]:
        for number in numbers:
            read.append((name, number))
            yield records({b"%04d" % number: 1})

    both = merge([stream("even", range(0, 1000, 2)), stream("odd", range(1, 1000, 2))])
    assert not read
    for number in range(10):
        next(both)
        assert len(read) == number + 2


@given(STREAMS, st.integers(0, 2))
def test_streams_that_say_where_they_begin(said: list[tuple[Changes, int]], before: int) -> None:
    begins = [min(changes, default=b"z")[: -before or None] for changes, _ in said]
    told = [page.to_pylist() for page in merge([pages(*stream) for stream in said], begins)]
    untold = [page.to_pylist() for page in merge([pages(*stream) for stream in said])]
    assert [row for page in told for row in page] == [row for page in untold for row in page]


def test_a_stream_is_asked_when_its_keys_have_their_turn() -> None:
    asked: list[str] = []

    def stream(name: str, *keys: bytes) -> Iterator[pa.Table]:
        asked.append(name)
        for key in keys:
            yield records({key: 1})

    late, early = stream("late", b"c", b"d"), stream("early", b"a", b"b", b"c", b"e")
    found = []
    for page in merge([late, early, stream("last", b"f")], [b"c", b"a", b"f"]):
        keys = page.column(KEY).to_pylist()
        found += [(key, list(asked)) for key in keys]
    both = ["early", "late"]
    assert found == [
        (b"a", ["early"]),
        (b"b", ["early"]),
        (b"c", both),
        (b"d", both),
        (b"e", both),
        (b"f", [*both, "last"]),
    ]


def test_empty_pages_end_nothing() -> None:
    empty = records({})
    left = iter([empty, records({b"a": 1}), empty, records({b"c": 1})])
    right = iter([empty, empty, records({b"b": 1})])
    assert [key for page in merge([left, right]) for key in page.column(KEY).to_pylist()] == [b"a", b"b", b"c"]


@pytest.mark.parametrize("as_values", [0, 1_000])
@given(CHANGES, STATES, st.tuples(st.integers(1, 7), st.integers(1, 20)), st.one_of(st.none(), st.integers(1, 5)))
def test_what_shows_where_records_lie_over_entries(
    as_values: int, changes: Changes, state: State, sizes: tuple[int, int], few: int | None
) -> None:
    table, (rows, size) = entries(state), sizes
    below = (table.slice(row, size) for row in range(0, table.num_rows, size))
    with patch.object(streams, "_FEW_RECORDS", as_values):
        shown = list(overlaid(pages(changes, rows), below, few))
    assert all(page.num_rows and page.schema.equals(table.schema) for page in shown)
    found = state_of(*shown)
    assert found == after(state, changes)
    assert list(found) == sorted(found)


def test_no_more_is_read_below_than_shows() -> None:
    read: list[int] = []

    def below() -> Iterator[pa.Table]:
        for number in range(0, 100, 10):
            read.append(number)
            yield entries({b"%04d" % (number + one): one for one in range(10)})

    gone: dict[bytes, int | None] = {b"%04d" % number: None for number in range(25)}
    first = next(overlaid(iter([records(gone)]), below(), 2))
    assert first.column(KEY)[0].as_py() == b"0025"
    assert read == [0, 10, 20]


def test_as_many_pages_as_there_are_may_hide_what_lies_below() -> None:
    state = {b"%04d" % number: number for number in range(200)}
    gone: Changes = dict.fromkeys(list(state)[:-1], None)
    (last,) = overlaid(pages(gone, 1), iter([entries(state)]), 1_000)
    assert last.column(KEY).to_pylist() == [b"0199"]
