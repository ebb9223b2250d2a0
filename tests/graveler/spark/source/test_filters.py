"""Filters as spans: exactly the keys for which they hold, and what is not understood given back."""

from __future__ import annotations

import sys
from itertools import pairwise
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from graveler.spark.source.filters import accepted, may_be_pushed

PATHS = st.text(alphabet="ab/ü\U0001f600\x7f", max_size=3)
PATH = ("path",)
HOLDS = {
    EqualTo: lambda path, value: path == value,
    EqualNullSafe: lambda path, value: path == value,
    LessThan: lambda path, value: path.encode() < value.encode(),
    LessThanOrEqual: lambda path, value: path.encode() <= value.encode(),
    GreaterThan: lambda path, value: path.encode() > value.encode(),
    GreaterThanOrEqual: lambda path, value: path.encode() >= value.encode(),
    StringStartsWith: lambda path, value: path.startswith(value),
    In: lambda path, values: path in values,
}
SINGLE = [kind for kind in HOLDS if kind is not In]
FILTERS = st.one_of(
    st.builds(lambda kind, value: kind(PATH, value), st.sampled_from(SINGLE), PATHS),
    st.builds(lambda values: In(PATH, tuple(values)), st.lists(st.none() | PATHS, max_size=5)),
)


@given(filters=st.lists(FILTERS, max_size=4), paths=st.lists(PATHS, max_size=20))
def test_spans_hold_what_the_filters_let_pass(filters: list[Filter], paths: list[str]) -> None:
    spans, rest = accepted(filters)
    assert rest == []
    assert all(end is None or start < end for start, end in spans)
    assert all(end is not None and end <= start for (_, end), (start, _) in pairwise(spans))
    for path in paths:
        inside = any(start <= path.encode() and (end is None or path.encode() < end) for start, end in spans)
        assert inside == all(HOLDS[type(each)](path, each.value) for each in filters)  # type: ignore[attr-defined]


def test_what_is_not_understood_is_given_back() -> None:
    others: list[Filter] = [
        EqualTo(("size",), 3),
        EqualTo(("before", "path"), "a"),
        EqualTo(PATH, 3),
        EqualNullSafe(PATH, None),
        IsNull(PATH),
        Not(EqualTo(PATH, "a")),
        StringEndsWith(PATH, "a"),
        StringContains(PATH, "a"),
        In(PATH, (1, 2)),
    ]
    spans, rest = accepted([*others, IsNotNull(PATH), StringStartsWith(PATH, "b")])
    assert rest == others
    assert spans == ((b"b", b"c"),)


def test_only_the_planner_of_filters_gets_a_reader_that_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "pyspark.sql.worker.data_source_pushdown_filters"
    monkeypatch.delitem(sys.modules, name, raising=False)
    assert not may_be_pushed()
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert may_be_pushed()
