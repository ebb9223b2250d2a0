"""Lookups in ranges of several parts: the same answers as in the whole range, whatever the footer says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.lookup import identities_of, lookup, lookup_many
from graveler_core.committed.trees import ALL, DECISIVE, PART_ROWS, Trees, read_node
from graveler_core.errors import CorruptData
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import Cutting
from graveler_core.segments.format import PartedFile, Parts, encode
from tests.unit.committed.samples import CountingBlobs, counted, decodings, tiny_trees, tree, uncached
from tests.unit.segments.samples import entries

COUNT = 2 * PART_ROWS + 100
STATE = {b"%06d" % (2 * number): number % 1_000 for number in range(COUNT)}
ONE_RANGE = Cutting(mean_entries=1 << 20, max_bytes=1 << 30)
LAST_KEYS = [b"%06d" % (2 * number) for number in (PART_ROWS - 1, 2 * PART_ROWS - 1, COUNT - 1)]


@cache
def stored() -> tuple[MetarangeId, dict[str, bytes]]:
    trees = tiny_trees(cutting=ONE_RANGE)
    root = tree(trees, STATE)
    return root, counted(trees).objects


def parted() -> tuple[Trees, MetarangeId]:
    """Return a tree with one range of three parts, and nothing in the cache."""
    root, objects = stored()
    trees = tiny_trees(cutting=ONE_RANGE, blobs=CountingBlobs())
    counted(trees).objects = objects
    return replace(uncached(trees), verify=False), root


@contextmanager
def parts_decoded() -> Iterator[list[tuple[int, Sequence[str]]]]:
    """Record the part and the columns of each call that decodes a part."""
    real, seen = PartedFile.decode, list[tuple[int, Sequence[str]]]()

    def decode(file: PartedFile, part: int, columns: Sequence[str]) -> pa.Table:
        seen.append((part, columns))
        return real(file, part, columns)

    with patch.object(PartedFile, "decode", decode):
        yield seen


KEYS = st.one_of(
    st.integers(0, 2 * COUNT).map(lambda number: b"%06d" % number),
    st.sampled_from([key + end for key in (b"000000", *LAST_KEYS) for end in (b"", b"!")]),
    st.sampled_from([b"%06d" % (2 * PART_ROWS), b"%06d" % (4 * PART_ROWS), b"", b"\xff"]),
)


@given(keys=st.sets(KEYS, max_size=20), columns=st.sampled_from([ALL, DECISIVE]))
def test_finds_what_a_dict_finds(keys: set[bytes], columns: tuple[str, ...]) -> None:
    there = entries({key: STATE[key] for key in keys if key in STATE})
    trees, root = parted()
    for _ in range(3):
        assert lookup_many(trees, root, sorted(keys), columns).equals(there.select(columns))
        assert list(identities_of(trees, root, sorted(keys))) == there.column("key").to_pylist()
        for key in keys:
            assert (lookup(trees, root, key) is not None) == (key in STATE)


@pytest.mark.parametrize("columns", [ALL, DECISIVE])
def test_few_keys_decode_only_their_parts(columns: tuple[str, ...]) -> None:
    trees, root = parted()
    wanted = [b"%06d" % (2 * number) for number in (1, 2, 2 * PART_ROWS + 1)]
    with decodings() as whole, parts_decoded() as seen:
        assert lookup_many(trees, root, wanted, columns).num_rows == 3
    assert (whole, seen) == ([], [(0, columns), (2, columns)])
    assert len(counted(trees).reads) == 2, "the node, and the range once"


def test_many_keys_decode_the_whole() -> None:
    trees, root = parted()
    with decodings() as whole, parts_decoded() as seen:
        assert lookup_many(trees, root, sorted(STATE)[:17], DECISIVE).num_rows == 17
    assert (len(whole), seen) == (1, [])


def test_an_entry_that_was_read_costs_nothing_again() -> None:
    """Nor do its neighbours. The file is read a second time for another part, and then cached for all."""
    trees, root = parted()
    for number in (1, 2, 2 * PART_ROWS + 1, 2 * PART_ROWS + 2):
        assert lookup(trees, root, b"%06d" % (2 * number)) is not None
    assert len(counted(trees).reads) == 3
    assert lookup(trees, root, b"%06d" % (2 * PART_ROWS)) is not None
    assert len(counted(trees).reads) == 3
    with parts_decoded() as seen:
        assert lookup(trees, root, b"%06d" % 10) is not None
    assert seen == []


def test_a_file_is_cached_when_it_is_wanted_again() -> None:
    trees, root = parted()
    for number in range(6):
        lookup_many(trees, root, [b"%06d" % (2 * number * 3_000)], DECISIVE)
    assert len(counted(trees).reads) == 3, "the node, and the range twice"


@pytest.mark.parametrize("wrong", [0, 1])
@pytest.mark.parametrize("moved", [-5, -1, 1, 5])
def test_wrong_bounds_of_parts_hide_no_entry(wrong: int, moved: int) -> None:
    """The footer states another last key: there is an error, or the right answer."""
    real = PartedFile.parts

    def parts(file: PartedFile) -> Parts | None:
        found = real(file)
        assert found is not None
        last_keys = list(found.last_keys)
        last_keys[wrong] = b"%06d" % (int(last_keys[wrong]) + 2 * moved)
        return found._replace(last_keys=last_keys)

    answers = set[str]()
    border = int(LAST_KEYS[wrong]) // 2
    with patch.object(PartedFile, "parts", parts):
        for number in range(border - 8, border + 9):
            trees, root = parted()
            try:
                rows = lookup_many(trees, root, [b"%06d" % (2 * number)], DECISIVE).num_rows
            except CorruptData:
                answers.add("refused")
            else:
                assert rows == 1
                answers.add("right")
    assert "refused" in answers


@pytest.mark.parametrize(
    "change", [{"first_key": b"000001"}, {"rows": COUNT - 1}, {"last_keys": [*LAST_KEYS[:2], b"9"]}]
)
def test_bounds_that_differ_from_those_of_the_node_are_refused(change: dict[str, Any]) -> None:
    real = PartedFile.parts
    trees, root = parted()
    with (
        patch.object(PartedFile, "parts", lambda file: real(file)._replace(**change)),  # type: ignore[union-attr]
        pytest.raises(CorruptData, match="holds other entries than its id says"),
    ):
        lookup(trees, root, b"000002")


def test_a_file_without_parts_is_decoded_as_before() -> None:
    """Earlier versions wrote each range as one part."""
    trees, root = parted()
    (row,) = read_node(trees, root).rows
    objects = dict(counted(trees).objects)
    objects[f"_graveler/{row.id}"] = bytes(encode(entries(STATE)))
    counted(trees).objects = objects
    with parts_decoded() as seen:
        for number in range(4):
            assert lookup_many(trees, root, [b"%06d" % (2 * number)], DECISIVE).num_rows == 1
            assert lookup(trees, root, b"%06d" % (2 * number)) is not None
    assert seen == []
