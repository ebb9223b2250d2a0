"""A check finds each damage, exactly it, and changes nothing."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from graveler_core.blobs.cached import CachedBlobs
from graveler_core.blobs.disk_cache import DiskCache
from graveler_core.blobs.failures import Verb, translating
from graveler_core.blobs.local import LocalBlobs
from graveler_core.codec.records import encode
from graveler_core.errors import Unavailable
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.fsck import fsck
from graveler_core.gc.stock import Stock
from graveler_core.gc.walk import Walk
from graveler_core.kv.store import Stored
from graveler_core.model.entities import Layout, Superseded
from graveler_core.model.ids import BranchId, CommitId, MetarangeId, Nonce
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import entry
from tests.unit.gc.places import Place

LEFT_BY_THE_MERGE = 6
"""Nodes and ranges that it folded a side into on the way to its own."""
CUTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "other": lambda data: b"\x01" + b"not what was here" * 4,
    "flipped": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 0xFF]) + data[len(data) // 2 + 1 :],
}


def rows(place: Place, prefix: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Partition, key and value of what the store keeps of the repository, by the beginning of the key."""
    partitions = [keys.partition(place.repo), *keys.object_partitions(place.repo)]
    return [(p, row.key, row.value) for p in partitions for row in place.world.kv.scan(p, prefix=prefix)]


def named(place: Place) -> tuple[set[str], set[str]]:
    """Names of the files, and ids of the objects, that commits and branches name, but for what layouts named before."""
    stores, repo = place.stores, place.repo
    walk = Walk(stores.indexes(repo), Stock(), lambda more: None)
    for _, key, _ in rows(place, b"commits/"):
        assert not list(walk.index(place.commit(key.removeprefix(b"commits/").decode()).layout.index, "commit"))
    work = place.handle.branch("work").record()
    assert work.compacted_metarange is not None
    assert not list(walk.metarange(work.compacted_metarange, "branch"))
    staged = {str(path.relative_to(place.root / "_graveler")) for path in place.files if "staging" in path.parts}
    return {id.hex() for id in walk.blobs} | staged, {id.hex() for id in walk.objects}


@pytest.mark.parametrize("deep", [False, True])
def test_a_whole_repository(place: Place, deep: bool) -> None:
    before = [(path, path.read_bytes()) for path in place.files], rows(place, b"")
    found = place.found(deep=deep)
    assert [f.trouble for f in found] == [Trouble.UNREACHABLE] * LEFT_BY_THE_MERGE
    assert all(not f.damage and f.size == place.file(f.id.removeprefix("_graveler/")).stat().st_size for f in found)
    assert ([(path, path.read_bytes()) for path in place.files], rows(place, b"")) == before


def test_every_file_that_is_missing(place: Place) -> None:
    things = set()
    files = sorted(named(place)[0])
    for name in files:
        file = place.file(name)
        data = file.read_bytes()
        file.unlink()
        (damage,) = place.damage()
        file.write_bytes(data)
        assert damage[0] == "missing"
        assert damage[2] in name
        things.add(damage[1])
    assert things == {"node", "range", "run", "layer"}
    assert len(files) == len(place.files) - LEFT_BY_THE_MERGE


@pytest.mark.parametrize("thing", ["node", "range", "run", "layer"])
@pytest.mark.parametrize(
    "cut", ["flipped", *(pytest.param(cut, marks=pytest.mark.ci) for cut in ("empty", "cut", "other"))]
)
def test_files_that_are_damaged(place: Place, thing: str, cut: str) -> None:
    files = some(place, thing)
    harmless = 0
    for file in files:
        data = file.read_bytes()
        file.chmod(0o644)
        file.write_bytes(CUTS[cut](data))
        found = place.damage(deep=True)
        file.write_bytes(data)
        harmless += not found
        assert all((trouble, what) == ("corrupt", thing) and id in file.parts for trouble, what, id in found)
        assert len(found) == 1 or (cut == "flipped" and data[:4] == b"PAR1" and not found)
    # A byte of a footer that says nothing of the rows may be another one: the rows are what counts.
    assert harmless < len(files)


def some(place: Place, thing: str) -> list[Path]:
    """A few files of a kind."""
    files = [place.file(name) for name in sorted(named(place)[0])]
    if thing == "layer":
        return [file for file in files if "staging" in file.parts]
    (run,) = {
        run.id for c in place.handle.log("dev") for run in place.commit(c.id).layout.index.runs if run.size > 1500
    }
    if thing == "run":
        return [place.file(run)]
    content = [file for file in files if file.parent.name == "_graveler" and file.name != run]
    return [file for file in content if (file.read_bytes()[:4] == b"PAR1") == (thing == "range")][:3]


@pytest.mark.parametrize(
    ("kind", "thing"),
    [(b"commits/", "commit"), (b"layouts/", "layout"), (b"objects/", "run")],
)
def test_every_record_that_is_missing(place: Place, kind: bytes, thing: str) -> None:
    runs = named(place)[1]
    found = [row for row in rows(place, kind) if thing != "run" or row[1][-64:].decode() in runs]
    assert found
    for partition, key, value in found:
        place.world.kv.delete(partition, key)
        assert place.damage() == [("missing", thing, key.removeprefix(kind).decode())]
        place.world.kv.set(partition, key, value)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("kind", "thing"),
    [
        (b"branches/", "branch"),
        (b"tags/", "tag"),
        (b"commits/", "commit"),
        (b"layouts/", "layout"),
        (b"objects/", "run"),
        (b"cleanup/", "layer"),
    ],
)
def test_records_that_are_damaged(place: Place, kind: bytes, thing: str, cut: str) -> None:
    runs = named(place)[1]
    found = [row for row in rows(place, kind) if thing != "run" or row[1][-64:].decode() in runs]
    for partition, key, value in found[:: 1 if len(found) < 9 else 8]:
        place.world.kv.set(partition, key, CUTS[cut](value))
        damage = place.damage()
        if cut != "flipped" or thing in ("commit", "run"):
            assert damage == [("corrupt", thing, key.removeprefix(kind).decode())]
        place.world.kv.set(partition, key, value)
    assert found


@pytest.mark.parametrize("thing", ["node", "range", "run", "layer"])
def test_a_file_on_a_bad_sector(place: Place, thing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is reported, and the check goes on. An outage ends it."""
    for file in some(place, thing):
        with monkeypatch.context() as patch:
            fail_to_read(patch, file, errno.EIO)
            (found,) = (finding for finding in place.found(deep=True) if finding.damage)
            assert (found.trouble, found.thing) == ("corrupt", thing)
            assert found.id in file.parts
            assert "cannot read" in found.why
            fail_to_read(patch, file, errno.ETIMEDOUT)
            with pytest.raises(Unavailable):
                place.found(deep=True)


def fail_to_read(monkeypatch: pytest.MonkeyPatch, file: Path, number: int) -> None:
    """Have reads of a file fail with an error of the operating system."""
    read = LocalBlobs.read

    def failing(blobs: LocalBlobs, address: str) -> bytes:
        with translating(Verb.READ, address):
            if str(file).endswith(f"/{address}"):
                raise OSError(number, "cannot be read")
            return read(blobs, address)

    monkeypatch.setattr(LocalBlobs, "read", failing)


def test_two_range_files_that_were_exchanged(place: Place) -> None:
    one, other, _ = some(place, "range")
    first, second = one.read_bytes(), other.read_bytes()
    one.chmod(0o644)
    other.chmod(0o644)
    one.write_bytes(second)
    other.write_bytes(first)
    assert sorted(place.damage(deep=True)) == sorted([("corrupt", "range", f.name) for f in (one, other)])
    assert not place.damage()


@pytest.mark.parametrize("thing", ["node", "range", "run", "layer"])
def test_what_this_machine_has_read_is_no_evidence(place: Place, tmp_path: Path, thing: str) -> None:
    """A cache on disk holds what is damaged in the store."""
    held = CachedBlobs(place.world.blobs.at(place.root.as_uri()), DiskCache(tmp_path / "cache"), "_graveler/")
    stores = replace(place.stores, blobs=SimpleNamespace(at=lambda namespace: held))
    file = some(place, thing)[0]
    held.read(str(file.relative_to(place.root)))
    file.chmod(0o644)
    file.write_bytes(b"damaged")
    (found,) = (f for f in fsck(stores, place.repo, deep=True) if f.damage)
    assert (found.trouble, found.thing) == ("corrupt", thing)


def test_a_wrong_generation(place: Place) -> None:
    head = place.commit(place.main().record().commit_id)
    wrong = place.write(head.header.model_copy(update={"generation": 3}), head.layout)
    place.move("main", wrong)
    assert place.damage() == [("inconsistent", "commit", wrong)]


@pytest.mark.parametrize("deep", [False, True])
def test_a_wrong_digest(place: Place, deep: bool) -> None:
    head = place.commit(place.handle.commit("dev").id)
    wrong = place.write(head.header.model_copy(update={"operations": "0" * 64}), head.layout)
    place.move("dev", wrong)
    (damage,) = (f for f in place.found(deep=deep) if f.damage)
    assert (damage.trouble, damage.thing, damage.id) == ("inconsistent", "commit", wrong)


@pytest.mark.parametrize("back", [1, 20, 36])
def test_the_layout_of_another_commit(place: Place, back: int) -> None:
    """Where both keep their own changes, the digest of these tells at once."""
    head = place.commit(place.handle.commit("dev").id)
    other = place.commit(place.handle.commit(f"dev~{back}").id)
    where = keys.commit_layout(place.repo, head.id)
    place.world.kv.set(where.partition, where.key, encode(other.layout))
    assert set(place.damage()) == {("inconsistent", "commit", head.id)}


def test_the_layout_of_another_commit_without_changes_of_its_own(place: Place) -> None:
    """It shows in what the commits beside it changed, which only a deep check compares."""
    head = place.commit(place.handle.commit("dev").id)
    bare = Layout(index=replace(place.commit(place.handle.commit("v1").id).layout.index, inline=b""))
    where = keys.commit_layout(place.repo, head.id)
    place.world.kv.set(where.partition, where.key, encode(bare))
    assert not place.damage()
    found = {id for _, _, id in place.damage(deep=True)}
    assert head.id in found


def test_several_damages_at_once(place: Place) -> None:
    """None ends the walk, and nothing is called unreachable that may have hung on what is gone."""
    runs = named(place)[1]
    p, k = next((p, k) for p, k, _ in rows(place, b"objects/") if k[-64:].decode() in runs)
    (partition, key, _), *_ = rows(place, b"layouts/")
    place.world.kv.delete(partition, key)
    place.world.kv.set(p, k, b"x")
    place.world.kv.set(keys.partition(place.repo), b"branches/broken", b"\x01{}")
    found = place.found()
    assert {(f.trouble.value, f.thing.value) for f in found} == {
        ("missing", "layout"),
        ("corrupt", "run"),
        ("corrupt", "branch"),
    }
    assert all(f.why for f in found)
    assert [f.named_by.split()[0] for f in found if f.thing == "run"] == ["commit"]


def test_a_branch_that_is_deleted_leaves_commits(place: Place) -> None:
    dev = place.handle.create_branch("gone", "dev")
    dev.stage("gone", entry(1))
    dev.reset()
    before = {f.id for f in place.found()}
    dev.stage("gone", entry(1))
    made = dev.commit("alone").id
    place.handle.delete_branch("gone")
    (found,) = (f for f in place.found(deep=True) if f.id not in before)
    assert (found.trouble, found.thing, found.id, found.named_by) == ("unreachable", "commit", made, "")


def test_what_crashed_flows_leave(place: Place) -> None:
    """A layer that left its branch and was not emptied, a layout without a header, an object, files."""
    before = {f.id for f in place.found()}
    work = place.handle.branch("work")
    (segment,) = (layer for layer in work.record().sealed_tokens if layer.kind == "segment")
    token = work.record().staging_token
    kv, partition = place.world.kv, keys.partition(place.repo)
    files = {path: path.read_bytes() for path in place.files if segment.id in path.parts}
    work.reset()
    for path, data in files.items():
        path.write_bytes(data)
    kv.set(keys.staging(token), keys.staged(b"late"), b"\x01\x01")
    kv.set(partition, b"layouts/" + b"5" * 64, encode(place.commit(place.handle.commit("dev").id).layout))
    id, write = place.stores.indexes(place.repo).objects.prepare(b"nobody's")
    kv.set(*write)
    foreign = place.file("not-an-id")
    foreign.write_bytes(b"abc")
    found = {(f.thing.value, f.id) for f in place.found() if f.id not in before}
    assert found >= {
        ("layer", segment.id),
        ("layer", token),
        ("layout", "5" * 64),
        ("object", id),
        ("blob", "_graveler/not-an-id"),
    }
    assert not any(f.damage for f in place.found())


def test_a_commit_that_was_not_finished_is_no_damage(place: Place) -> None:
    """Its header is stored, its layout is not, and no branch moved."""
    head = place.commit(place.handle.commit("dev").id)
    made = place.write(head.header.model_copy(update={"nonce": "another"}), head.layout)
    where = keys.commit_layout(place.repo, made)
    place.world.kv.delete(where.partition, where.key)
    (found,) = (f for f in place.found() if f.id == made)
    assert (found.trouble, found.thing) == ("unreachable", "commit")
    assert "1 parts of its content are missing" in found.why


def test_a_damaged_layout_without_a_commit(place: Place) -> None:
    """It is unknown what it names, so nothing is called unreachable."""
    place.world.kv.set(keys.partition(place.repo), b"layouts/" + b"5" * 64, b"garbage")
    (found,) = place.found()
    assert (found.trouble, found.thing, found.id, found.named_by) == ("corrupt", "layout", "5" * 64, "")
    assert "--remove-damaged-layouts" in found.why


def test_damage_to_what_only_a_replaced_layout_names(place: Place) -> None:
    id, node = only_replaced(place)
    content = node.read_bytes()
    node.write_bytes(b"garbage")
    (found,) = place.found()
    assert (found.trouble, found.thing, found.named_by) == ("corrupt", "node", f"commit {id}")
    node.unlink()
    assert not place.damage()
    node.write_bytes(content)


def only_replaced(place: Place) -> tuple[CommitId, Path]:
    """Have the layout of a commit replace one with another tree. Return the commit, and the root of the former tree."""
    head = place.commit(place.handle.commit("dev").id)
    (node, *_) = (file for file in place.files if file.name not in named(place)[0] and file.read_bytes()[:4] != b"PAR1")
    node.chmod(0o644)
    former = replace(head.layout.index, metarange_id=MetarangeId(node.name))
    since = place.world.clock.time
    superseded = (*head.layout.superseded, Superseded(index=former, since=since))
    where = keys.commit_layout(place.repo, head.id)
    place.world.kv.set(where.partition, where.key, encode(head.layout.model_copy(update={"superseded": superseded})))
    return head.id, node


def test_names_that_are_gone(place: Place) -> None:
    place.world.kv.delete(keys.partition(place.repo), b"branches/main")
    claim = keys.namespace_claim(place.repo.storage_namespace)
    place.world.kv.delete(claim.partition, claim.key)
    uri = place.repo.storage_namespace
    found = place.damage()
    assert found == [("missing", "namespace", uri), ("missing", "branch", "main")]


def test_a_namespace_of_another(place: Place) -> None:
    claim = keys.namespace_claim(place.repo.storage_namespace)
    stored = place.world.kv.get(claim.partition, claim.key)
    assert stored is not None
    place.world.kv.set(claim.partition, claim.key, stored.value.replace(place.repo.uid.encode(), b"f" * 32))
    (damage,) = (f for f in place.found() if f.damage)
    assert (damage.trouble, damage.thing) == ("inconsistent", "namespace")


def test_damage_to_staged_records(place: Place) -> None:
    token = place.handle.branch("work").record().staging_token
    place.world.kv.set(keys.staging(token), keys.staged(b"staged"), b"\x01damaged")
    assert ("corrupt", "layer", token) in place.damage(deep=True)


def test_progress_counts_what_is_looked_at(place: Place) -> None:
    counted: list[int] = []
    list(fsck(place.stores, place.repo, progress=counted.append))
    assert sum(counted) > len(place.files) + len(rows(place, b""))


def renewed(place: Place) -> Stores:
    """Stores in which the record of the branch `work` is replaced before each reading. It names the same as before."""
    where = keys.branch(place.repo, BranchId("work"))

    class Renewed(Interposed):
        def get(self, partition: bytes, key: bytes) -> Stored | None:
            if key == where.key:
                held = access.read(place.world.kv, where)
                assert held is not None
                now = held.value.model_copy(update={"nonce": Nonce(place.world.ids.fresh())})
                place.world.kv.set(partition, key, encode(now))
            return super().get(partition, key)

    return replace(place.stores, kv=Renewed(place.world.kv))


@pytest.mark.parametrize("deep", [False, pytest.param(True, marks=pytest.mark.ci)])
def test_damage_of_a_branch_whose_record_changes(place: Place, deep: bool) -> None:
    work = place.handle.branch("work").record()
    assert work.compacted_metarange is not None
    walk = Walk(place.stores.indexes(place.repo), Stock(), lambda more: None)
    for commit in place.handle.log("work"):
        assert not list(walk.index(place.commit(commit.id).layout.index, "commit"))
    committed = {id.hex() for id in walk.blobs}
    assert not list(walk.metarange(work.compacted_metarange, "branch"))
    compacted = [place.file(id) for id in sorted({id.hex() for id in walk.blobs} - committed)]
    (layer, *_) = (file for file in place.files if "staging" in file.parts)
    things = set()
    for file in (*compacted, layer):
        data = file.read_bytes()
        file.unlink()
        expected = [finding for finding in place.found(deep=deep) if finding.damage]
        assert [finding for finding in fsck(renewed(place), place.repo, deep=deep) if finding.damage] == expected
        things.update(finding.thing for finding in expected)
        file.write_bytes(data)
    assert things == {Thing.NODE, Thing.RANGE, Thing.LAYER}


def test_damage_that_is_removed_from_a_branch_is_none(place: Place) -> None:
    """The compacted tree leaves the branch and is swept, while the check examines it."""
    record = place.handle.branch("work").record()
    assert record.compacted_metarange is not None
    place.file(record.compacted_metarange).unlink()
    where = keys.branch(place.repo, BranchId("work"))
    reads = count()

    class Moved(Interposed):
        def get(self, partition: bytes, key: bytes) -> Stored | None:
            if key == where.key and next(reads) == 0:
                place.world.kv.set(partition, key, encode(record.model_copy(update={"compacted_metarange": None})))
            return super().get(partition, key)

    stores = replace(place.stores, kv=Moved(place.world.kv))
    assert [f for f in fsck(stores, place.repo) if f.damage] == []
    assert next(reads) > 0


@pytest.mark.ci
def test_a_branch_moves_after_every_call(place: Place) -> None:
    """Commits, resets, a fold and a new branch between any two calls of the check: no false alarm."""
    calls = 0
    main = place.main()

    def step() -> None:
        nonlocal calls
        calls += 1
        if calls % 5 == 1:
            main.stage(f"while/{calls}", entry(calls))
            made = main.commit(f"while {calls}")
            place.handle.create_branch(f"while-{calls}", made.id)
        elif calls % 5 == 3:
            place.handle.branch("work").stage(f"while/{calls}", entry(calls))
            place.handle.branch("work").compact()

    kv = Interposed(place.world.kv)
    kv.before = dict.fromkeys(range(100_000), step)
    stores = replace(place.stores, kv=kv)
    found: list[Finding] = list(fsck(stores, place.repo, deep=True))
    assert calls > 100
    assert [f for f in found if f.damage] == []
    assert CommitId(main.record().commit_id) not in {f.id for f in found}
