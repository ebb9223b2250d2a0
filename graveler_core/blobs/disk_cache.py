"""Cache of objects in files of a local directory, which several processes may share without coordination.

    <directory>/<2 hex digits>/<62>     the hash of the object's URI: checksum of URI and content (16 bytes), content
    <directory>/writing/<uuid>          an incomplete file

A file gets its name only when it is complete. It is used only if its checksum is right. Otherwise it is ignored and
deleted. Files with other names than these are neither counted nor deleted, so that a directory with files of others is
safe.
When the total size exceeds the limit, the least recently used files are deleted; the modification time of a file is the
time of its last use. If the directory cannot be read or written, nothing fails and nothing is cached.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import xxhash

from graveler_core.errors import InvalidInput
from graveler_core.model.forks import ForkSafe

DEFAULT_BYTES: Final = 10 << 30
_SHARE = 8
"""Divisor of the size limit. One object may use this fraction of the limit. The size of the directory is measured again
when this fraction of the limit was written.
"""
_CHECKSUM_BYTES: Final = 16
_WRITING: Final = "writing"
_COMPLETE = re.compile(r"[0-9a-f]{2}/[0-9a-f]{62}")
"""Name of a complete file, with that of its directory."""
_INCOMPLETE = re.compile(_WRITING + r"/[0-9a-f]{32}")
_ABANDONED_SECONDS: Final = 3_600
"""Age in seconds after which an incomplete file counts as abandoned."""


class DiskCache(ForkSafe):
    """Cache of at most `max_bytes` of content, plus an eighth of that for each further process that writes at the same
    time.

    Thread-safe. If two threads or processes miss the same object, both may read and cache it.
    """

    def __init__(self, directory: str | os.PathLike[str], max_bytes: int = DEFAULT_BYTES) -> None:
        if max_bytes < 1:
            raise InvalidInput(f"cache of {max_bytes} bytes: the size must be at least 1")
        self._directory = Path(directory).absolute()
        self._max_bytes = max_bytes
        super().__init__()
        self._uncounted = max_bytes
        """Number of bytes written since the last measurement; unknown at first."""

    def get(self, uri: str) -> bytes | None:
        """Return the content of an object, or `None` if it is not cached or damaged."""
        path = self._path(uri)
        try:
            with path.open("rb") as file:
                checksum, content = file.read(_CHECKSUM_BYTES), file.read()
        except OSError:
            return None
        if checksum != _checksum(uri, content):
            self.drop(uri)
            return None
        with suppress(OSError):  # another process may have deleted it
            os.utime(path)
        return content

    def put(self, uri: str, content: bytes) -> None:
        """Cache the content of an object unless it is larger than an eighth of the limit."""
        size = _CHECKSUM_BYTES + len(content)
        if size > self._max_bytes // _SHARE:
            return
        with suppress(OSError):  # The disk is full or not writable; the object is not cached and will be read again.
            self._write(self._path(uri), _checksum(uri, content), content)
            with self._lock:
                self._uncounted += size
                if self._uncounted > self._max_bytes // _SHARE:
                    self._uncounted = 0
                    self._make_room()

    def describe(self) -> dict[str, str | int]:
        """Return the directory and the size limit."""
        return {"directory": str(self._directory), "max_bytes": self._max_bytes}

    def drop(self, uri: str) -> None:
        """Remove an object from the cache."""
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
        """Delete the least recently used files until an eighth of the limit is free."""
        files = sorted((info.st_mtime_ns, info.st_size, path) for path, info in self._files())
        left = sum(size for _, size, _ in files) - (self._max_bytes - self._max_bytes // _SHARE)
        for _, size, path in files:
            if left <= 0:
                return
            with suppress(OSError):
                path.unlink(missing_ok=True)
            left -= size

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Yield all complete files, and delete abandoned incomplete ones. Ignore files that the cache did not write."""
        for path in self._directory.glob("*/*"):
            name = f"{path.parent.name}/{path.name}"
            with suppress(OSError):  # another process has deleted it
                if _COMPLETE.fullmatch(name):
                    yield path, path.stat()
                elif _INCOMPLETE.fullmatch(name) and path.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                    path.unlink()


def _checksum(uri: str, content: bytes) -> bytes:
    """Return the checksum of content and URI, so that a file under another object's name is not used."""
    hashed = xxhash.xxh3_128(uri.encode() + b"\0")
    hashed.update(content)
    return hashed.digest()
