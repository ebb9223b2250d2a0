"""Sealed tokens in memory: read once, whole pages only, and never the open token."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.cache import TreeCache
from graveler_core.kv.backends.memory import open_memory
from graveler_core.model.ids import StagingToken
from graveler_core.model.layers import SealedToken
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import area
from graveler_core.staging.sealed_pages import SealedPages
from graveler_core.staging.stack import Stack, scan
from graveler_core.testing.counting_store import Counting
from tests.unit.staging.test_stack import PATHS, table

TOKEN, OPEN = StagingToken("repo/main:sealed"), StagingToken("repo/main:open")
NAMES = [f"k/{number:02}" for number in range(20)]
FEW = st.one_of(st.none(), st.integers(1, 9))
BOUND = st.one_of(st.none(), st.sampled_from(NAMES))
WINDOW = st.tuples(st.sampled_from(["", *NAMES]), BOUND, FEW, st.integers(0, 4))


@pytest.fixture
def kv() -> Counting:
    store = open_memory("memory://")
    area.put_table(store, TOKEN, table(dict.fromkeys(NAMES, None)))
    return Counting(store)


def keys(pages: SealedPages, few: int | None = None, start: str = "", end: str | None = None) -> list[str]:
    last = None if end is None else end.encode()
    found = pages.scan(TOKEN, start=start.encode(), end=last, few=few)
    return [key.decode() for page in found for key in page.column(KEY).to_pylist()]


def test_what_was_read_is_not_read_again(kv: Counting) -> None:
    pages = SealedPages(kv, TreeCache())
    assert keys(pages, few=3) == NAMES
    kv.counts.clear()
    assert keys(pages, few=3) == NAMES
    assert not kv.counts


def test_a_part_is_not_taken_for_the_whole(kv: Counting) -> None:
    pages = SealedPages(kv, TreeCache())
    assert sum(page.num_rows for page in islice(pages.scan(TOKEN, few=3), 2)) == 6
    kv.counts.clear()
    assert keys(pages, few=3) == NAMES
    assert sum(kv.counts.values()) > 0


def test_a_scan_that_fails_leaves_no_end(kv: Counting) -> None:
    pages = SealedPages(kv, TreeCache())

    class BrokenError(Exception):
        pass

    class Broken(Counting):
        def scan(self, *_: object, **__: object) -> None:  # type: ignore[override]
            raise BrokenError

    begun = pages.scan(TOKEN, few=3)
    next(begun)
    with pytest.raises(BrokenError):
        keys(replace(pages, kv=Broken(kv)), few=3)
    assert keys(pages, few=3) == NAMES


@given(st.lists(WINDOW, min_size=1, max_size=8), st.integers(1_000, 20_000))
def test_windows_of_a_token(windows: list[tuple[str, str | None, int | None, int]], room: int) -> None:
    store = open_memory("memory://")
    area.put_table(store, TOKEN, table(dict.fromkeys(NAMES, None)))
    pages = SealedPages(store, TreeCache(room))
    for start, end, few, taken in windows:
        last = None if end is None else end.encode()
        for _ in islice(pages.scan(TOKEN, start=start.encode(), end=last, few=few), taken):
            pass  # a scan that is left early
        assert keys(pages, few, start, end) == [n for n in NAMES if n >= start and (end is None or n < end)]


def test_the_open_token_is_read_each_time_and_when_it_is_sealed() -> None:
    kv = open_memory("memory://")
    area.put_table(kv, OPEN, table({PATHS[0]: 1}))
    opened = Stack(kv, None, (SealedToken(token=OPEN),), TreeCache())  # type: ignore[arg-type]
    assert sum(page.num_rows for page in scan(opened)) == 1
    area.put_table(kv, OPEN, table({PATHS[-1]: 2}))
    assert sum(page.num_rows for page in scan(opened)) == 2
    area.put_table(kv, OPEN, table({PATHS[1]: 2}))
    sealed = replace(opened, layers=(SealedToken(token=StagingToken("repo/main:newer")), *opened.layers))
    assert sum(page.num_rows for page in scan(sealed)) == 3
