"""Objects that were read, in files of a local directory that several processes may share. Needs no coherency.

    <directory>/<2 hex digits>/<62>     the hash of the object's URI: checksum of URI and content (16 bytes), content
    <directory>/writing/<uuid>          a file that is not yet whole

A file appears under its name at once and in whole, and is believed only where its checksum fits: whatever else is there
counts as nothing and goes. What was used longest ago goes when the bytes pass the bound; files bear the time of their
last use for that. A directory that cannot be read or written makes nothing fail: it only keeps nothing.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import xxhash

from graveler_core.errors import InvalidInput

DEFAULT_BYTES: Final = 10 << 30
_SHARE = 8
"""One object takes so small a part of the bound at most, and so much is written between two counts of what is there."""
_CHECKSUM_BYTES: Final = 16
_WRITING: Final = "writing"
_ABANDONED_SECONDS: Final = 3_600
"""A file that has not become whole in this time never will."""


class DiskCache:
    """At most `max_bytes` of content; each further process that writes at the same time may add an eighth of that.

    Thread-safe. Two that miss the same object may both read and keep it.
    """

    def __init__(self, directory: str | os.PathLike[str], max_bytes: int = DEFAULT_BYTES) -> None:
        if max_bytes < 1:
            raise InvalidInput(f"cache of {max_bytes} bytes: must be at least 1")
        self._directory = Path(directory).absolute()
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._uncounted = max_bytes
        """Bytes written since what is there was counted: at first nobody knows."""

    def get(self, uri: str) -> bytes | None:
        """The content of an object, or None where it is not here or not whole."""
        path = self._path(uri)
        try:
            with path.open("rb") as file:
                checksum, content = file.read(_CHECKSUM_BYTES), file.read()
        except OSError:
            return None
        if checksum != _checksum(uri, content):
            self.drop(uri)
            return None
        with suppress(OSError):  # somebody else let it go meanwhile
            os.utime(path)
        return content

    def put(self, uri: str, content: bytes) -> None:
        """Keep the content of an object, unless it is larger than an eighth of the bound."""
        size = _CHECKSUM_BYTES + len(content)
        if size > self._max_bytes // _SHARE:
            return
        with suppress(OSError):  # full, or not ours to write: what is not kept is read again
            self._write(self._path(uri), _checksum(uri, content), content)
            with self._lock:
                self._uncounted += size
                if self._uncounted > self._max_bytes // _SHARE:
                    self._uncounted = 0
                    self._make_room()

    def describe(self) -> dict[str, str | int]:
        """Where it is, and how many bytes it may hold."""
        return {"directory": str(self._directory), "max_bytes": self._max_bytes}

    def drop(self, uri: str) -> None:
        """Keep an object no longer."""
        with suppress(OSError):
            self._path(uri).unlink(missing_ok=True)

    def _path(self, uri: str) -> Path:
        name = hashlib.blake2b(uri.encode(), digest_size=32).hexdigest()
        return self._directory / name[:2] / name[2:]

    def _write(self, path: Path, checksum: bytes, content: bytes) -> None:
        unfinished = self._directory / _WRITING / uuid.uuid4().hex
        for directory in (self._directory, unfinished.parent, path.parent):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with unfinished.open("xb") as file:
                file.write(checksum)
                file.write(content)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    def _make_room(self) -> None:
        """Let go of what was used longest ago, until an eighth of the bound is free."""
        files = sorted((info.st_mtime_ns, info.st_size, path) for path, info in self._files())
        left = sum(size for _, size, _ in files) - (self._max_bytes - self._max_bytes // _SHARE)
        for _, size, path in files:
            if left <= 0:
                return
            with suppress(OSError):
                path.unlink(missing_ok=True)
            left -= size

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """All files, without those that are being written; what was given up in the middle of writing goes."""
        for path in self._directory.glob("*/*"):
            with suppress(OSError):  # gone meanwhile
                info = path.stat()
                if path.parent.name != _WRITING:
                    yield path, info
                elif info.st_mtime < time.time() - _ABANDONED_SECONDS:
                    path.unlink()


def _checksum(uri: str, content: bytes) -> bytes:
    """Of the URI too: a file under another's name is none."""
    hashed = xxhash.xxh3_128(uri.encode() + b"\0")
    hashed.update(content)
    return hashed.digest()
