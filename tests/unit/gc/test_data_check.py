"""A check of data finds each object that is missing or changed, and nothing else, with one listing."""

from __future__ import annotations

import errno
import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from graveler_core.blobs.failures import Verb, translating
from graveler_core.blobs.foreign import ForeignFiles
from graveler_core.blobs.local import LocalBlobs
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.blobs.port import Blobs, Foreign
from graveler_core.errors import CorruptData, Unavailable
from graveler_core.gc import data_check, expected_objects, object_digests
from graveler_core.gc.expected_objects import ExpectedObjects
from graveler_core.gc.findings import Thing, Trouble
from graveler_core.gc.fsck import fsck
from graveler_core.gc.named_addresses import COLUMNS, _Walk, named_addresses
from graveler_core.gc.relative_addresses import relative_addresses
from graveler_core.model.address import Namespace
from graveler_core.model.entities import BranchRecord
from graveler_core.model.entry import ENTRY_SCHEMA, AddressType, Entry
from graveler_core.model.ids import BranchId
from graveler_core.model.index import Index
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.testing.counting_blobs import CountingBlobs
from tests.unit.engine.world import World
from tests.unit.gc.checked_lake import CheckedLake
from tests.unit.gc.places import BULK


class Counted:
    """`BlobStores` that counts requests to the storage namespace."""

    def __init__(self, inner: OpenedBlobs) -> None:
        self.inner = inner
        self.opened: dict[str, CountingBlobs] = {}
        self.asked: Counter[str] = Counter()
        """Requests for objects of users, and for a listing of them, by verb."""

    def at(self, namespace: str) -> Blobs:
        if namespace not in self.opened:
            self.opened[namespace] = CountingBlobs(self.inner.at(namespace), self._note)
        return self.opened[namespace]

    def foreign(self, place: Namespace) -> Foreign:
        return self.inner.foreign(place)

    def _note(self, verb: str, address: str) -> None:
        if not address.startswith("_graveler/"):
            self.asked[verb] += 1


KINDS = {
    "inline/1": ("commit ", "branch work"),
    "ranges/0007": ("commit ",),
    "unreachable": ("commit ",),
    "compacted": ("branch work",),
    "staged": ("branch work",),
    "bulk/1100": ("branch work",),
}


def test_a_healthy_repository(lake: CheckedLake) -> None:
    assert lake.found() == lake.found(checksums=True) == []


@pytest.mark.parametrize("path", KINDS)
def test_an_object_that_is_missing(lake: CheckedLake, path: str) -> None:
    lake.file(path).unlink()
    assert [finding for finding in lake.repo.fsck() if finding.damage] == []
    for checksums in (False, True):
        (found,) = lake.found(checksums=checksums)
        address = lake.entries[path].address
        assert (found.trouble, found.thing, found.id, found.path) == (Trouble.MISSING, Thing.CONTENT, address, path)
        assert found.named_by.startswith(KINDS[path])
        assert found.damage
        assert found.size is None


@pytest.mark.parametrize("path", KINDS)
def test_an_object_that_is_truncated(lake: CheckedLake, path: str) -> None:
    lake.file(path).write_bytes(b"short")
    for checksums in (False, True):
        (found,) = lake.found(checksums=checksums)
        assert (found.trouble, found.id, found.path, found.size) == (
            Trouble.CORRUPT,
            lake.entries[path].address,
            path,
            5,
        )
        assert found.why == f"has 5 bytes, must have {lake.entries[path].size}"


@pytest.mark.parametrize("path", KINDS)
def test_other_content_of_the_same_size(lake: CheckedLake, path: str) -> None:
    lake.file(path).write_bytes(b"?" * lake.entries[path].size)
    assert lake.found() == []
    (found,) = lake.found(checksums=True)
    assert (found.trouble, found.id, found.path) == (Trouble.CORRUPT, lake.entries[path].address, path)
    assert found.size == lake.entries[path].size
    assert found.why == "differs from the checksum that was stored with the entry"


@pytest.mark.parametrize("path", KINDS)
def test_an_object_that_cannot_be_read(lake: CheckedLake, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a problem of the complete check. An outage ends the check."""
    address = lake.entries[path].address
    fail_to_read(monkeypatch, LocalBlobs, str(address), errno.EIO)
    assert lake.found() == []
    (found,) = lake.found(checksums=True)
    assert (found.trouble, found.id, found.path) == (Trouble.CORRUPT, address, path)
    assert "cannot read" in found.why
    held = access.read(lake.world.kv, keys.data_checks(lake.record))
    assert held is not None
    assert held.value.checksums is not None
    assert held.value.checksums.problems == 1
    fail_to_read(monkeypatch, LocalBlobs, str(address), errno.ETIMEDOUT)
    with pytest.raises(Unavailable):
        lake.found(checksums=True)


def fail_to_read(monkeypatch: pytest.MonkeyPatch, blobs: type[Any], key: str, number: int) -> None:
    """Have requests for an object fail with an error of the operating system."""

    def failing(inner: Any) -> Any:
        def request(self: Any, address: str, *rest: int) -> Any:
            with translating(Verb.READ, address):
                if address == key:
                    raise OSError(number, "cannot be read")
                return inner(self, address, *rest)

        return request

    for name in ("read", "read_range", "head"):
        monkeypatch.setattr(blobs, name, failing(getattr(blobs, name)))


def test_an_object_elsewhere_that_cannot_be_read(
    lake: CheckedLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    branch = lake.repo.branch("main")
    checksum = f"sha256:{hashlib.sha256(b'content').hexdigest()}"
    for name in ("readable", "unreadable"):
        (tmp_path / name).write_bytes(b"content")
        address = (tmp_path / name).as_uri()
        branch.stage(name, Entry(address=address, size=7, checksum=checksum, address_type=AddressType.FULL))
    fail_to_read(monkeypatch, ForeignFiles, "unreadable", errno.EACCES)
    for checksums in (False, True):
        (found,) = lake.found(checksums=checksums)
        assert (found.trouble, found.path, found.why) == (Trouble.CORRUPT, "unreadable", "cannot be read")


def test_a_range_that_cannot_be_read_does_not_end_the_check(lake: CheckedLake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("staged").unlink()
    files = [file for file in (lake.root / "lake" / "_graveler").iterdir() if file.is_file()]
    range_ = next(file for file in files if file.read_bytes()[:4] == b"PAR1")
    fail_to_read(monkeypatch, LocalBlobs, f"_graveler/{range_.name}", errno.EIO)
    found = lake.found()
    assert "staged" in {each.path for each in found if each.thing is Thing.CONTENT}
    assert [each.trouble for each in found if each.id == range_.name] == [Trouble.CORRUPT]


def test_a_directory_without_objects_may_be_unreadable(lake: CheckedLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as `lost+found`. It is listed only if entries name objects beside those that graveler has stored."""
    directory = lake.root / "lake" / "lost+found"
    directory.mkdir()
    scan = os.scandir

    def refusing(fd: int) -> Any:
        if os.path.samestat(os.fstat(fd), directory.stat()):
            raise PermissionError(errno.EACCES, "not permitted")
        return scan(fd)

    monkeypatch.setattr(os, "scandir", refusing)
    assert lake.found() == []
    (lake.root / "lake" / "other").write_bytes(b"other")
    lake.repo.branch("main").stage("other", Entry(address="other", size=5))
    with pytest.raises(Unavailable, match="EACCES"):
        lake.found()


def test_many_problems_at_once(lake: CheckedLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches give the same findings."""
    paths = sorted(lake.entries)
    for path in paths[::9]:
        lake.file(path).unlink()
    for path in paths[1::9]:
        lake.file(path).write_bytes(b"?" * lake.entries[path].size)
    expected = {(Trouble.MISSING, path) for path in paths[::9]} | {(Trouble.CORRUPT, path) for path in paths[1::9]}
    assert {(found.trouble, found.path) for found in lake.found(checksums=True)} == expected
    for module, name in ((data_check, "_LISTED"), (data_check, "_READ"), (expected_objects, "_BATCH")):
        monkeypatch.setattr(module, name, 7)
    monkeypatch.setattr(object_digests, "CHUNK_BYTES", 4)
    found = lake.found(checksums=True)
    assert {(each.trouble, each.path) for each in found} == expected
    assert len(found) == len(expected)


def test_objects_elsewhere(lake: CheckedLake, tmp_path: Path) -> None:
    there = tmp_path / "else where"
    there.mkdir()
    branch = lake.repo.branch("main")
    for name, content in (("a", b"first"), ("b", b"second"), ("c", b"third"), ("d", b"fourth")):
        (there / name).write_bytes(content)
        checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
        address = (there / name).as_uri()
        full = AddressType.FULL
        branch.stage(name, Entry(address=address, size=len(content), checksum=checksum, address_type=full))
    branch.commit("elsewhere")
    assert lake.found(checksums=True) == []
    (there / "a").unlink()
    (there / "b").write_bytes(b"longer than second")
    (there / "c").write_bytes(b"THIRD")
    assert [(found.trouble, found.path) for found in lake.found()] == [
        (Trouble.MISSING, "a"),
        (Trouble.CORRUPT, "b"),
    ]
    found = lake.found(checksums=True)
    assert [each.path for each in found] == ["a", "b", "c"]
    assert found[0].id == (there / "a").as_uri()


def test_a_full_address_in_the_namespace_is_listed(lake: CheckedLake) -> None:
    kept = lake.entries["inline/0"]
    address = lake.file("inline/0").as_uri()
    full = Entry(address=address, size=kept.size, checksum=kept.checksum, address_type=AddressType.FULL)
    lake.repo.branch("main").stage("same object", full)
    assert lake.found(checksums=True) == []
    lake.file("inline/0").unlink()
    assert {found.id for found in lake.found()} == {kept.address, address}


def test_checksums_that_are_not_known(lake: CheckedLake) -> None:
    branch = lake.repo.branch("main")
    kept = lake.entries["inline/0"]
    for number, checksum in enumerate(("md5:0123", None, "etag:x@y")):
        file = lake.root / "lake" / "data" / f"other{number}"
        file.write_bytes(b"other")
        branch.stage(f"other/{number}", Entry(address=f"data/other{number}", size=5, checksum=checksum))
    branch.stage("inline/other", Entry(address=kept.address, size=kept.size, checksum="md5:4567"))
    assert lake.found() == []
    (found,) = lake.found(checksums=True)
    assert (found.trouble, found.thing, found.damage) == (Trouble.UNVERIFIED, Thing.CONTENT, False)
    assert found.why.startswith("4 objects have no checksum")


def test_entries_that_disagree_on_an_object(lake: CheckedLake) -> None:
    kept = lake.entries["inline/0"]
    branch = lake.repo.branch("main")
    branch.stage("other/size", Entry(address=kept.address, size=3, checksum=kept.checksum))
    branch.stage("other/sum", Entry(address=kept.address, size=kept.size, checksum=f"sha256:{'0' * 64}"))
    assert [(found.trouble, found.path) for found in lake.found(checksums=True)] == [
        (Trouble.CORRUPT, "other/size"),
        (Trouble.CORRUPT, "other/sum"),
    ]


@pytest.mark.parametrize("checksums", [False, True])
def test_requests(lake: CheckedLake, checksums: bool) -> None:
    """One listing, no request for each object, and one read of each object for checksums."""
    counted = Counted(lake.world.blobs)
    stores = replace(lake.world.stores(), blobs=counted)
    list(fsck(stores, lake.record))
    assert counted.asked == {}
    assert not [each for each in fsck(stores, lake.record, data=True, checksums=checksums) if each.damage]
    assert counted.asked == {"list": 1, **({"read_range": len(lake.entries)} if checksums else {})}


def test_an_object_that_many_commits_name_is_read_once(lake: CheckedLake) -> None:
    main = lake.repo.branch("main")
    for number in range(5):
        main.stage(f"copy/{number}", replace(lake.entries["inline/0"], path=""))
        main.commit(f"copy {number}")
    counted = Counted(lake.world.blobs)
    assert not [f for f in fsck(replace(lake.world.stores(), blobs=counted), lake.record, checksums=True) if f.damage]
    assert counted.asked == {"list": 1, "read_range": len(lake.entries)}


def test_progress(lake: CheckedLake) -> None:
    shallow, listed, read = list[int](), list[int](), list[int]()
    list(lake.repo.fsck(progress=shallow.append))
    list(lake.repo.fsck(data=True, progress=listed.append))
    list(lake.repo.fsck(checksums=True, progress=read.append))
    assert sum(listed) - sum(shallow) >= len(lake.entries)
    assert sum(read) - sum(listed) == len(lake.entries)


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"damaged")])
def test_a_damaged_range_does_not_end_the_check(lake: CheckedLake, damage: object) -> None:
    """Objects in other parts are checked, and the damage is reported once."""
    assert callable(damage)
    lake.file("staged").unlink()
    lake.file("inline/0").unlink()
    files = [file for file in (lake.root / "lake" / "_graveler").iterdir() if file.is_file()]
    ranges = [file for file in files if file.read_bytes()[:4] == b"PAR1"]
    damage(ranges[0])
    found = lake.found()
    assert {"staged", "inline/0"} <= {each.path for each in found if each.thing is Thing.CONTENT}
    (range_,) = [each for each in found if each.id == ranges[0].name]
    assert range_.thing in (Thing.RANGE, Thing.RUN)


@pytest.mark.parametrize("name", ["manifest", "000000.parquet"])
def test_a_damaged_layer_does_not_end_the_check(lake: CheckedLake, name: str) -> None:
    lake.file("staged").unlink()
    (file,) = (lake.root / "lake" / "_graveler" / "staging").rglob(name)
    file.write_bytes(b"damaged")
    found = lake.found()
    assert [each.path for each in found if each.thing is Thing.CONTENT] == ["staged"]
    assert len([each for each in found if each.thing is Thing.LAYER]) == 1


def test_a_damaged_tree_is_found_although_its_branch_changes(
    lake: CheckedLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branch is read again, and the tree with it, so that a collection never takes it for a tree without names."""
    held = access.read(lake.world.kv, keys.branch(lake.record, BranchId("work")))
    assert held is not None
    assert held.value.compacted_metarange is not None
    root = lake.root / "lake" / "_graveler" / held.value.compacted_metarange
    root.unlink()
    read, changed = _Walk._of_record, list[str]()

    def changing(walk: _Walk, branch: BranchRecord) -> Iterator[pa.Table]:
        yield from read(walk, branch)
        if branch.id == "work" and not changed:
            changed.append(branch.id)
            lake.stage_many("work", "more", BULK)

    monkeypatch.setattr(_Walk, "_of_record", changing)
    with pytest.raises(CorruptData, match=root.name):
        list(named_addresses(lake.world.stores(), lake.record, lambda more: None))
    assert changed


def test_a_damaged_tree_of_a_branch_that_is_deleted_meanwhile_is_read_again(lake: CheckedLake) -> None:
    """A commit may contain the tree, so a collection must not take it for a tree without names."""
    held = access.read(lake.world.kv, keys.branch(lake.record, BranchId("work")))
    assert held is not None
    assert held.value.compacted_metarange is not None
    root = lake.root / "lake" / "_graveler" / held.value.compacted_metarange
    root.unlink()
    lake.repo.delete_branch("work")
    walk = _Walk(lake.world.stores(), lake.record, lambda more: None, pa.schema(map(ENTRY_SCHEMA.field, COLUMNS)))
    list(walk.branch(held.value))
    with pytest.raises(CorruptData, match=root.name):
        list(walk.index(Index(held.value.compacted_metarange), "commit"))


def test_an_empty_repository(tmp_path: Path) -> None:
    world = World(blobs=OpenedBlobs(durable=False))
    repo = world.graveler().create_repository("repo", tmp_path.as_uri())
    assert list(repo.fsck(checksums=True)) == []
    repo.branch("main").put("empty", b"")
    assert list(repo.fsck(checksums=True)) == []


def test_objects_are_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected_objects, "_BATCH", 3)
    expected = ExpectedObjects(expected_objects.COLUMNS)
    assert expected.unique() is None
    schema = {"key": pa.binary(), "address": pa.string(), "address_type": pa.int8(), "size": pa.int64()}
    for source, names in (("one", "abc"), ("two", ""), ("two", "cab"), ("three", "dd")):
        rows = [{"key": name.encode(), "address": name, "address_type": 1, "size": 1} for name in names]
        expected.add(source, pa.Table.from_pylist(rows, schema=pa.schema(schema)))
    found = expected.unique()
    assert found is not None
    assert found.column("address").to_pylist() == ["a", "b", "c", "d"]
    assert [expected.sources[number] for number in found.column("source").to_pylist()] == ["one"] * 3 + ["three"]


def test_addresses_relative_to_a_namespace() -> None:
    kinds = [AddressType.RELATIVE, *[AddressType.FULL] * 4]
    uris = ["a%20b", "s3://b/n/a", "s3://b/n/a%20b/%C3%BC", "s3://b/nn/a", "s3://b/n"]
    table = pa.table(
        {"address": pa.array(uris, pa.large_string()), "address_type": pa.array(map(int, kinds), pa.int8())}
    )
    assert relative_addresses(table, "s3://b/n").to_pylist() == ["a%20b", "a", "a b/ü", None, None]


def test_a_check_of_checksums_says_how_many_objects_it_reads(lake: CheckedLake) -> None:
    told = list[tuple[str, int]]()
    list(
        lake.repo.fsck(
            checksums=True,
            progress=lambda more: told.append(("done", more)),
            remaining=lambda more: told.append(("remaining", more)),
        )
    )
    (at,) = [number for number, (word, _) in enumerate(told) if word == "remaining"]
    after = told[at + 1 :]
    assert after == [("done", 1)] * told[at][1]
    assert told[at][1] == len({entry.address for entry in lake.entries.values()})
    told.clear()
    list(lake.repo.fsck(data=True, remaining=lambda more: told.append(("remaining", more))))
    assert told == []
