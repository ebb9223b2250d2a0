"""Checksums that are computed in another thread: the same values, at most two blocks in memory, and no lost error."""

from __future__ import annotations

import hashlib
import random
import threading

import pytest

from graveler.server import overlapped_hashing
from graveler.server.overlapped_hashing import DownloadHashing, OverlappedHashing, UploadHashing


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 1_000, 1_050])
def test_checksums_are_those_of_the_content(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlapped_hashing, "BLOCK_BYTES", 100)
    monkeypatch.setattr(overlapped_hashing, "AT_ONCE_BYTES", 100)
    content, sha256 = random.Random(size).randbytes(size), hashlib.sha256()
    hashing = UploadHashing([sha256])
    assert b"".join(hashing.passing(content[at : at + 7] for at in range(0, size, 7))) == content
    assert hashing.md5() == hashlib.md5(content, usedforsecurity=False).digest()
    assert sha256.digest() == hashlib.sha256(content).digest()
    download = DownloadHashing()
    for at in range(0, size, 150):
        download.update(content[at : at + 150])
    assert download.hexdigest() == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(("size", "elsewhere"), [(99, False), (100, True)])
def test_large_blocks_are_hashed_in_another_thread(size: int, elsewhere: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlapped_hashing, "AT_ONCE_BYTES", 100)
    threads = list[threading.Thread]()

    class Watched(Slow):
        def update(self, data: bytes, /) -> None:
            threads.append(threading.current_thread())

    hashing = OverlappedHashing([Watched()])
    hashing.update(bytes(size))
    hashing.finish()
    assert [thread is not threading.current_thread() for thread in threads] == [elsewhere]


class Slow:
    """A checksum that waits until it may go on."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()

    def update(self, data: bytes, /) -> None:
        self.may_go_on.wait(30)

    def digest(self) -> bytes:
        return b""


def test_the_content_waits_for_its_checksums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlapped_hashing, "AT_ONCE_BYTES", 10)
    slow, passed = Slow(), threading.Semaphore(0)
    hashing = UploadHashing([slow])

    def add() -> None:
        for _ in range(5):
            hashing.update(b"x" * 10)
            passed.release()

    adding = threading.Thread(target=add)
    adding.start()
    assert passed.acquire(timeout=30)
    assert passed.acquire(timeout=30)  # one is hashed, and one waits
    assert not passed.acquire(timeout=0.1)
    slow.may_go_on.set()
    adding.join()
    assert hashing.md5() == hashlib.md5(b"x" * 50, usedforsecurity=False).digest()


class Failing(Slow):
    def update(self, data: bytes, /) -> None:
        raise MemoryError


def test_an_error_of_a_checksum_is_raised_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlapped_hashing, "AT_ONCE_BYTES", 10)
    hashing = OverlappedHashing([Failing()])
    for _ in range(4):
        hashing.update(b"x" * 10)
    with pytest.raises(MemoryError):
        hashing.finish()
