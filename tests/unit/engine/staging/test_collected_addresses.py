"""A process reads each file of deleted addresses once, and refuses the same addresses as one that reads all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.blobs.local import LocalBlobs
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.committed.cache import TreeCache
from graveler_core.engine.staging import collected_addresses
from graveler_core.engine.staging.collected_addresses import collected_among
from graveler_core.engine.staging.kept_content import require_kept
from graveler_core.errors import Conflict
from graveler_core.model.collection import CollectionState, CondemnedSet
from graveler_core.model.entry import Entry
from graveler_core.objects import condemned
from tests import smallest
from tests.unit.engine.world import START, World
from tests.unit.gc.lake import NOW, Lake

NAMES = st.sets(st.text("abc", min_size=1, max_size=2))


@contextmanager
def counted() -> Iterator[list[str]]:
    """Note the files of sets that are read."""
    real, names = LocalBlobs.read, list[str]()

    def read(blobs: LocalBlobs, address: str, *args: object, **more: object) -> object:
        if address.startswith(condemned.PREFIX):
            names.append(address)
        return real(blobs, address, *args, **more)  # type: ignore[arg-type]

    with patch.object(LocalBlobs, "read", read):
        yield names


def deleted(lake: Lake) -> list[Entry]:
    """Content of three sets, whose bounds overlap. It is ordered by address."""
    lost = [lake.branch().put(f"{number}", b"lost") for number in range(6)]
    for number in range(3):
        lake.branch().remove_many([f"{number}", f"{number + 3}"])
        assert lake.collect(NOW).deleted == 2
    return lost


def test_a_process_reads_each_file_once(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lost = deleted(lake)
    stores, record = lake.world.stores(), lake.record
    between = [replace(lost[2], address=f"{lost[2].address}{number}") for number in range(3)]
    with counted() as names:
        for each in between:
            require_kept(stores, record, [each], swaps=False)
    assert len(names) == len(set(names)) == 3
    with counted() as names:
        for each in lost:
            with pytest.raises(Conflict):
                require_kept(stores, record, [*between, each], swaps=False)
    assert len(names) == len(lost), "only the file that has the address"


def test_addresses_that_agree_in_half_of_a_fingerprint_are_told_apart(tmp_path: Path) -> None:
    """A bulk write of a million addresses would otherwise read nearly every file of a million again."""
    lake = Lake(tmp_path / "lake")
    lost = deleted(lake)
    stores, record = lake.world.stores(), lake.record
    other = replace(lost[2], address=f"{lost[2].address}0")
    real = collected_addresses._fingerprints

    def alike(addresses: pa.StringArray) -> object:
        asked = np.array([address == other.address for address in addresses.to_pylist()])
        low = np.uint64(7)
        return np.where(asked, low + np.uint64(1 << 32), low)

    with patch.object(collected_addresses, "_fingerprints", alike), counted() as names:
        for _ in range(3):
            require_kept(stores, record, [other], swaps=False)
    assert len(names) == len(set(names))
    assert real(pa.array(["a"])).dtype == np.uint64


def test_addresses_of_a_file_are_hashed_once(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lost = deleted(lake)
    stores, record, hashed = lake.world.stores(), lake.record, list[int]()
    real = collected_addresses._fingerprints

    def noted(addresses: pa.StringArray) -> object:
        hashed.append(len(addresses))
        return real(addresses)

    with patch.object(collected_addresses, "_fingerprints", noted):
        for _ in range(3):
            with pytest.raises(Conflict):
                require_kept(stores, record, [lost[2]], swaps=False)
        with counted() as names, pytest.raises(Conflict):
            require_kept(replace(stores, collected=TreeCache(0)), record, [lost[2]], swaps=False)
    assert hashed.count(1) == 4
    assert len(hashed) <= 4 + 3, "not if they are in the cache, or the cache has no room for them"
    assert names


def test_trees_stay_in_their_cache(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lost = deleted(lake)
    stores, before = lake.world.stores(), lake.world.ranges.held_bytes
    require_kept(stores, lake.record, [replace(lost[2], address=f"{lost[2].address}0")], swaps=False)
    assert (stores.ranges.held_bytes, stores.collected.held_bytes) == (before, 8 * len(lost))


def test_too_little_memory_is_no_damage(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lost = deleted(lake)
    reading = patch.object(pq.ParquetFile, "read_row_group", side_effect=MemoryError)
    with reading, pytest.raises(MemoryError):
        require_kept(lake.world.stores(), lake.record, lost, swaps=False)


@pytest.mark.parametrize("prints", ["distinct", "equal"])
@given(sets=st.lists(NAMES.filter(bool), max_size=4), asked=st.lists(NAMES, min_size=2, max_size=3))
def test_it_finds_what_sets_find(prints: str, sets: list[set[str]], asked: list[set[str]]) -> None:
    """Equal fingerprints of different addresses, and a cache without room, change no result."""
    world = World(blobs=OpenedBlobs())
    blobs, listed = world.blobs.at(world.namespace()), []
    with smallest.patched({"graveler_core.objects.sorted_files.FILE_ROWS": 2}):
        for number, names in enumerate(sets):
            columns = [sorted(names), [1] * len(names), ["unnamed"] * len(names)]
            table = pa.table(columns, schema=condemned.CONDEMNED)
            files = condemned.write(blobs, str(number), [table], len(names))
            listed.append(
                CondemnedSet(
                    id=str(number),
                    state=CollectionState.DELETED,
                    since=START,
                    files=files,
                    objects=len(names),
                    size=len(names),
                )
            )
    same = (lambda addresses: np.zeros(len(addresses), np.uint64)) if prints == "equal" else None
    with patch.object(collected_addresses, "_fingerprints", same or collected_addresses._fingerprints):
        for cache in (TreeCache(), TreeCache(0)):
            stores = replace(world.stores(), collected=cache)
            for names in asked:
                found = collected_among(stores, blobs, listed, pa.array(sorted(names), pa.string()))
                assert set(found) == names & set().union(*sets)
