"""Layers merged element by element and as tables: equal results, actions included, on both sides of the threshold."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from unittest.mock import patch

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.elements import Element, ElementAction
from graveler_core.committed.index import layer as layer_module
from graveler_core.committed.index.layer import Layer, aged, as_elements, combined, overlaid, owned
from tests.unit.segments.samples import CHANGES, Changes, records

ALWAYS_TABLES, NEVER_TABLES = -1, 1_000_000
EARLIER = (ElementAction.INCREMENTAL_ADD, ElementAction.INCREMENTAL_REMOVE)


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    """A layer of elements or of a table; elements are of earlier commits, of the commit itself, or of both."""
    table = records(draw(CHANGES))
    if draw(st.booleans()):
        return Layer(table=table)
    of_commit = draw(st.sets(st.sampled_from(table["key"].to_pylist() or [b""])))
    elements = as_elements(table, *EARLIER)
    return Layer(elements=[owned([element])[0] if element.key in of_commit else element for element in elements])


def overlaid_beyond(threshold: int, given_layers: Sequence[Layer]) -> Layer:
    """`overlaid` with another threshold, on layers that hold nothing in both forms yet."""
    copies = [
        Layer(elements=one.elements) if "elements" in one.__dict__ else Layer(table=one.table) for one in given_layers
    ]
    with patch.object(layer_module, "_IN_PYTHON", threshold):
        return overlaid(copies)


@given(st.lists(layers(), min_size=1, max_size=4))
def test_overlaid_gives_equal_layers_by_element_and_as_tables(given_layers: list[Layer]) -> None:
    by_element = overlaid_beyond(NEVER_TABLES, given_layers)
    as_tables = overlaid_beyond(ALWAYS_TABLES, given_layers)
    assert by_element.elements == as_tables.elements
    assert by_element.table.equals(as_tables.table)
    assert by_element.keys == as_tables.keys
    assert by_element.size == as_tables.size == Layer(table=as_tables.table).size
    assert len(by_element) == len(as_tables)
    there = {key for key in by_element.keys[::2] if key.decode(errors="ignore").encode() == key}
    found = by_element.records({*there, b"", b"absent"})
    assert found.keys() == there
    for held in (0, NEVER_TABLES):
        with patch.object(layer_module, "_MANY", held):
            assert Layer(table=as_tables.table).records({*there, b"", b"absent"}) == found


@given(st.lists(layers(), min_size=1, max_size=4))
def test_overlaid_takes_the_newest_record_of_a_key_as_of_an_earlier_commit(given_layers: list[Layer]) -> None:
    newest: dict[bytes, Element] = {}
    for one in reversed(given_layers):
        newest.update({element.key: element for element in aged(one.elements)})
    for threshold in (ALWAYS_TABLES, NEVER_TABLES):
        assert overlaid_beyond(threshold, given_layers).elements == [newest[key] for key in sorted(newest)]


@given(CHANGES, CHANGES)
def test_combined_keeps_what_is_the_commits_own(own: Changes, earlier: Changes) -> None:
    mine = owned(as_elements(records(own), *EARLIER))
    below = as_elements(records(earlier), *EARLIER)
    expected = {element.key: element for element in [*below, *mine]}
    with patch.object(layer_module, "_IN_PYTHON", ALWAYS_TABLES):
        found = combined([Layer(elements=mine), Layer(elements=below)])
    assert found.elements == [expected[key] for key in sorted(expected)]
    assert {e.key for e in found.elements if e.action in (ElementAction.ADD, ElementAction.REMOVE)} == set(own)


def test_the_memory_of_a_layer_is_that_of_its_table_and_its_keys() -> None:
    """Estimated within a quarter, whether all keys are Python values or one in 32."""
    table = records({b"%0200d" % number: number for number in range(4_000)})
    for most in (NEVER_TABLES, 0):
        with patch.object(layer_module, "_MANY", most):
            layer = Layer(table=pa.concat_tables([table]))
            tracemalloc.start()
            try:
                layer.records({b"absent"})
                of_keys, _ = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert 0.75 < (of_keys + table.nbytes) / layer.memory < 1.25
