"""Tests of the generated entries: they have the documented shape."""

from __future__ import annotations

from collections import Counter

from benchmarks import entries


def test_nested_entries_lie_in_equal_directories() -> None:
    keys = entries.nested(200_000)["key"].to_pylist()
    assert keys == sorted(set(keys))
    for depth, directories in enumerate((10, 1_000, 100_000), 1):
        found = Counter(key.rsplit("/", 4 - depth)[0] for key in keys)
        assert len(found) == directories
        assert set(found.values()) == {200_000 // directories}
