"""Listing in parts: the same pages as in one go, whatever the cuts; and an end when nobody wants more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from errno import ENOSPC
from itertools import count, pairwise
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.blobs import foreign
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.blobs.port import Foreign
from graveler_core.engine.importing import concurrent_listing as parts
from graveler_core.engine.importing.concurrent_listing import listed_concurrently, side_by_side
from graveler_core.engine.importing.sorting import in_order
from graveler_core.engine.importing.sources import Prefix
from graveler_core.errors import Kind, Unavailable
from graveler_core.model.address import namespace
from graveler_core.model.entry import RECORD_SCHEMA
from tests.s3_server import S3Server
from tests.unit.engine.importing.sources import Listing, lake
from tests.unit.engine.world import World

NAMES = st.lists(st.sampled_from(["a", "a-", "a0", "b", "ü"]), min_size=1, max_size=4).map("/".join)
_lakes = count()


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graveler_core.blobs.foreign.PAGE", 3)
    monkeypatch.setattr(parts, "PAGE", 3)


def unchanged(objects: Foreign, page: pa.Table) -> pa.Table:
    return page


def keys(pages: Iterator[pa.Table]) -> list[str]:
    return [os.fsdecode(key) for page in pages for key in page.column("key").to_pylist()]


@given(st.sets(NAMES, min_size=1, max_size=40), st.integers(1, 12))
def test_parts_are_the_whole(names: set[str], most: int) -> None:
    place = namespace(lake(dict.fromkeys(names, b"x"), f"memory://parts-{next(_lakes)}-{uuid4().hex}/raw"))
    objects = OpenedBlobs().foreign(place)
    whole = sorted(names, key=str.encode)
    cuts = objects.split_points(most)
    assert cuts == sorted(set(cuts))
    assert len(cuts) <= most
    bounds = ["", *cuts, None]
    listed = [keys(objects.pages(after or "", through)) for after, through in pairwise(bounds)]
    assert [key for part in listed for key in part] == whole
    assert keys(side_by_side(objects, unchanged)) == whole


def test_cuts_are_the_directories() -> None:
    def cuts(names: list[str], most: int = 40) -> list[str]:
        return OpenedBlobs().foreign(namespace(lake(dict.fromkeys(names, b"x")))).split_points(most)

    deep = [f"one/two/{month}/{day}/{n}" for month in "abc" for day in "xy" for n in range(3)]
    months = ["one/two/a/", "one/two/b/", "one/two/c/"]
    assert cuts(deep) == sorted([*months, *(f"{month}{day}/" for month in months for day in "xy")])
    assert cuts(deep, 3) == months
    assert cuts(["flat1", "flat2", "only/one"]) == []
    assert cuts([]) == []


def test_files_of_a_page_are_passed_without_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    place = namespace(lake({f"{month}/{n:03}": b"x" for month in "abcdefgh" for n in range(40)}))
    asked: list[str | None] = []
    really = foreign.obstore.list

    def listed(store: object, prefix: str | None, *, offset: str | None, chunk_size: int) -> object:
        asked.append(offset)
        return really(store, prefix, offset=offset, chunk_size=chunk_size)

    monkeypatch.setattr(foreign, "PAGE", 1_000)
    monkeypatch.setattr(foreign.obstore, "list", listed)
    assert OpenedBlobs().foreign(place).split_points(128) == [f"{month}/" for month in "abcdefgh"]
    assert len(asked) == 2 + 8  # all of it, its end, and each directory


def test_on_s3_with_markers(s3: S3Server) -> None:
    bucket = s3.make_bucket(f"b{uuid4().hex}")
    names = [f"raw/{d}{n}" for d in ("", "d/", "d-", "d/e/", "f/") for n in range(5)]
    for name in [*names, "raw/", "raw/d/", "raw/f/", "raw/g/"]:
        s3.put(bucket, name, b"" if name.endswith("/") else b"x")
    world = World(blobs=OpenedBlobs(s3.options))
    place = namespace(f"s3://{bucket}/raw")
    assert world.blobs.foreign(place).split_points(40)[:2] == ["d/", "d/e/"]
    found = keys(Prefix(place).pages(world.stores()))
    assert sorted(key for key in found if not key.endswith("/")) == sorted(name[4:] for name in names)
    assert sorted(key for key in found if key.endswith("/")) == ["d/", "f/", "g/"]
    without = [key for key in found if not key.endswith("/")]
    assert without == sorted(without)


class Cut(Listing):
    """A listing in three parts, the second of which fails."""

    def split_points(self, most: int) -> list[str]:
        return ["b", "c"]

    def pages(self, after: str = "", through: str | None = None) -> Iterator[pa.Table]:
        if after == "b":
            raise Unavailable("the store is away")
        return super().pages(after, through)


def test_an_error_of_a_part_is_told() -> None:
    pages = side_by_side(Cut([(b"a", 1, None), (b"a1", 1, None), (b"a2", 1, None)]), unchanged)
    next(pages)
    with pytest.raises(Unavailable, match="away"):
        list(pages)


def test_nothing_is_listed_in_parts_that_fits_a_page() -> None:
    assert keys(side_by_side(Cut([(b"a", 1, None)]), unchanged)) == ["a"]


def test_nobody_wants_more() -> None:
    objects = OpenedBlobs().foreign(namespace(lake({f"{d}/{n}": b"x" for d in "abc" for n in range(9)})))
    pages = side_by_side(objects, unchanged)
    assert next(pages).num_rows
    pages.close()  # type: ignore[attr-defined]
    assert list(pages) == []


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No temporary file can be written."""

    def full(*args: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(pa, "OSFile", full)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_reported() -> None:
    objects = OpenedBlobs().foreign(namespace(lake(dict.fromkeys("abcd", b"x"), f"memory://full-{uuid4().hex}/raw")))
    with pytest.raises(Unavailable, match="a temporary file in") as refused:
        list(listed_concurrently(objects, ["", "b", None], unchanged))
    assert refused.value.kind is Kind.StoreFull


@pytest.mark.usefixtures("full_disk")
def test_a_disk_that_is_full_when_records_are_sorted_is_reported() -> None:
    tables = iter([RECORD_SCHEMA.empty_table()])
    with pytest.raises(Unavailable, match="a temporary file in"), in_order(tables, rising=False):
        pass
