"""Files and directories below a root, opened name by name so that symbolic links are never followed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from graveler_core.blobs.port import CHUNK_BYTES, BlobInfo
from graveler_core.errors import InvalidInput

_ROOT = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DIRECTORY = _ROOT | os.O_NOFOLLOW
# Non-blocking, so that opening a named pipe does not wait for its writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@contextmanager
def opened_directory(root: str, parts: Sequence[str]) -> Iterator[int]:
    """Open the directory `root/parts…`. The root itself may be a link or be behind one.

    Raises:
        FileNotFoundError: There is no such directory.
        InvalidInput: A part is a symbolic link.
    """
    fd = os.open(root, _ROOT)
    try:
        for part in parts:
            inner = _inner_directory(fd, part)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


@contextmanager
def opened_file(root: str, address: str) -> Iterator[int]:
    """Open the file at `address` for reading.

    Raises:
        FileNotFoundError: There is no such regular file.
    """
    *directories, name = address.split("/")
    with opened_directory(root, directories) as directory:
        fd = _file(directory, name)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _nothing()
        yield fd
    finally:
        os.close(fd)


def file_chunks(fd: int) -> Iterator[bytes]:
    """Yield a whole file in chunks of `CHUNK_BYTES`. A file that grows meanwhile is read to its end."""
    at = 0
    while chunk := os.pread(fd, CHUNK_BYTES, at):
        yield chunk
        at += len(chunk)


def pread(fd: int, start: int, length: int) -> bytes:
    """Return at most `length` bytes from `start`: fewer if the file ends sooner."""
    length = min(length, max(0, os.fstat(fd).st_size - start))
    chunks = []
    while length > 0:
        chunk = os.pread(fd, length, start)
        if not chunk:
            break
        chunks.append(chunk)
        start += len(chunk)
        length -= len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def make_directories(root: str, parts: Sequence[str], durable: bool) -> None:
    """Create the missing directories of `root/parts…`. With `durable`, sync each directory that contains another one.

    Existing directories are synced too, because their creator may not have synced them yet.
    """
    existing = root
    while not os.path.isdir(existing) and existing != "/":
        existing = os.path.dirname(existing)
    if existing != root:
        os.makedirs(root, exist_ok=True)
    if durable:
        _sync_chain(root, os.path.dirname(existing))
    for depth, part in enumerate(parts):
        with opened_directory(root, parts[:depth]) as fd:
            try:
                os.mkdir(part, dir_fd=fd)
            except FileExistsError:
                _require_directory(fd, part)
            if durable:
                os.fsync(fd)


def refuse_link(directory: int, name: str) -> None:
    """Check that a name is not a symbolic link.

    Raises:
        InvalidInput: The name is a symbolic link.
    """
    if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
        raise InvalidInput(
            f"{name!r} is a symbolic link; links inside a storage namespace are not followed", address=name
        )


def file_info(address: str, found: os.stat_result) -> BlobInfo:
    """Return the metadata of a file. The inode distinguishes objects of equal size; times are excluded because renewals
    change them.
    """
    seconds, nanoseconds = divmod(found.st_mtime_ns, 1_000_000_000)
    mtime = datetime.fromtimestamp(seconds, UTC).replace(microsecond=nanoseconds // 1000)
    return BlobInfo(address, found.st_size, f"{found.st_ino:x}-{found.st_size:x}", mtime)


def _inner_directory(fd: int, part: str) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=fd)
    except OSError as e:
        if e.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        refuse_link(fd, part)
        raise _nothing() from None


def _file(directory: int, name: str) -> int:
    try:
        return os.open(name, _FILE, dir_fd=directory)
    except OSError as e:
        if e.errno == errno.ELOOP:
            refuse_link(directory, name)
        if e.errno == errno.ENXIO:  # a socket
            raise _nothing() from None
        raise


def _require_directory(fd: int, part: str) -> None:
    refuse_link(fd, part)
    if not stat.S_ISDIR(os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode):
        raise InvalidInput(
            f"{part!r} is an object; in a local directory, no object can be below another one", address=part
        )


def _sync_chain(lowest: str, highest: str) -> None:
    place = lowest
    while True:
        try:
            fd = os.open(place, _ROOT)
        except PermissionError:
            # This process may not read the directory, and has not changed it. The creator of its content could sync it.
            if place == highest:
                return
            raise
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        if place == highest:
            return
        place = os.path.dirname(place)


def _nothing() -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
