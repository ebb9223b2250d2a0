"""Both sides of every threshold give equal results: one history at the usual values and at the smallest ones."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from tests import smallest
from tests.proofs.stateful.tour import toured
from tests.unit.engine.world import TINY_SIZES

ELSEWHERE = frozenset(
    f"graveler_core.{name}"
    for name in (
        "blobs.disk_cache._SHARE",
        "blobs.local_listing.PAGE",
        "blobs.local_writing._MAX_KNOWN",
        "cli.deleted.CALL",
        "cli.output.PAGE_ROWS",
        "blobs.inventory._ROWS",
        "engine.importing.sorting.RUN_ROWS",
        "engine.importing.sorting._PAGE_ROWS",
        "gc.candidates._BATCH",
        "gc.collection.DELETED_AT_ONCE",
        "gc.namespaces.DELETED_AT_ONCE",
        "guard.addresses._FEW",
        "kv.backends.sqlite.store._FETCH_ROWS",
        "kv.backends.sqlite.columns._FIRST_ROWS",
        "kv.backends.sqlite.columns._JOINED_ROWS",
        "objects.condemned.FILE_ROWS",
        "stores.executor._AHEAD",
        "transfer.kv_copy_loading.FEW_ROWS",
        "transfer.migrated.BATCH_BYTES",
        "transfer.migrated.BATCH_COMMITS",
        "transfer.lakefs.commits.PAGE_ENTRIES",
        "transfer.lakefs.metaranges.HELD_ENTRIES",
        "transfer.lakefs.metaranges.HELD_METARANGES",
        "transfer.migration.source.IDS_AT_ONCE",
        "transfer.migration.source.PAGE_ROWS",
        "transfer.migration.write.SEGMENT_ROWS",
        "transfer.nessie.contents.INLINE_BYTES",
        "transfer.nessie.writing.COMMITS_AT_ONCE",
        "transfer.nessie.writing.FILE_BYTES",
    )
)
"""Thresholds of parts that the history does not use. The page names their own tests."""
INSIDE = sorted(smallest.SMALLEST.keys() - ELSEWHERE)


@cache
def usual() -> dict[str, object]:
    return toured(TINY_SIZES)


def at(values: dict[str, int]) -> dict[str, object]:
    with smallest.patched(values):
        return toured(replace(TINY_SIZES, **smallest.fields(values)))


def different(found: dict[str, object]) -> dict[str, tuple[object, object]]:
    """What was read otherwise than at the usual values."""
    expected = usual()
    return {
        name: (expected.get(name), found.get(name))
        for name in expected | found
        if expected.get(name) != found.get(name)
    }


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(1))
def test_both_sides_read_the_same(seed: int) -> None:
    values = smallest.drawn(random.Random(seed))
    assert not different(at(values)), sorted(values)


@pytest.mark.slow
@pytest.mark.parametrize("name", INSIDE)
def test_both_sides_of_each_read_the_same(name: str) -> None:
    assert not different(at({name: smallest.SMALLEST[name]}))
