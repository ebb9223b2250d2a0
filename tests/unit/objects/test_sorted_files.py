"""Sorted files contain the rows that were written, and what a record says about them is short."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.blobs.port import Blobs
from graveler_core.model.collection import SortedFile
from graveler_core.objects import sorted_files
from tests import smallest
from tests.unit.engine.world import World

SCHEMA = pa.schema([pa.field("name", pa.string(), nullable=False)])
TEXTS = st.text(st.sampled_from('ab/"\\\x00\nß😀\ud7ff\ue000\U0010ffff'), min_size=1, max_size=12)
GREATEST = "\U0010ffff"


def place() -> Blobs:
    return OpenedBlobs().at(World().namespace())


@given(texts=st.sets(TEXTS, max_size=20), cut=st.integers(1, 20), rows=st.integers(1, 20), files=st.integers(1, 5))
def test_what_is_written_is_found(texts: set[str], cut: int, rows: int, files: int) -> None:
    blobs, ordered = place(), sorted(texts, key=str.encode)
    parts = [pa.table({"name": ordered[at : at + cut]}, SCHEMA) for at in range(0, len(ordered), cut)]
    with smallest.patched(
        {
            "graveler_core.objects.sorted_files.FILE_ROWS": rows,
            "graveler_core.objects.sorted_files.FILES": files,
            "graveler_core.objects.sorted_files.BOUND_BYTES": 4,
        }
    ):
        written = sorted_files.write(blobs, "folder/", parts, len(ordered))
    assert len(written) <= min(files, -(-len(ordered) // rows))
    read = pa.concat_tables([SCHEMA.empty_table(), *sorted_files.read(blobs, "folder/", written, SCHEMA)])
    assert read.column("name").to_pylist() == ordered
    for text in [*ordered, "absent"]:
        found = sorted_files.among(blobs, "folder/", written, SCHEMA, pa.array([text]))
        assert found.column("name").to_pylist() == [text] * (text in texts)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("data/" + "0" * 32, "data/" + "0" * 32, "data/" + "0" * 32),
        ("x" * 64, "x" * 64, "x" * 64),
        ("x" * 1_024, "x" * 64, "x" * 64 + GREATEST),
        ("😀" * 40, "😀" * 16, "😀" * 16 + GREATEST),
        ("é" + "x" * 63, "é" + "x" * 62, "é" + "x" * 62 + GREATEST),
        ('a"b', "a", "a" + GREATEST),
        ("a\x00" + "b" * 80, "a", "a" + GREATEST),
        ("x" * 64 + GREATEST + "y", "x" * 64, "x" * 64 + 2 * GREATEST),
    ],
)
def test_bounds_are_short(text: str, first: str, last: str) -> None:
    (written,) = sorted_files.write(place(), "folder/", [pa.table({"name": [text]}, SCHEMA)], 1)
    assert written == SortedFile(name="000000.parquet", first=first, last=last, count=1)
    assert first.encode() <= text.encode() <= last.encode()


def test_a_table_of_any_size_has_few_files() -> None:
    with smallest.patched({"graveler_core.objects.sorted_files.FILE_ROWS": 2}):
        names = [f"{number:04d}" for number in range(1_000)]
        written = sorted_files.write(place(), "folder/", [pa.table({"name": names}, SCHEMA)], 1_000)
    assert [file.count for file in written] == [63] * 15 + [55]


def test_a_large_file_is_decoded_part_by_part() -> None:
    blobs, names = place(), [f"{number:02d}" for number in range(20)]
    with smallest.patched(
        {"graveler_core.objects.sorted_files.FILE_ROWS": 2, "graveler_core.objects.sorted_files.FILES": 2}
    ):
        written = sorted_files.write(blobs, "folder/", [pa.table({"name": names}, SCHEMA)], 20)
    parts = list(sorted_files.read(blobs, "folder/", written, SCHEMA))
    assert [file.count for file in written] == [10, 10]
    assert [part.column("name").to_pylist() for part in parts] == [names[at : at + 2] for at in range(0, 20, 2)]
