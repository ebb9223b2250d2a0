"""Fingerprints of keys: absent keys cost nothing after the first one, and no key is hidden."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from graveler_core.committed import fingerprints
from graveler_core.committed.lookup import identities_of, lookup, lookup_many
from graveler_core.committed.trees import ALL, DECISIVE
from tests.unit.committed.samples import counted, decodings
from tests.unit.committed.test_parts import COUNT, STATE, parted, parts_decoded

THERE = [b"%06d" % (2 * number) for number in (1, 5_000, COUNT - 1)]
ABSENT = [b"%06d" % (2 * number + 1) for number in range(0, COUNT - 1, 50)]


@pytest.mark.parametrize("columns", [ALL, DECISIVE])
def test_absent_keys_are_decoded_once(columns: tuple[str, ...]) -> None:
    trees, root = parted()
    assert lookup_many(trees, root, ABSENT[:1], columns).num_rows == 0
    counted(trees).reads.clear()
    with decodings() as whole, parts_decoded() as seen:
        for key in ABSENT:
            assert lookup(trees, root, key) is None
            assert lookup_many(trees, root, [key], columns).num_rows == 0
        assert identities_of(trees, root, ABSENT) == {}
    assert (whole, seen, counted(trees).reads) == ([], [], [])


def test_absent_keys_among_many_are_not_decoded_again() -> None:
    trees, root = parted()
    lookup_many(trees, root, ABSENT, DECISIVE)
    with decodings() as whole, parts_decoded() as seen:
        assert lookup_many(trees, root, sorted([*ABSENT, THERE[0]]), DECISIVE).num_rows == 1
    assert (whole, seen) == ([], [(0, DECISIVE)])


def test_existing_keys_are_found_beside_absent_ones() -> None:
    trees, root = parted()
    for _ in range(2):
        assert lookup(trees, root, ABSENT[0]) is None
        assert list(identities_of(trees, root, sorted([*ABSENT[:3], *THERE]))) == THERE
        assert all(lookup(trees, root, key) is not None for key in THERE)


def test_the_file_is_read_once_for_an_absent_key() -> None:
    trees, root = parted()
    assert lookup(trees, root, ABSENT[0]) is None
    assert len(counted(trees).reads) == 2, "the node, and the range once"


def test_existing_keys_make_no_fingerprints() -> None:
    trees, root = parted()
    with patch.object(fingerprints, "key_hashes", side_effect=AssertionError):
        assert lookup_many(trees, root, THERE).num_rows == len(THERE)
        assert lookup(trees, root, THERE[0]) is not None


def test_equal_fingerprints_hide_no_key() -> None:
    with _all_alike():
        trees, root = parted()
        for key in (*ABSENT[:3], *THERE):
            assert (lookup(trees, root, key) is not None) == (key in STATE)
            assert lookup_many(trees, root, [key]).num_rows == (key in STATE)


def test_equal_ranges_of_repositories_share_fingerprints() -> None:
    trees, root = parted()
    other = replace(trees, boundary_seed=trees.boundary_seed + 1)
    assert lookup(trees, root, ABSENT[0]) is None
    assert all(lookup(other, root, key) is not None for key in THERE)
    assert list(identities_of(other, root, THERE)) == THERE
    assert lookup_many(other, root, THERE).num_rows == len(THERE)


def test_verified_trees_read_the_range_each_time() -> None:
    trees, root = parted()
    assert lookup(trees, root, ABSENT[0]) is None
    verified = replace(trees, verify=True)
    with decodings() as whole:
        assert lookup_many(verified, root, ABSENT[1:2], DECISIVE).num_rows == 0
    assert len(whole) == 1


@contextmanager
def _all_alike() -> Iterator[None]:
    with (
        patch.object(fingerprints, "key_hash", lambda _key, _seed: 1),
        patch.object(fingerprints, "key_hashes", lambda keys, _seed: np.ones(len(keys), np.uint64)),
    ):
        yield
