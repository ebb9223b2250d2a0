"""Files that driver and workers must both see."""

from __future__ import annotations

from pathlib import Path

import pytest

from graveler.spark.filesystem_check import sights
from graveler_core.errors import InvalidInput, Unavailable


def test_the_file_of_a_store_and_local_namespaces_are_looked_at(tmp_path: Path) -> None:
    store, lake = tmp_path / "meta.db", tmp_path / "a lake, 100 % real"
    store.touch()
    seen = sights(f"sqlite:///{store}", [lake.as_uri(), "s3://bucket/lake"])
    assert [sight.path for sight in seen] == [str(store), str(lake)]
    for sight in seen:
        sight.check()
    assert lake.is_dir()
    assert sights("postgresql://host/db", ["s3://bucket/lake"]) == ()


def test_another_file_system_is_refused(tmp_path: Path) -> None:
    there = tmp_path / "lake"
    there.mkdir()
    [sight] = sights("postgresql://host/db", [there.as_uri()])
    there.rename(tmp_path / "moved")
    with pytest.raises(InvalidInput, match="finds no file there;"):
        sight.check()
    there.mkdir()
    with pytest.raises(InvalidInput, match="finds another file there"):
        sight.check()


def test_what_the_driver_does_not_see_is_told_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"no\.db: the file does not exist"):
        sights(f"sqlite:///{tmp_path}/no.db", [])
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="cannot be created"):
        sights("postgresql://host/db", [(tmp_path / "file" / "lake").as_uri()])
