"""Creation of a file in a local directory: complete under its name or not at all, and never over another file."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from graveler_core.blobs.addresses import DATA, OWN, OWNERS, TEMPORARY
from graveler_core.blobs.local_paths import make_directories, opened_directory, refuse_link
from graveler_core.blobs.port import Data
from graveler_core.errors import InvalidInput, Kind, OutcomeUnknown, Unavailable

_UNFINISHED_SECONDS = 24 * 3600
_WRITE_BYTES = 256 << 10
"""Bytes of one call. With 1 MiB and more, Linux sometimes needs five times the processor time (ext4, kernel 6.18)."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_KNOWN = 10_000


class LocalWriter:
    """Creator of files below a root. Remembers the directories that it has synced."""

    def __init__(self, root: str, durable: bool) -> None:
        self._root = root
        self._durable = durable
        self._known: set[str] = set()

    def create(self, address: str, content: memoryview) -> bool:
        """Write `content` to a temporary file and link it to its address. Return false if the address is taken."""
        try:
            return self._create(address, [content])
        except FileNotFoundError:
            # Another process has removed directories that were known to exist.
            self._known.clear()
            return self._create(address, [content])

    def upload(self, address: str, parts: Iterable[Data]) -> bool:
        """Write parts to a temporary file and link it to its address. Return false if the address is taken."""
        self._known.clear()  # parts can be read only once, so the directories must exist
        return self._create(address, parts)

    def _create(self, address: str, content: Iterable[Data]) -> bool:
        above, _, name = address.rpartition("/")
        parts = above.split("/") if above else []
        if TEMPORARY not in self._known:
            self._require_mounted(address)
        self._make_sure_of(TEMPORARY, [TEMPORARY])
        self._make_sure_of(above, parts)
        with opened_directory(self._root, parts) as directory:
            if self._taken(directory, name):
                return False
            with self._written(content) as (temporaries, temporary):
                try:
                    os.link(temporary, name, src_dir_fd=temporaries, dst_dir_fd=directory, follow_symlinks=False)
                except FileExistsError:
                    if self._taken(directory, name):
                        return False
                    raise
            self._sync_new(directory, address)
        return True

    def _require_mounted(self, address: str) -> None:
        """Check that the directory of a repository is there. A missing or empty one may be that of another volume.

        The first object of a repository is its owner file.

        Raises:
            Unavailable: The directory has no files of a repository, and the object needs one.
        """
        needs_repository = address.startswith((DATA, OWN)) and not address.startswith(OWNERS)
        if needs_repository and not os.path.isdir(os.path.join(self._root, OWN)):
            raise Unavailable(
                f"cannot write {address!r}: the directory {self._root} does not contain {OWN}, which every repository "
                "has; the volume of the directory may not be mounted",
                kind=Kind.BucketNotFound,
                address=address,
            )

    def _make_sure_of(self, above: str, parts: list[str]) -> None:
        if above in self._known:
            return
        make_directories(self._root, parts, self._durable)
        if above == TEMPORARY:
            self._sweep_unfinished()
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known.add(above)

    def _taken(self, directory: int, name: str) -> bool:
        """Return true if the file exists. It is synced first, because its writer may not have done so yet."""
        try:
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(found.st_mode):
            refuse_link(directory, name)
            raise InvalidInput(f"{name!r} is a directory and cannot be the name of an object", address=name)
        if self._durable:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            os.fsync(directory)
        return True

    @contextmanager
    def _written(self, content: Iterable[Data]) -> Iterator[tuple[int, str]]:
        """Write a temporary file, which is deleted afterwards. Yields the descriptor of its directory and its name."""
        name = uuid.uuid4().hex
        with opened_directory(self._root, [TEMPORARY]) as temporaries:
            fd = os.open(name, _NEW, 0o666, dir_fd=temporaries)
            try:
                try:
                    for part in content:
                        _write_all(fd, memoryview(part).cast("B"))
                    if self._durable:
                        os.fsync(fd)
                finally:
                    os.close(fd)
                yield temporaries, name
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=temporaries)

    def _sync_new(self, directory: int, address: str) -> None:
        if not self._durable:
            return
        try:
            os.fsync(directory)
        except OSError as e:
            why = errno.errorcode.get(e.errno or 0, "")
            raise OutcomeUnknown(
                f"{address!r}: written, but a power failure may undo it ({why})", address=address
            ) from e

    def _sweep_unfinished(self) -> None:
        """Delete temporary files that are at least a day old."""
        with self._written([]) as (temporaries, mine), suppress(FileNotFoundError):
            # Use the clock of the file system, which may be that of another machine.
            now = os.stat(mine, dir_fd=temporaries).st_mtime
            for name in os.listdir(temporaries):
                with suppress(FileNotFoundError):
                    if os.stat(name, dir_fd=temporaries, follow_symlinks=False).st_mtime < now - _UNFINISHED_SECONDS:
                        os.unlink(name, dir_fd=temporaries)


def _write_all(fd: int, content: memoryview) -> None:
    while len(content):
        content = content[os.write(fd, content[:_WRITE_BYTES]) :]
