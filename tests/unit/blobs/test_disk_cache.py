"""Tests of the disk cache: objects are complete or absent, the size is bounded, and processes share the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graveler_core.blobs.disk_cache import DiskCache
from graveler_core.errors import InvalidInput
from tests.examples import examples

URI = "s3://bucket/_graveler/1"


def files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def held_bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in files(directory))


def grown_old(directory: Path, seconds: float) -> None:
    """As if all that is there had been used so long ago."""
    for path in files(directory):
        then = path.stat().st_mtime - seconds
        os.utime(path, (then, then))


def test_nothing_is_on_disk_before_something_is_kept(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache")
    assert cache.get(URI) is None
    cache.drop(URI)
    assert list(tmp_path.iterdir()) == []


@given(contents=st.dictionaries(st.text(st.characters(codec="utf-8")), st.binary(max_size=100), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_kept_is_there_for_other_processes(tmp_path: Path, contents: dict[str, bytes]) -> None:
    cache, other = DiskCache(tmp_path), DiskCache(tmp_path)
    for uri, content in contents.items():
        cache.put(uri, content)
    assert {uri: other.get(uri) for uri in contents} == contents
    for uri in contents:
        other.drop(uri)
        assert cache.get(uri) is None
    assert files(tmp_path) == []


@given(at=st.integers(0, 115), flip=st.integers(0, 255))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_nothing_and_goes(tmp_path: Path, at: int, flip: int) -> None:
    cache = DiskCache(tmp_path)
    cache.put(URI, bytes(range(100)))
    (file,) = files(tmp_path)
    data = bytearray(file.read_bytes())
    if flip:
        data[at] ^= flip
    else:
        del data[at:]
    file.write_bytes(data)
    assert cache.get(URI) is None
    assert not file.exists()


def test_a_file_under_another_name_is_nothing(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    for uri in (URI, "s3://bucket/_graveler/2"):
        cache.put(uri, b"1")
    one, two = files(tmp_path)
    one.replace(two)
    assert [cache.get(uri) for uri in (URI, "s3://bucket/_graveler/2")] == [None, None]


def test_what_was_used_longest_ago_goes(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 1_000)
    for number in range(7):
        grown_old(tmp_path, 10)
        cache.put(str(number), bytes(100))
    grown_old(tmp_path, 10)
    assert cache.get("0") is not None
    for number in range(7, 9):
        cache.put(str(number), bytes(100))
    kept = [number for number in range(9) if cache.get(str(number)) is not None]
    assert kept == [0, *range(9 - len(kept) + 1, 9)]
    assert 600 < held_bytes(tmp_path) <= 1_000


@pytest.mark.parametrize("size", [110, 10_000])
def test_what_is_too_large_is_not_kept(tmp_path: Path, size: int) -> None:
    cache = DiskCache(tmp_path, 1_000)
    cache.put("small", bytes(109))
    cache.put("large", bytes(size))
    assert (cache.get("small"), cache.get("large")) == (bytes(109), None)


@given(sizes=st.lists(st.integers(0, 300), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))
def test_keeps_to_its_bytes(tmp_path: Path, sizes: list[int]) -> None:
    for number, size in enumerate(sizes):
        # A new process each time, as it were, that knows nothing of what the others wrote.
        DiskCache(tmp_path, 1_000).put(str(number), bytes(size))
        assert held_bytes(tmp_path) <= 1_000


def test_a_file_that_never_became_whole_goes(tmp_path: Path) -> None:
    writing = tmp_path / "writing"
    writing.mkdir()
    old, new = uuid.uuid4().hex, uuid.uuid4().hex
    for name, age in ((old, 4_000), (new, 10)):
        (writing / name).write_bytes(b"half")
        os.utime(writing / name, (time.time() - age,) * 2)
    DiskCache(tmp_path).put(URI, b"1")
    assert [path.name for path in writing.iterdir()] == [new]


def test_files_of_others_in_the_directory_stay(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 1_000)
    cache.put(URI, bytes(100))
    (own,) = files(tmp_path)
    others = ["docs/thesis", "writing/novel", f"{own.parent.name}/thesis", f"docs/{own.name}", "thesis"]
    for name in others:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(2_000))
    grown_old(tmp_path, 1_000_000)
    for number in range(10):
        cache.put(str(number), bytes(100))
    assert not own.exists()
    assert all((tmp_path / name).exists() for name in others)
    assert cache.get("9") is not None


def test_a_directory_that_takes_nothing_makes_nothing_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    cache = DiskCache(tmp_path / "file" / "cache")
    cache.put(URI, b"1")
    assert cache.get(URI) is None
    cache.drop(URI)


@pytest.mark.parametrize("max_bytes", [0, -1])
def test_no_room_is_refused(tmp_path: Path, max_bytes: int) -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        DiskCache(tmp_path, max_bytes)


_PROCESS = """
import random, sys
from graveler_core.blobs.disk_cache import DiskCache
cache, chance = DiskCache(sys.argv[1], 20_000), random.Random(int(sys.argv[2]))
for _ in range(400):
    number = chance.randrange(60)
    found, right = cache.get(str(number)), bytes([number]) * (number * 37)
    assert found in (None, right), number
    if found is None:
        cache.put(str(number), right)
"""


def test_processes_that_share_a_directory_find_what_is_right(tmp_path: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", _PROCESS, str(tmp_path), str(seed)]) for seed in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert 0 < held_bytes(tmp_path) <= 20_000 * (1 + 2 / 8)
    assert not list((tmp_path / "writing").iterdir())
