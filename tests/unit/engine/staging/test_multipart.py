"""Multipart uploads: any process goes on, and what is given up leaves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from graveler_core.engine.staging import multipart
from graveler_core.errors import InvalidInput, Kind, NotFound, PermissionDenied, SlowDown
from graveler_core.facade.branch import Branch
from graveler_core.gc.uploads import purge
from graveler_core.model.entry import Entry
from graveler_core.objects.uploads import Uploads
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World


@pytest.fixture
def upload(world: World) -> str:
    return world.branch().begin_multipart("a/b", content_type="text/plain", metadata={"k": "v"})


def uploads(world: World) -> Uploads:
    record = world.graveler().repository("repo")._record
    return Uploads(world.kv, world.blobs.at(record.storage_namespace), record, world.clock, world.ids)


def leftovers(world: World) -> tuple[list[str], int]:
    """Objects of user data, and records of uploads and parts."""
    found = uploads(world)
    parts = [*access.scan(world.kv, keys.upload_parts(found.repository))]
    return [blob.address for blob in found.blobs.list("data/")], len(parts) + len([*found.standing()])


def test_parts_become_one_object_in_the_order_of_their_numbers(world: World, upload: str) -> None:
    second = world.branch().upload_part("a/b", upload, 2, [b"wo", b"rld"])
    world.branch().upload_part("a/b", upload, 1, b"wrong")
    first = world.branch().upload_part("a/b", upload, 1, b"hello ", checksum=lambda: "md5:x")
    assert first.checksum == "md5:x"
    assert [(part.number, part.size) for part in world.branch().uploaded_parts("a/b", upload)] == [(1, 6), (2, 5)]
    branch = world.branch()
    made = branch.assemble_multipart("a/b", upload, [(1, "md5:x"), (2, second.checksum)])
    assert not [*branch.list()]
    branch.stage("a/b", made)
    branch.end_multipart("a/b", upload)
    assert branch.read("a/b") == b"hello world"
    assert (made.content_type, made.metadata) == ("text/plain", {"k": "v"})
    assert leftovers(world) == ([made.address], 0)


def test_parts_that_programs_stored_at_signed_urls_are_found_by_their_etag(world: World, upload: str) -> None:
    """The store of these tests signs nothing, so the objects are created at the addresses themselves."""
    branch, blobs = world.branch(), uploads(world).blobs
    with pytest.raises(InvalidInput, match="presigned URLs exist only for"):
        branch.presign_parts("a/b", upload, [1])
    for numbers, expires in (([0], 9), ([10_001], 9), ([1], 0)):
        with pytest.raises(InvalidInput, match="must be"):
            branch.presign_parts("a/b", upload, numbers, expires)
    blobs.create(f"data/{upload}/part-1", b"hello ")
    branch.upload_part("a/b", upload, 1, b"wrong")
    copied = branch.upload_part("a/b", upload, 2, b"world")
    info = blobs.head(f"data/{upload}/part-1")
    assert info is not None
    etag = str(info.etag).strip('"')
    for wrong in ([(1, "etag:other")], [(2, f"etag:{etag}")]):
        with pytest.raises(InvalidInput) as refused:
            branch.assemble_multipart("a/b", upload, wrong)
        assert refused.value.kind is Kind.PartMismatch
    made = branch.assemble_multipart("a/b", upload, [(1, f"etag:{etag}"), (2, copied.checksum)])
    branch.stage("a/b", made)
    branch.end_multipart("a/b", upload)
    assert branch.read("a/b") == b"hello world"
    assert leftovers(world) == ([made.address], 0)
    with pytest.raises(NotFound):
        branch.presign_parts("a/b", upload, [1])


def test_a_part_that_is_stored_again_at_its_signed_url_while_it_is_read_is_refused(
    world: World, upload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    branch, blobs, part = world.branch(), uploads(world).blobs, f"data/{upload}/part-1"
    real = multipart._content

    def stored_again(*arguments: Any) -> Iterator[bytes]:
        blobs.delete(part)
        blobs.create(part, b"other")
        yield from real(*arguments)

    blobs.create(part, b"hello")
    checksum = "etag:" + str(blobs.head(part).etag).strip('"')  # type: ignore[union-attr]
    with monkeypatch.context() as patched:
        patched.setattr(multipart, "_content", stored_again)
        with pytest.raises(InvalidInput, match="part 1: was stored again") as refused:
            branch.assemble_multipart("a/b", upload, [(1, checksum)])
    assert refused.value.kind is Kind.PartMismatch
    now = "etag:" + str(blobs.head(part).etag).strip('"')  # type: ignore[union-attr]
    branch.stage("a/b", branch.assemble_multipart("a/b", upload, [(1, now)]))
    assert branch.read("a/b") == b"other"


def test_a_crash_before_the_end_lets_the_upload_be_ended_again(world: World, upload: str) -> None:
    part = world.branch().upload_part("a/b", upload, 1, b"x")
    for _ in range(2):
        world.branch().stage("a/b", world.branch().assemble_multipart("a/b", upload, [(1, part.checksum)]))
    world.branch().end_multipart("a/b", upload)
    assert world.branch().read("a/b") == b"x"
    with pytest.raises(NotFound):
        world.branch().end_multipart("a/b", upload)


@pytest.mark.parametrize(
    "parts", [[], [(1, "other")], [(2, "sha256:")], [(1, "{}"), (1, "{}")], [(2, "{}"), (1, "{}")], [(3, "x")]]
)
def test_wrong_parts_are_refused(world: World, upload: str, parts: list[tuple[int, str]]) -> None:
    stored = world.branch().upload_part("a/b", upload, 1, b"x")
    with pytest.raises(InvalidInput) as caught:
        world.branch().assemble_multipart("a/b", upload, [(n, text.format(stored.checksum)) for n, text in parts])
    assert caught.value.kind is Kind.PartMismatch


def test_an_upload_belongs_to_its_branch_and_path(world: World, upload: str) -> None:
    world.graveler().repository("repo").create_branch("dev", "main")
    calls = [
        lambda: world.branch().upload_part("other", upload, 1, b"x"),
        lambda: world.graveler().repository("repo").branch("dev").upload_part("a/b", upload, 1, b"x"),
        lambda: world.branch().uploaded_parts("a/b", "0" * 32),
        lambda: world.branch().uploaded_parts("a/b", "../x"),
        lambda: world.branch().end_multipart("a", upload),
        lambda: world.branch().assemble_multipart("a", upload, [(1, "x")]),
    ]
    for call in calls:
        with pytest.raises(NotFound) as caught:
            call()
        assert caught.value.kind is Kind.UploadNotFound
    for number in (0, -1, multipart.MAX_PARTS + 1):
        with pytest.raises(InvalidInput, match="part number"):
            world.branch().upload_part("a/b", upload, number, b"x")
    assert [each.id for each in world.graveler().repository("repo").multipart_uploads()] == [upload]


def test_a_damaged_upload_is_left_out_of_the_list(world: World, upload: str) -> None:
    other = world.branch().begin_multipart("c")
    where = keys.uploads(uploads(world).repository).at(upload)
    world.kv.set(where.partition, where.key, b"junk")
    assert [each.id for each in world.graveler().repository("repo").multipart_uploads()] == [other]


def test_an_end_at_any_call_of_another_flow_leaves_nothing(world: World) -> None:
    for flow in ("part", "assemble"):
        for call in range(40):
            kv = Interposed(world.kv)
            branch, other = world.branch(kv), world.branch()
            id = other.begin_multipart("p")
            stored = other.upload_part("p", id, 1, b"x")
            before = set(leftovers(world)[0])
            kv.reset()
            kv.before[call] = lambda other=other, id=id: other.end_multipart("p", id)
            made = None
            try:
                if flow == "part":
                    branch.upload_part("p", id, 2, b"y")
                else:
                    made = branch.assemble_multipart("p", id, [(1, stored.checksum)])
            except NotFound as e:
                assert e.kind is Kind.UploadNotFound  # noqa: PT017
            if len(kv.verbs) <= call:
                other.end_multipart("p", id)
                break
            assert leftovers(world)[1] == 0, (flow, call)
            kept = set(leftovers(world)[0]) - before
            assert kept <= ({made.address} if made else set()), (flow, call)
        else:
            raise AssertionError("raise the number of calls")


@pytest.mark.parametrize("ends", [False, True])
def test_of_several_assemblies_at_the_same_time_the_first_returns_an_entry(
    world: World, upload: str, monkeypatch: pytest.MonkeyPatch, *, ends: bool
) -> None:
    """The others leave no object."""
    late, first, made = world.branch(), world.branch(), list[Entry]()
    wanted = [(1, first.upload_part("a/b", upload, 1, b"x").checksum)]
    real = multipart._content

    def overtaken(*arguments: Any) -> Iterator[bytes]:
        yield from real(*arguments)
        monkeypatch.setattr(multipart, "_content", real)
        made.append(first.assemble_multipart("a/b", upload, wanted))
        if ends:
            first.stage("a/b", made[0])
            first.end_multipart("a/b", upload)

    monkeypatch.setattr(multipart, "_content", overtaken)
    with pytest.raises((NotFound, SlowDown)) as refused:
        late.assemble_multipart("a/b", upload, wanted)
    assert refused.value.kind is (Kind.UploadNotFound if ends else Kind.RetriesExhausted)
    objects, records = leftovers(world)
    assert [name for name in objects if upload not in name] == [made[0].address]
    assert records == (0 if ends else 2)
    if not ends:
        (shown,) = world.graveler().repository("repo").multipart_uploads()
        assert shown.id == upload
        assert late.assemble_multipart("a/b", upload, wanted).size == 1


def test_an_assembly_at_any_call_of_an_end_does_not_keep_the_upload(world: World) -> None:
    for call in range(40):
        kv = Interposed(world.kv)
        branch, other = world.branch(kv), world.branch()
        id = other.begin_multipart("p")
        wanted = [(1, other.upload_part("p", id, 1, b"x").checksum)]
        kv.reset()

        def assembled(other: Branch = other, id: str = id, wanted: list[tuple[int, str]] = wanted) -> None:
            with suppress(NotFound, InvalidInput):
                other.assemble_multipart("p", id, wanted)

        kv.before[call] = assembled
        branch.end_multipart("p", id)
        assert leftovers(world)[1] == 0, call
        if len(kv.verbs) <= call:
            return
    raise AssertionError("raise the number of calls")


def test_parts_are_listed_only_if_the_upload_is_still_there(world: World) -> None:
    for call in range(40):
        kv = Interposed(world.kv)
        branch, other = world.branch(kv), world.branch()
        id = other.begin_multipart("p")
        for number in (1, 2):
            other.upload_part("p", id, number, b"x")
        kv.reset()
        kv.before[call] = lambda other=other, id=id: other.end_multipart("p", id)
        try:
            assert [part.number for part in branch.uploaded_parts("p", id)] == [1, 2]
            ended = False
        except NotFound as e:
            assert e.kind is Kind.UploadNotFound  # noqa: PT017
            ended = True
        assert ended == (len(kv.verbs) > call), call
        if not ended:
            return
    raise AssertionError("raise the number of calls")


def test_a_sweep_gives_up_what_nobody_ends_and_orphaned_parts(world: World, upload: str) -> None:
    world.branch().upload_part("a/b", upload, 1, b"x")
    found = uploads(world)
    orphan = keys.upload_part(found.repository, "f" * 32, 1)
    access.write(world.kv, orphan, found.parts(upload)[1])
    assert purge(found, world.clock.now() - timedelta(days=1), 100, dry_run=False).young == 1
    assert leftovers(world)[1] == 3
    done = purge(found, world.clock.now(), 100, dry_run=False)
    assert (done.uploads, done.blobs) == (1, 1)
    assert leftovers(world) == ([], 1)  # the record stays until no delayed request can arrive
    with pytest.raises(NotFound):
        world.branch().assemble_multipart("a/b", upload, [(1, "x")])


def test_protected_and_missing_branches_take_no_uploads(world: World) -> None:
    world.graveler().repository("repo").protect("main")
    with pytest.raises(PermissionDenied):
        world.branch().begin_multipart("a")
    with pytest.raises(InvalidInput):
        world.branch().begin_multipart("a//")
