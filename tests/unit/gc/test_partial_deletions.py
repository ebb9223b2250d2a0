"""Objects that cannot be deleted: they do not count as deleted, and later calls delete them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from graveler_core.blobs import deletion
from graveler_core.blobs.local import LocalBlobs
from graveler_core.errors import GravelerError, Kind, NotFound, Unavailable
from graveler_core.gc import collection, namespaces
from graveler_core.model.collection import CollectionState
from graveler_core.model.entities import ClaimState
from graveler_core.model.erasure import ErasureState
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.gc.lake import NOW, Lake


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Addresses that a store with batches refuses to delete."""
    names, delete = set[str](), LocalBlobs.delete

    def delete_many(blobs: LocalBlobs, addresses: Sequence[str]) -> dict[str, GravelerError]:
        for address in addresses:
            if address not in names:
                delete(blobs, address)
        errors = {address: Unavailable(f"{address}: locked", kind=Kind.PermissionDenied) for address in addresses}
        return {address: error for address, error in errors.items() if address in names}

    monkeypatch.setattr(LocalBlobs, "delete_many", delete_many)
    monkeypatch.setattr(LocalBlobs, "deletes_at_once", 4)
    return names


def _fails(work: Callable[[], object], expected: str) -> None:
    with pytest.raises(Unavailable, match=expected) as caught:
        work()
    assert caught.value.kind is Kind.PermissionDenied


def test_a_collection(tmp_path: Path, refused: set[str]) -> None:
    """One object that cannot be deleted does not keep the others, nor what is condemned later."""
    lake = Lake(tmp_path)
    for number in range(8):
        lake.branch().put("x", b"%d" % number)
    lake.branch().reset()
    first, *_ = sorted(lake.objects)
    refused.add(first)
    for number in range(3):
        _fails(lambda: lake.collect(NOW), f"1 of {2 if number else 8} objects could not be deleted")
        assert lake.objects == {first}
        lake.branch().put("x", b"more")
        lake.branch().reset()
    refused.clear()
    assert lake.collect(NOW).deleted == 2
    assert not lake.objects


def test_a_collection_without_permission(tmp_path: Path, refused: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of which nothing may be deleted do not keep the others, nor what is condemned later."""
    monkeypatch.setattr(collection, "DELETED_AT_ONCE", 4)
    lake = Lake(tmp_path)
    for number in range(8):
        lake.branch().put("x", b"%d" % number)
    lake.branch().reset()
    before = lake.objects
    refused |= before
    for _ in range(2):
        _fails(lambda: lake.collect(NOW), "8 of 8 objects could not be deleted")
        assert lake.objects == before
    lake.branch().put("x", b"more")
    lake.branch().reset()
    _fails(lambda: lake.collect(NOW), "8 of 9 objects could not be deleted")
    assert lake.objects == before
    refused.clear()
    assert lake.collect(NOW).deleted == 8


def test_a_collection_of_a_store_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing counts as deleted, and the next call goes on with the set."""
    lake = Lake(tmp_path)
    lake.branch().put("x", b"1")
    lake.branch().reset()
    with monkeypatch.context() as patched:
        gone = Unavailable("away", kind=Kind.StoreUnreachable)
        patched.setattr(LocalBlobs, "delete_many", lambda _, addresses: dict.fromkeys(addresses, gone))
        with pytest.raises(Unavailable, match="away"):
            lake.collect(NOW)
    held = access.read(lake.world.kv, keys.collections(lake.record.id, lake.record.uid))
    assert held is not None
    assert held.value.current is not None
    assert held.value.current.state is CollectionState.DELETING
    assert lake.collect(NOW).deleted == 1


def test_an_erasure(tmp_path: Path, refused: set[str]) -> None:
    lake = Lake(tmp_path)
    for number in range(8):
        lake.branch().put(f"people/{number}", b"%d" % number)
    commit = lake.branch().commit("people")
    refused |= set(sorted(lake.objects)[::7])
    _fails(lambda: lake.repo.erase(prefix="people/", why="request 17"), "cannot end: 2 of 8 objects could not be")
    assert lake.objects == refused
    assert [erasure.state for erasure in lake.repo.erasures()] == [ErasureState.DELETING]
    refused.clear()
    assert lake.repo.erase(prefix="people/", why="request 17").objects == 8
    assert [erasure.state for erasure in lake.repo.erasures()] == [ErasureState.DONE]
    assert not lake.objects
    with pytest.raises(NotFound) as caught:
        lake.repo.at(commit.id).read("people/1")
    assert caught.value.kind is Kind.ContentErased


def test_a_collection_goes_on_although_an_erasure_cannot_end(tmp_path: Path, refused: set[str]) -> None:
    lake = Lake(tmp_path)
    kept = lake.branch().put("people/1", b"1").address
    lake.branch().commit("people")
    refused.add(str(kept))
    for _ in range(2):
        lake.branch().put("x", b"unnamed")
        lake.branch().reset()
        assert len(lake.objects) == (2 if kept in lake.objects else 1)
        _fails(lambda: lake.repo.erase(prefix="people/", why="request 17"), "is under way and cannot end: .* locked")
        _fails(lambda: lake.repo.collect(grace=timedelta(0), alone=True), "is under way and cannot end: .* locked")
        assert lake.objects == refused
    refused.clear()
    lake.repo.collect(grace=timedelta(0), alone=True)
    assert not lake.objects
    assert [erasure.state for erasure in lake.repo.erasures()] == [ErasureState.DONE]


def test_a_store_that_is_away_is_not_asked_for_every_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, asked = Lake(tmp_path), list[str]()
    for number in range(8):
        lake.branch().put(f"people/{number}", b"%d" % number)

    def delete_many(blobs: LocalBlobs, addresses: Sequence[str]) -> dict[str, GravelerError]:
        asked.extend(addresses)
        return dict.fromkeys(addresses, Unavailable("the store is away"))

    monkeypatch.setattr(LocalBlobs, "delete_many", delete_many)
    monkeypatch.setattr("graveler_core.erasure.standing.DELETED_AT_ONCE", 2)
    with pytest.raises(Unavailable, match=r"^the store is away$"):
        lake.repo.erase(prefix="people/", why="request 17")
    assert len(asked) <= 2


def test_a_namespace(tmp_path: Path, refused: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "DELETED_AT_ONCE", 2)
    lake = Lake(tmp_path)
    for number in range(8):
        lake.branch().put(f"{number}", b"%d" % number)
    refused.add(sorted(lake.objects)[0])
    g, now = lake.world.graveler(), timedelta(0)
    g.delete_repository("repo")
    g.clean(undelete_within=now, late=now)
    _fails(lambda: list(g.empty_namespaces(grace=now, alone=True)), "1 of .* objects could not be deleted")
    assert lake.objects == refused
    claim = access.read(lake.world.kv, keys.namespace_claim(tmp_path.as_uri()))
    assert claim is not None
    assert claim.value.state is ClaimState.EMPTYING
    refused.clear()
    list(g.empty_namespaces(grace=now, alone=True))
    assert access.read(lake.world.kv, keys.namespace_claim(tmp_path.as_uri())) is None
    assert not lake.objects


def test_a_sweep(tmp_path: Path, refused: set[str]) -> None:
    """One blob that cannot be deleted keeps neither the others nor the register."""
    lake = Lake(tmp_path)
    blobs = lake.world.stores().blobs.at(tmp_path.as_uri())
    names = [f"_graveler/{digit * 64}" for digit in "123456"]
    for name in names:
        blobs.create(name, b"x")
    refused.add(names[0])
    for number in range(2):
        _fails(
            lambda: lake.repo.sweep(grace=timedelta(0), alone=True),
            f"1 of {1 if number else 6} objects could not be deleted",
        )
        assert [name for name in names if blobs.head(name)] == names[:1]
        assert access.read(lake.world.kv, keys.sweeping(lake.record)) is None
    refused.clear()
    assert lake.repo.sweep(grace=timedelta(0), alone=True).blobs == 1


def test_few_of_many_refused_addresses_are_kept(
    tmp_path: Path, refused: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "LISTED", 3)
    monkeypatch.setattr(collection, "DELETED_AT_ONCE", 2)
    lake = Lake(tmp_path)
    for number in range(8):
        lake.branch().put("x", b"%d" % number)
    lake.branch().reset()
    refused |= lake.objects
    with pytest.raises(Unavailable, match="8 of 8 objects could not be deleted") as caught:
        lake.collect(NOW)
    assert caught.value.details["failed"] == sorted(refused)[:3]
