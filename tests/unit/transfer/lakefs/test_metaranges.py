"""Metaranges are compared without ranges that both have; wrong ones are refused."""

from __future__ import annotations

import itertools

import pytest

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.errors import CorruptData
from graveler_core.transfer.lakefs import metaranges as module
from graveler_core.transfer.lakefs.metaranges import FOLDER, LakefsMetaranges, LakefsRange
from tests.foreign import fixtures
from tests.unit.transfer.lakefs.tables import described, table, value

IDS = sorted({commit["meta_range_id"] for commit in fixtures.expected("second")["commits"].values()} - {""})


def real() -> LakefsMetaranges:
    return LakefsMetaranges(OpenedBlobs().at(fixtures.NAMESPACE.as_uri()))


def made(name: str, **files: bytes) -> LakefsMetaranges:
    blobs = OpenedBlobs().at(f"memory://made-metaranges/{name}")
    for id, data in files.items():
        blobs.create(f"{FOLDER}{id}", data)
    return LakefsMetaranges(blobs)


@pytest.mark.parametrize(
    "pair", [*itertools.permutations(["", *IDS], 2)], ids=lambda pair: f"{pair[0][:4]}-{pair[1][:4]}"
)
def test_changes_are_those_of_the_entries(pair: tuple[str, str]) -> None:
    there = real()
    before, after = (dict(there.scan(there.ranges(id))) for id in pair)
    keys = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    assert list(there.changes(*pair)) == [(key, before.get(key), after.get(key)) for key in keys]
    assert keys


def test_shared_ranges_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    there, read = real(), list[str]()
    entries = LakefsMetaranges.entries
    monkeypatch.setattr(
        LakefsMetaranges, "entries", lambda self, wanted: (read.append(wanted.id), entries(self, wanted))[1]
    )
    left, right = IDS[0], IDS[1]
    sides = [{each.id for each in there.ranges(id)} for id in (left, right)]
    list(there.changes(left, right))
    assert set(read) == sides[0] ^ sides[1]
    assert sides[0] & sides[1]


def test_few_ranges_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HELD_ENTRIES", 30)
    monkeypatch.setattr(module, "HELD_METARANGES", 1)
    there = real()
    for id in IDS:
        list(there.scan(there.ranges(id)))
        assert there._count <= 30 or len(there._held) == 1
        assert len(there._described) == 1


@pytest.mark.parametrize("id", ["../../etc/passwd", "ab/cd", "XYZ", "dummy"])
def test_an_id_that_is_not_one_is_refused(id: str) -> None:
    with pytest.raises(CorruptData, match="hexadecimal"):
        real().ranges(id)


def test_a_missing_table() -> None:
    with pytest.raises(CorruptData, match="it is missing"):
        real().ranges("abcdef")


def test_ranges_that_overlap_are_refused() -> None:
    files = {"aa": table([described("01", b"a", b"c", 1), described("02", b"b", b"d", 1)])}
    with pytest.raises(CorruptData, match="range 02 overlaps"):
        made("overlap", **files).ranges("aa")


@pytest.mark.parametrize(
    ("wanted", "good"),
    [
        (LakefsRange("01", b"a", b"b", 2), True),
        (LakefsRange("01", b"a", b"b", 3), False),
        (LakefsRange("01", b"a", b"c", 2), False),
        (LakefsRange("01", b"0", b"b", 2), False),
    ],
    ids=["right", "count", "last", "first"],
)
def test_a_range_must_be_as_described(wanted: LakefsRange, good: bool) -> None:
    there = made(
        f"described-{wanted.count}-{wanted.max_key!r}-{wanted.min_key!r}".replace("'", ""),
        **{"01": table([(b"a", value(b"i", b"1")), (b"b", value(b"", b""))])},
    )
    if good:
        assert there.entries(wanted) == [(b"a", b"1"), (b"b", b"")]
    else:
        with pytest.raises(CorruptData, match="not those that its metarange states"):
            there.entries(wanted)


@pytest.mark.parametrize("data", [b"", b"\x04a", b"\x02a\x03", b"\x02a\x06ab", b"\x01", b"\xff" * 12])
def test_values_that_are_too_short_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptData, match="cannot be read"):
        made(f"short-{data.hex()}", **{"01": table([(b"a", data)])}).entries(LakefsRange("01", b"a", b"a", 1))
