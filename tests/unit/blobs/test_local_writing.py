"""Tests of local writes that succeed, break off, or are refused by the operating system."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from graveler_core.blobs.addresses import TEMPORARY
from graveler_core.blobs.local import LocalBlobs
from graveler_core.blobs.open import open_blobs
from graveler_core.errors import Kind, OutcomeUnknown, Unavailable
from graveler_core.model.address import namespace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "repo"


@pytest.fixture
def blobs(root: Path) -> LocalBlobs:
    return LocalBlobs(namespace(root.as_uri()))


def _addresses(blobs: LocalBlobs) -> list[str]:
    return [info.address for info in blobs.list()]


class _Calls:
    """What the operating system was asked, in order, by the kind of thing it was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[str] = []
        self.fail_at = 0
        for name in ("write", "fsync", "link", "unlink", "mkdir"):
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, call):  # type: ignore[no-untyped-def]
        def watched(*args, **kwargs):  # type: ignore[no-untyped-def]
            is_directory = name == "fsync" and stat.S_ISDIR(os.fstat(args[0]).st_mode)
            self.made.append(name + (" directory" if is_directory else ""))
            if len(self.made) == self.fail_at:
                raise OSError(errno.EIO, "input/output error")
            return call(*args, **kwargs)

        return watched


def test_durable_writing_syncs_before_it_shows(blobs: LocalBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs.create("d/first", b"1")
    calls = _Calls(monkeypatch)
    assert blobs.create("d/a", b"1")
    assert calls.made == ["write", "fsync", "link", "unlink", "fsync directory"]


def test_durable_writing_syncs_new_directories(blobs: LocalBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _Calls(monkeypatch)
    assert blobs.create("d/e/a", b"1")
    first_write = calls.made.index("write")
    assert calls.made[:first_write].count("mkdir") == 4  # namespace, temporaries, d, e
    for n, call in enumerate(calls.made[:first_write]):
        assert call != "mkdir" or "fsync directory" in calls.made[n:first_write]


def test_what_is_seen_as_existing_is_durable(root: Path, blobs: LocalBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    LocalBlobs(namespace(root.as_uri()), durable=False).create("a", b"1")
    blobs.create("other", b"1")
    calls = _Calls(monkeypatch)
    assert blobs.create("a", b"1") is False
    assert calls.made == ["fsync", "fsync directory"]


def test_without_durable_nothing_is_synced(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _Calls(monkeypatch)
    blobs = open_blobs(root.as_uri(), durable=False)
    assert blobs.create("d/a", b"1")
    assert blobs.create("d/a", b"1") is False
    assert not [call for call in calls.made if call.startswith("fsync")]


def test_a_failure_anywhere_leaves_all_or_nothing(tmp_path: Path) -> None:
    """Fail each call of a first write in turn: an error of ours, no half object, and the next try succeeds."""
    outcomes = []
    for n in range(1, 40):
        place = tmp_path / str(n)
        blobs = LocalBlobs(namespace(place.as_uri()))
        with pytest.MonkeyPatch.context() as patch:
            calls = _Calls(patch)
            calls.fail_at = n
            try:
                blobs.create("d/a", b"content")
            except (Unavailable, OutcomeUnknown) as e:
                outcomes.append((calls.made[-1] if len(calls.made) == n else calls.made[n - 1], type(e)))
            else:
                break
        visible = _addresses(blobs)
        assert visible in ([], ["d/a"])
        created = LocalBlobs(namespace(place.as_uri())).create("d/a", b"content")
        assert created is (visible == [])
        assert blobs.read("d/a") == b"content"
    assert {"write", "fsync", "link", "mkdir", "fsync directory"} <= {call for call, _ in outcomes}
    assert outcomes[-1] == ("fsync directory", OutcomeUnknown)


def test_leftovers_of_a_crash_are_never_seen_and_swept(root: Path, blobs: LocalBlobs) -> None:
    temporaries = root / TEMPORARY
    temporaries.mkdir(parents=True)
    (temporaries / "young").write_bytes(b"half")
    (temporaries / "old").write_bytes(b"half")
    day_before_yesterday = (temporaries / "young").stat().st_mtime - 2 * 86400
    os.utime(temporaries / "old", (day_before_yesterday, day_before_yesterday))
    assert _addresses(blobs) == []
    blobs.create("a", b"1")
    assert _addresses(blobs) == ["a"]
    assert [p.name for p in temporaries.iterdir()] == ["young"]


def test_killed_in_mid_write_shows_nothing(root: Path, blobs: LocalBlobs) -> None:
    """A real process that dies between write and link."""
    script = f"""
import os
from graveler_core.blobs.open import open_blobs
os.link = lambda *a, **k: os.kill(os.getpid(), 9)
open_blobs({root.as_uri()!r}).create("a", b"half")
"""
    ended = subprocess.run([sys.executable, "-c", script], check=False)
    assert ended.returncode == -9
    assert len(list((root / TEMPORARY).iterdir())) == 1
    assert _addresses(blobs) == []
    assert blobs.create("a", b"whole")
    assert blobs.read("a") == b"whole"


def _errors(script: str) -> list[str]:
    """Run a script in a process of its own; the errors of ours that it caught: class, kind, message."""
    prelude = """
import os, resource
from graveler_core.blobs.open import open_blobs
from graveler_core.errors import GravelerError
def tried(f, *args):
    try:
        print("fine", f(*args))
    except GravelerError as e:
        print(type(e).__name__, e.kind, e.message)
"""
    done = subprocess.run([sys.executable, "-c", prelude + script], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_no_room(root: Path, blobs: LocalBlobs) -> None:
    """The kernel really refuses the bytes: a process may write no more than 1,000 to a file."""
    lines = _errors(f"""
blobs = open_blobs({root.as_uri()!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
tried(blobs.create, "large", b"x" * 5000)
tried(blobs.create, "small", b"x" * 500)
""")
    assert lines[0].startswith(f"Unavailable StoreFull cannot write {root.as_uri()}/large: ")
    assert lines[1] == "fine True"
    assert _addresses(blobs) == ["small"]
    assert list((root / TEMPORARY).iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("call", ["write", "fsync", "mkdir"])
def test_a_full_disk(blobs: LocalBlobs, monkeypatch: pytest.MonkeyPatch, call: str, number: int) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(number, "whatever the system says")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(Unavailable) as caught:
            blobs.create("d/a", b"1")
    assert caught.value.kind is Kind.StoreFull
    assert _addresses(blobs) == []
    assert blobs.create("d/a", b"1")


@pytest.fixture
def everyones() -> Iterator[Path]:
    """A directory that other users can reach: pytest's own are closed to them."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def test_no_permission(everyones: Path) -> None:
    """Really refused by the kernel; root, whom permissions do not bind, becomes someone else first."""
    root = everyones / "repo"
    blobs = LocalBlobs(namespace(root.as_uri()))
    blobs.create("a", b"1")
    blobs.create("closed/a", b"1")
    os.chmod(root / "closed", 0)
    os.chmod(root, 0o555)
    os.chmod(root / TEMPORARY, 0o555)
    lines = _errors(f"""
os.geteuid() == 0 and os.setresuid(65534, 65534, 65534)
blobs = open_blobs({root.as_uri()!r})
tried(blobs.read, "a")
tried(blobs.create, "b", b"1")
tried(blobs.create, "d/b", b"1")
tried(blobs.delete, "a")
tried(blobs.read, "closed/a")
tried(list, blobs.list())
""")
    os.chmod(root, 0o755)
    os.chmod(root / "closed", 0o755)
    assert lines[0] == "fine b'1'"
    assert [line.split()[:2] for line in lines[1:]] == [
        ["Unavailable", "StoreReadOnly"],
        ["Unavailable", "StoreReadOnly"],
        ["Unavailable", "StoreReadOnly"],
        ["Unavailable", "PermissionDenied"],
        ["Unavailable", "PermissionDenied"],
    ]
    assert _addresses(blobs) == ["a", "closed/a"]


def test_a_read_only_file_system(blobs: LocalBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "read-only file system")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(Unavailable) as caught:
        blobs.create("a", b"1")
    assert caught.value.kind is Kind.StoreReadOnly
