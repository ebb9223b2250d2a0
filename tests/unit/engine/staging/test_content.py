"""Sources of content: bytes, files and iterables give the same parts, and anything else is refused."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.blobs.open import open_blobs
from graveler_core.engine.staging import content
from graveler_core.engine.staging.content import Content, ContentSource, upload
from graveler_core.errors import InvalidInput, NotFound, OutcomeUnknown, PermissionDenied, Unavailable
from graveler_core.testing.counting_blobs import CountingBlobs
from tests.unit.engine.world import World

PART = 64


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "PART_BYTES", PART)


class Dripping(io.RawIOBase):
    """A file that returns few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self._rest = data

    def read(self, size: int = -1, /) -> bytes:
        given, self._rest = self._rest[:7], self._rest[7:]
        return given


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    yield b""
    for start in range(0, len(data), size):
        yield data[start : start + size]


@given(data=st.binary(max_size=5 * PART), size=st.integers(1, 3 * PART))
def test_parts_hold_what_the_source_holds(data: bytes, size: int) -> None:
    """On both sides of the size of one part: by one request or in parts, from every kind of source."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(content, "PART_BYTES", PART)
        sources: list[ContentSource] = [
            data,
            bytearray(data),
            memoryview(data),
            io.BytesIO(data),
            Dripping(data),
            pieces(data, size),
            list(pieces(data, size)),
        ]
        for number, source in enumerate(sources):
            blobs = CountingBlobs(open_blobs("memory://content"))
            address = f"data/{hashlib.sha256(data).hexdigest()}-{size}-{number}"
            blobs.delete(address)
            blobs.reset()
            stored = upload(blobs, address, Content(source))
            assert blobs.calls == {"upload" if len(data) > PART else "create": 1}
            assert blobs.read(address) == data
            assert (stored.size, stored.checksum) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
        parts = [len(part) for part in Content(pieces(data, size)).parts()]
        assert all(part == PART for part in parts[:-1])
        assert all(0 < part <= PART for part in parts[-1:])


@pytest.mark.parametrize("source", ["text", 5, None, object()], ids=lambda source: type(source).__name__)
def test_other_sources_are_refused(source: Any) -> None:
    with pytest.raises(InvalidInput, match=f"content of type {type(source).__name__}: must be bytes, a file opened"):
        Content(source)


@pytest.mark.parametrize(
    "source",
    [io.StringIO("text"), ["text"], [5], iter([b"x", None])],
    ids=["file", "texts", "numbers", "bytes and None"],
)
def test_sources_of_something_else_are_refused(source: Any) -> None:
    world = World()
    world.repository()
    branch = world.graveler().repository("repo").branch("main")
    with pytest.raises(InvalidInput, match="part of content of type"):
        branch.put("a", source)
    assert list(branch.list()) == []


def test_a_store_that_gives_no_answer_means_that_nothing_is_staged() -> None:
    """Nothing refers to the object, so the outcome of the put is known."""
    for data in (b"x", b"x" * 200):
        lost = CountingBlobs(open_blobs("memory://content"), lambda verb, address: OutcomeUnknown("no answer"))
        with pytest.raises(Unavailable, match="upload failed, nothing is staged: no answer"):
            upload(lost, "data/lost", Content(data))


def test_a_source_that_fails_stages_nothing() -> None:
    world = World()
    world.repository()
    branch = world.graveler().repository("repo").branch("main")

    def failing() -> Iterable[bytes]:
        yield b"x" * 200
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        branch.put("a", failing())
    assert list(branch.list()) == []


def test_a_source_that_fails_during_another_change_raises_its_own_error() -> None:
    world = World()
    world.repository()
    branch = world.graveler().repository("repo").branch("main")

    def failing() -> Iterable[bytes]:
        yield b"x"
        other = world.graveler().repository("repo").branch("main")
        other.put("b", b"b")
        other.commit("While content arrives")
        raise Unavailable("the source failed")

    with pytest.raises(Unavailable, match="the source failed"):
        branch.put("a", failing())
    assert [entry.path for entry in branch.list()] == ["b"]


def test_checksum_and_metadata_may_be_known_after_the_content() -> None:
    world = World()
    world.repository()
    branch = world.graveler().repository("repo").branch("main")
    read: list[bytes] = []

    def content() -> Iterable[bytes]:
        for piece in (b"x" * 100, b"y" * 100):
            read.append(piece)
            yield piece

    entry = branch.put(
        "a", content(), checksum=lambda: f"pieces:{len(read)}", metadata=lambda checksum: {"made": f"{checksum}!"}
    )
    assert (entry.checksum, entry.metadata) == ("pieces:2", {"made": "pieces:2!"})
    again = branch.upload("a", b"z", metadata=lambda checksum: {"made": checksum[:7]})
    assert again.metadata == {"made": "sha256:"}


def test_nothing_is_read_for_a_protected_branch() -> None:
    world = World()
    world.repository()
    repo = world.graveler().repository("repo")
    branch = repo.branch("main")
    branch.put("before", b"x")  # now the branch is cached
    world.graveler().repository("repo").protect("main")
    unread = iter([b"x"])
    with pytest.raises(PermissionDenied, match="blocks write"):
        branch.upload("a", unread, to_stage=True)
    with pytest.raises(PermissionDenied, match="blocks write"):
        repo.branch("main").put("a", unread)
    assert list(unread) == [b"x"]
    assert branch.upload("a", b"x").size == 1


def created_again(world: World) -> None:
    other = world.graveler()
    other.delete_repository("repo")
    other.create_repository("repo", world.namespace(world.ids.fresh()))


def test_a_file_is_read_again_for_a_repository_that_was_created_again() -> None:
    """From the position at which it was read before."""
    world = World()
    world.repository()
    branch = world.branch()
    branch.put("before", b"x")  # now the branch is cached
    created_again(world)
    file = io.BytesIO(b"skipped, content" * 20)
    file.seek(9)
    branch.put("a", file)
    assert world.branch().read("a") == file.getvalue()[9:]
    assert [entry.path for entry in world.branch().list()] == ["a"]


@pytest.mark.parametrize("source", ["iterator", "file that cannot seek", "file with a checksum of the caller"])
def test_content_that_can_be_read_once_is_refused_if_the_repository_was_created_again(source: str) -> None:
    """The record is in the repository that was deleted. The next call knows the new one."""
    world = World()
    world.repository()
    branch = world.branch()
    branch.put("before", b"x")
    created_again(world)

    def put() -> None:
        if source == "iterator":
            branch.put("a", pieces(b"content", 3))
        elif source == "file that cannot seek":
            branch.put("a", Dripping(b"content"))
        else:
            branch.put("a", io.BytesIO(b"content"), checksum=lambda: "of:what was read")

    with pytest.raises(OutcomeUnknown, match="created again, and the content cannot be read a second time"):
        put()
    assert list(world.branch().list()) == []
    put()
    assert world.branch().read("a") == b"content"


def test_a_repository_that_is_created_again_during_an_upload() -> None:
    world = World()
    world.repository()
    branch = world.branch()

    def interrupted() -> Iterable[bytes]:
        yield b"first"
        created_again(world)
        yield b"second"

    with pytest.raises(OutcomeUnknown, match="created again"):
        branch.put("a", interrupted())
    with pytest.raises(NotFound, match="created again"):
        branch.put("a", interrupted(), if_absent=True)
    assert list(world.branch().list()) == []
