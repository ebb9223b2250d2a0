"""Files and directories below a root, opened name by name so that no symbolic link is ever followed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from graveler_core.blobs.port import BlobInfo
from graveler_core.errors import InvalidInput

_ROOT = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DIRECTORY = _ROOT | os.O_NOFOLLOW
# Not blocking: opening a named pipe that someone put there must not wait for its writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@contextmanager
def opened_directory(root: str, parts: Sequence[str]) -> Iterator[int]:
    """A descriptor of `root/parts…`; `FileNotFoundError` where that is no directory, `InvalidInput` at a link.

    The root itself may be a link, or lie behind one: it was chosen by whoever named the storage namespace.
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
    """A descriptor for reading the file at `address`; `FileNotFoundError` where there is no regular file."""
    *directories, name = address.split("/")
    with opened_directory(root, directories) as directory:
        fd = _file(directory, name)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _nothing()
        yield fd
    finally:
        os.close(fd)


def make_directories(root: str, parts: Sequence[str], durable: bool) -> None:
    """Make `root/parts…` where it is missing; with `durable`, sync each directory that has to remember another.

    Also where that one was there already: who made it may not have come to that yet.
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
    """`InvalidInput` if the name is a symbolic link."""
    if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
        raise InvalidInput(f"{name!r} is a symbolic link: none is followed inside a storage namespace", address=name)


def file_info(address: str, found: os.stat_result) -> BlobInfo:
    """The inode tells objects of one size apart; its times are left out because renewing changes them."""
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
        raise InvalidInput(f"{part!r} is an object: in a local directory none can lie below another", address=part)


def _sync_chain(lowest: str, highest: str) -> None:
    place = lowest
    while True:
        try:
            fd = os.open(place, _ROOT)
        except PermissionError:
            # A directory that was there before and that we may not read: whoever made what is in it could.
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
