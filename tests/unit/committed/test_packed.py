"""Packed keys of ranges: the same answers as of the decoded range, without decoding it again."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed import packed
from graveler_core.committed.lookup import beginnings_of, identities_of, lookup
from graveler_core.committed.packed import PackedKeys
from graveler_core.committed.trees import Trees, read_node, read_range
from graveler_core.errors import CorruptData
from graveler_core.model.ids import MetarangeId
from tests.unit.committed.samples import counted, decodings
from tests.unit.committed.test_fingerprints import ABSENT, THERE
from tests.unit.committed.test_parts import KEYS, parted, parts_decoded
from tests.unit.segments.samples import SHORT_KEYS, State, entries

FULL = 32
"""Bytes of an identity."""


@given(
    state=st.dictionaries(st.one_of(SHORT_KEYS, st.just(b"")), st.integers(0, 3), min_size=1, max_size=60),
    probes=st.lists(SHORT_KEYS, max_size=10),
    block=st.sampled_from([1, 2, 7, 128]),
    skipped=st.integers(0, 3),
)
def test_packed_keys_answer_as_a_dict(state: State, probes: list[bytes], block: int, skipped: int) -> None:
    table = entries({**state, b"\xff" * 4: 1}).slice(min(skipped, len(state)))
    keys, identities = (table.column(name).combine_chunks() for name in ("key", "identity"))
    with patch.object(packed, "_BLOCK", block):
        known = PackedKeys(keys, identities)
    there = dict(zip(keys.to_pylist(), identities.to_pylist(), strict=True))
    for key in {*state, *probes, b"", *(key + b"\0" for key in state)}:
        beginning = known.beginning(key)
        assert (beginning is not None) == (key in there)
        assert beginning is None or (len(beginning) == 4 and there[key].startswith(beginning))


@given(keys=st.sets(KEYS, max_size=20), block=st.sampled_from([64, 128, 1 << 20]))
def test_beginnings_are_those_of_identities(keys: set[bytes], block: int) -> None:
    trees, root = parted()
    with patch.object(packed, "_BLOCK", block):
        for _ in range(3):
            found, whole = beginnings_of(trees, root, sorted(keys)), identities_of(trees, root, sorted(keys))
            assert found.keys() == whole.keys()
            assert all(identity.startswith(found[key]) for key, identity in whole.items())
            assert all(found.values())


def test_a_range_is_decoded_no_more_than_twice() -> None:
    """The first lookup decodes a part, because most ranges are not wanted again. The second one packs the range."""
    trees, root = parted()
    wanted = [b"%06d" % (2 * number) for number in range(0, 8_000, 100)]
    assert len(beginnings_of(trees, root, wanted[:1])[wanted[0]]) == FULL
    with decodings() as whole, parts_decoded() as seen:
        assert len(beginnings_of(trees, root, wanted[1:2])[wanted[1]]) < FULL
    assert (len(whole), seen) == (1, [])
    counted(trees).reads.clear()
    with decodings() as whole, parts_decoded() as seen:
        for key in wanted:
            assert beginnings_of(trees, root, [key])
        assert list(beginnings_of(trees, root, sorted([*ABSENT[:3], *THERE]))) == THERE
    assert (whole, seen, counted(trees).reads) == ([], [], [])


def test_new_keys_pack_nothing() -> None:
    """Their fingerprints are enough, and smaller."""
    trees, root = parted()
    assert beginnings_of(trees, root, ABSENT[:1]) == {}
    with patch.object(packed, "PackedKeys", side_effect=AssertionError):
        assert all(beginnings_of(trees, root, [key]) == {} for key in ABSENT)


def test_a_held_range_is_not_packed() -> None:
    trees, root = parted()
    (row,) = read_node(trees, root).rows
    read_range(trees, row)
    with patch.object(packed, "PackedKeys", side_effect=AssertionError):
        for key in THERE:
            assert len(beginnings_of(trees, root, [key])[key]) == FULL


def test_verified_trees_use_no_packed_keys() -> None:
    trees, root = _packed()
    assert len(beginnings_of(replace(trees, verify=True), root, THERE[:1])[THERE[0]]) == FULL


def test_entries_are_read_from_the_range() -> None:
    trees, root = _packed()
    assert all(lookup(trees, root, key) is not None for key in THERE)
    assert all(len(identity) == FULL for identity in identities_of(trees, root, THERE).values())


def test_a_damaged_range_is_not_packed() -> None:
    trees, root = parted()
    assert beginnings_of(trees, root, THERE[:1])
    (row,) = read_node(trees, root).rows
    counted(trees).objects = {**counted(trees).objects, f"_graveler/{row.id}": b"no Parquet"}
    with pytest.raises(CorruptData):
        beginnings_of(trees, root, THERE[1:2])


def test_memory_is_counted() -> None:
    trees, root = parted()
    (row,) = read_node(trees, root).rows
    columns = read_range(trees, row).columns
    known = PackedKeys(columns[0], columns[1])
    assert row.entries * 4 < known.memory < row.entries * 20


def _packed() -> tuple[Trees, MetarangeId]:
    """Return a tree whose range is packed."""
    trees, root = parted()
    for key in THERE[:2]:
        beginnings_of(trees, root, [key])
    return trees, root
