"""A repository whose namespace belongs to another one erases nothing there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graveler_core.blobs.local import LocalBlobs
from graveler_core.errors import CorruptData
from graveler_core.kv.backends.memory import open_memory
from graveler_core.model.erasure import ErasureState
from graveler_core.model.ids import RepositoryUid
from graveler_core.objects import erasure_files, owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests import smallest
from tests.unit.erasure.lake import PATH, PREFIX, Lake
from tests.unit.erasure.test_standing import CONTINUATIONS

WHY = "request 17"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def take_over(lake: Lake) -> None:
    """Take the namespace over from another store."""
    world = replace(lake.world, kv=open_memory("memory://"))
    world.ids.skip(1_000)
    world.graveler().create_bare_repository("another", lake.uri, adopt=True)


def test_the_former_owner_erases_nothing(lake: Lake) -> None:
    take_over(lake)
    objects, head = lake.objects, lake.repo.commit("main").id
    for dry_run in (True, False):
        with pytest.raises(CorruptData, match="of another store owns the storage namespace"):
            lake.repo.erase(prefix=PREFIX, why=WHY, dry_run=dry_run)
    assert (lake.objects, lake.repo.commit("main").id, lake.repo.erasures()) == (objects, head, [])


def test_a_repository_without_the_claim_erases_nothing(lake: Lake) -> None:
    where = keys.namespace_claim(lake.uri)
    held = access.read(lake.world.kv, where)
    assert held is not None
    access.replace(lake.world.kv, where, held, held.value.model_copy(update={"owner": RepositoryUid("other")}))
    with pytest.raises(CorruptData, match="does not own its storage namespace"):
        lake.repo.erase(prefix=PREFIX, why=WHY)
    assert len(lake.objects) == 5


@pytest.mark.parametrize("how", CONTINUATIONS)
def test_an_erasure_that_was_left_is_not_completed(lake: Lake, how: str) -> None:
    lake.leave_while_deleting()
    blobs = lake.world.blobs.at(lake.uri)
    for blob in list(blobs.list(erasure_files.PREFIX)):
        blobs.delete(blob.address)
    take_over(lake)
    with pytest.raises(CorruptData, match="of another store owns the storage namespace"):
        CONTINUATIONS[how](lake)
    assert len(lake.objects) == 5
    assert not list(blobs.list(erasure_files.PREFIX))
    assert [erasure.state for erasure in lake.repo.erasures()] == [ErasureState.DELETING]


def test_the_owner_is_checked_before_each_batch(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A takeover during the first batch spares the second one."""
    delete = LocalBlobs.delete

    def taken_over(self: LocalBlobs, address: str) -> None:
        monkeypatch.setattr(LocalBlobs, "delete", delete)
        delete(self, address)
        take_over(lake)

    monkeypatch.setattr(LocalBlobs, "delete", taken_over)
    with smallest.patched({"graveler_core.erasure.standing.DELETED_AT_ONCE": 1}), pytest.raises(CorruptData):
        lake.repo.erase(prefix=PREFIX, why=WHY)
    assert len(lake.objects) == 4
    owned = [blob.address for blob in lake.world.blobs.at(lake.uri).list(owner_files.PREFIX)]
    assert owned != [owner_files.address(lake.repo.uid)]


def test_the_owner_still_erases(lake: Lake) -> None:
    lake.leave_while_deleting()
    assert lake.repo.erase([PATH], why="another").objects == 0
    assert len(lake.objects) == 2
