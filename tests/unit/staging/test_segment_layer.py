"""Segment layers as files: whole, in pieces, damaged."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.blobs.open import open_blobs
from graveler_core.blobs.port import Blobs
from graveler_core.codec.records import encode
from graveler_core.committed.cache import TreeCache
from graveler_core.errors import CorruptData, Kind
from graveler_core.model.ids import LayerId
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import segment_layer
from graveler_core.staging.segment_layer import Manifest, Piece
from graveler_core.testing.counting_blobs import CountingBlobs
from tests.unit.staging.test_stack import table

HERE = "_graveler/staging/l1"
LAYER = LayerId("l1")
_worlds = iter(range(1_000_000))


@pytest.fixture
def blobs() -> Blobs:
    made = open_blobs(f"memory://segments/{next(_worlds)}")
    segment_layer.write(made, LAYER, table({"a": 1, "b": None, "c": 3, "d": 4, "e": 5}))
    return made


def keys(blobs: Blobs, start: bytes = b"", end: bytes | None = None) -> list[bytes]:
    _, pages = segment_layer.scan(blobs, LAYER, start=start, end=end)
    return [key for page in pages for key in page.column(KEY).to_pylist()]


def test_pieces_and_their_manifest(blobs: Blobs) -> None:
    assert [blob.address for blob in blobs.list()] == [
        f"{HERE}/000000.parquet",
        f"{HERE}/000001.parquet",
        f"{HERE}/000002.parquet",
        f"{HERE}/manifest",
    ]


def test_scans(blobs: Blobs) -> None:
    assert keys(blobs) == [b"a", b"b", b"c", b"d", b"e"]
    assert keys(blobs, b"b", b"d") == [b"b", b"c"]
    assert keys(blobs, b"bb") == [b"c", b"d", b"e"]
    assert keys(blobs, b"x") == keys(blobs, b"", b"a") == []


def test_where_a_scan_begins(blobs: Blobs) -> None:
    begins = {start: segment_layer.scan(blobs, LAYER, start=start)[0] for start in (b"", b"b", b"bb", b"c", b"e")}
    assert begins == {b"": b"a", b"b": b"a", b"bb": b"c", b"c": b"c", b"e": b"e"}


def test_lookups(blobs: Blobs) -> None:
    for key, there in ((b"a", True), (b"b", True), (b"e", True), (b"bb", False), (b"", False), (b"z", False)):
        row = segment_layer.lookup(blobs, LAYER, key)
        assert (row is not None) == there
        assert row is None or row.column(KEY).to_pylist() == [key]


def test_files_are_read_once_where_there_is_a_cache(blobs: Blobs) -> None:
    counted, cache = CountingBlobs(blobs), TreeCache()
    for _ in range(2):
        assert segment_layer.lookup(counted, LAYER, b"c", cache) is not None
        assert counted.calls == {"read": 2}
    for _ in range(2):
        assert sum(page.num_rows for page in segment_layer.scan(counted, LAYER, cache=cache)[1]) == 5
        assert counted.calls == {"read": 4}
    assert sum(page.num_rows for page in segment_layer.scan(counted, LAYER)[1]) == 5
    assert counted.calls == {"read": 8}


def test_dropped(blobs: Blobs) -> None:
    assert segment_layer.drop(blobs, LAYER) == 4
    assert list(blobs.list()) == []
    assert segment_layer.drop(blobs, LAYER) == 0


def replaced(blobs: Blobs, name: str, data: bytes | None) -> None:
    blobs.delete(f"{HERE}/{name}")
    if data is not None:
        blobs.create(f"{HERE}/{name}", data)


DAMAGE: dict[str, Callable[[Blobs], None]] = {
    "no manifest": lambda blobs: replaced(blobs, "manifest", None),
    "empty manifest": lambda blobs: replaced(blobs, "manifest", b""),
    "strange manifest": lambda blobs: replaced(blobs, "manifest", b"\x01{}"),
    "missing piece": lambda blobs: replaced(blobs, "000000.parquet", None),
    "empty piece": lambda blobs: replaced(blobs, "000000.parquet", b""),
    "no Parquet": lambda blobs: replaced(blobs, "000000.parquet", b"PAR1" + b"x" * 100),
    "cut piece": lambda blobs: replaced(blobs, "000000.parquet", blobs.read(f"{HERE}/000000.parquet")[:-9]),
    "another piece": lambda blobs: replaced(blobs, "000000.parquet", blobs.read(f"{HERE}/000002.parquet")),
    "another manifest": lambda blobs: replaced(
        blobs,
        "manifest",
        encode(Manifest(pieces=(Piece(name="none.parquet", min_key=b"a", max_key=b"z", count=1),))),
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named(blobs: Blobs, damage: str) -> None:
    DAMAGE[damage](blobs)
    for look in (lambda: keys(blobs), lambda: segment_layer.lookup(blobs, LAYER, b"a")):
        with pytest.raises(CorruptData) as caught:
            look()
        assert "l1" in caught.value.message


def test_what_is_missing_is_a_layer_for_the_flows(blobs: Blobs) -> None:
    """They read the branch again by this kind and layer."""
    segment_layer.drop(blobs, LAYER)
    with pytest.raises(CorruptData) as caught:
        keys(blobs)
    assert (caught.value.kind, caught.value.details["layer"]) == (Kind.CorruptLayer, LAYER)
