"""Dumps contain the erasures, and restorations and copies of stores obey them."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from graveler_core.blobs.local import LocalBlobs
from graveler_core.errors import Conflict, CorruptData, Kind, NotFound, Unavailable
from graveler_core.facade.repository import Repository
from graveler_core.kv.backends.memory import open_memory
from graveler_core.model.erasure import ErasedContent, ErasureState
from graveler_core.objects import erased as marks
from graveler_core.transfer.kv_copy import copy_store
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.templates import Template
from tests.unit.engine.world import World
from tests.unit.erasure.lake import PATH, PREFIX, Lake

WHY = "request 17"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def dumped(lake: Lake, name: str = "dump") -> str:
    uri = (lake.root / name).as_uri()
    lake.repo.dump_refs(uri)
    return uri


def restored(lake: Lake, dump: str) -> Lake:
    """Restore a dump into another store, over the same namespace."""
    there = Lake.__new__(Lake)
    there.root, there.old, there.first, there.second = lake.root, lake.old, lake.first, lake.second
    there.world = World(blobs=lake.world.blobs)
    there.world.clock.time = lake.world.clock.time
    there.world.ids.skip(1_000)
    bare = there.world.graveler().create_bare_repository("repo", lake.uri, adopt=True)
    bare.restore_refs(dump)
    bare.restore_refs(dump)
    return there


def require_obeyed(there: Lake) -> None:
    with pytest.raises(NotFound, match=WHY) as caught:
        there.repo.at(there.first).read(PATH)
    assert caught.value.kind is Kind.ContentErased
    with pytest.raises(Conflict) as refused:
        there.branch().stage("q", there.repo.at(there.first).get(PATH))
    assert refused.value.kind is Kind.ContentErased
    assert [erasure.why for erasure in there.repo.erasures()] == [WHY]
    assert not there.broken()


def test_a_dump_contains_them(lake: Lake) -> None:
    lake.repo.erase(prefix=PREFIX, why=WHY)
    there = restored(lake, dumped(lake))
    assert there.repo.erasures()[0].state is ErasureState.DONE
    require_obeyed(there)
    again = dumped(there, "again")
    require_obeyed(restored(there, again))


def test_an_older_dump_obeys_the_files_of_the_namespace(lake: Lake) -> None:
    before = dumped(lake)
    lake.repo.erase(prefix=PREFIX, why=WHY)
    there = restored(lake, before)
    assert [found.path for found in there.branch().list()] == [PATH, "u/2/b"]
    require_obeyed(there)
    there.repo.erase(prefix=PREFIX, why="the branches")
    assert [found.path for found in there.branch().list()] == ["u/2/b"]


def test_content_that_an_older_copy_of_the_namespace_brings_back_is_deleted(lake: Lake) -> None:
    shutil.copytree(lake.root / "lake", lake.root / "copy")
    lake.repo.erase(prefix=PREFIX, why=WHY)
    dump = dumped(lake)
    shutil.copytree(lake.root / "copy" / "data", lake.root / "lake" / "data", dirs_exist_ok=True)
    shutil.rmtree(lake.root / "lake" / "_graveler" / "erasures")
    assert len(lake.objects) == 5
    there = restored(lake, dump)
    assert len(lake.objects) == 2
    require_obeyed(there)
    assert (lake.root / "lake" / "_graveler" / "erasures").exists()


def test_refused_deletions_keep_a_restoration_from_its_end_but_not_other_deletions(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(lake.root / "lake", lake.root / "copy")
    lake.repo.erase(prefix=PREFIX, why=WHY)
    dump = dumped(lake)
    kept = lake.objects
    shutil.copytree(lake.root / "copy" / "data", lake.root / "lake" / "data", dirs_exist_ok=True)
    locked, delete = min(lake.objects - kept), LocalBlobs.delete

    def refuse(blobs: LocalBlobs, address: str) -> None:
        if address == locked:
            raise Unavailable(f"{address}: locked", kind=Kind.PermissionDenied)
        delete(blobs, address)

    with monkeypatch.context() as patch:
        patch.setattr(LocalBlobs, "delete", refuse)
        with pytest.raises(Unavailable, match=r"stays bare.* 1 of 3 objects could not be deleted: .*locked") as caught:
            restored(lake, dump)
    assert caught.value.kind is Kind.PermissionDenied
    assert caught.value.details["failed"] == [locked]
    assert lake.objects == kept | {locked}
    require_obeyed(restored(lake, dump))
    assert lake.objects == kept


@pytest.mark.ci
def test_a_dump_between_any_two_calls_of_an_erasure(tmp_path: Path) -> None:
    """Whatever it contains, a restoration in the namespace is complete after the next erasure."""
    template = Template(Lake(tmp_path / "lakes"))
    at, calls, states = 0, 1, set[str]()
    while at < calls:
        lake = template.copy()
        kv, made = Interposed(lake.world.kv), list[str]()
        kv.before[at] = lambda lake=lake, made=made: made.append(dumped(lake))  # type: ignore[misc]
        lake.on(kv).erase(prefix=PREFIX, why=WHY)
        there = restored(lake, made[0])
        states |= {erasure.state.value for erasure in there.repo.erasures()}
        require_obeyed(there)
        there.repo.erase(prefix=PREFIX, why=WHY)
        assert not there.broken(), at
        assert not there.erased_and_shown(), at
        calls, at = len(kv.verbs), at + 5
    assert states == {"done"}


def test_an_erasure_that_was_under_way_goes_on_after_a_restoration(tmp_path: Path) -> None:
    template, states = Template(Lake(tmp_path / "lakes")), set[str]()
    for at in range(30, 110, 4):
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.fail[at] = Crash()
        with suppress(Crash):
            lake.on(kv).erase(prefix=PREFIX, why=WHY)
        there = restored(lake, dumped(lake))
        states |= {erasure.state.value for erasure in there.repo.erasures()}
        there.repo.erase(prefix=PREFIX, why=WHY)
        assert not there.broken(), at
        require_obeyed(there)
    assert states == {"erasing", "done"}


def test_a_copy_of_the_store_has_them(lake: Lake) -> None:
    lake.repo.erase(prefix=PREFIX, why=WHY)
    target = open_memory("memory://")
    copy_store(lake.world.kv, target)
    there = World(target, blobs=lake.world.blobs).graveler().repository("repo")
    assert isinstance(there, Repository)
    with pytest.raises(NotFound, match=WHY):
        there.at(lake.first).read(PATH)
    assert there.erasures() == lake.repo.erasures()


def test_content_of_no_erasure_is_refused(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.repo.erase(prefix=PREFIX, why=WHY)

    def other(self: marks.ErasedContents) -> list[ErasedContent]:
        erasure = self.find(lake.repo.erasures()[0].id)
        assert erasure is not None
        return [ErasedContent(address="data/x", size=1, erasure="another", round=erasure.rounds[0])]

    with monkeypatch.context() as patch:
        patch.setattr(marks.ErasedContents, "marks", other)
        patch.setattr("graveler_core.transfer.erasures._counting", lambda mark, found: True)
        dump = dumped(lake)
    with pytest.raises(CorruptData, match="belongs to no erasure"):
        restored(lake, dump)
