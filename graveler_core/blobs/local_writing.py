"""One new file in a local directory: all of it under its name, or nothing; never over another."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from graveler_core.blobs.addresses import TEMPORARY
from graveler_core.blobs.local_paths import make_directories, opened_directory, refuse_link
from graveler_core.errors import InvalidInput, OutcomeUnknown

_UNFINISHED_SECONDS = 24 * 3600
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_KNOWN = 10_000


class LocalWriter:
    """Creates files below a root. Keeps which directories it has made sure of, so that each is synced once."""

    def __init__(self, root: str, durable: bool) -> None:
        self._root = root
        self._durable = durable
        self._known: set[str] = set()

    def create(self, address: str, content: memoryview) -> bool:
        """Write `content` to a temporary file and link it to its address; False where the address was taken."""
        try:
            return self._create(address, content)
        except FileNotFoundError:
            # Someone removed directories that we had made sure of.
            self._known.clear()
            return self._create(address, content)

    def _create(self, address: str, content: memoryview) -> bool:
        above, _, name = address.rpartition("/")
        parts = above.split("/") if above else []
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
        """Whether there is a file. It is made durable before that is said: its writer may not have come to it."""
        try:
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(found.st_mode):
            refuse_link(directory, name)
            raise InvalidInput(f"{name!r} is a directory: no object can bear its name", address=name)
        if self._durable:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            os.fsync(directory)
        return True

    @contextmanager
    def _written(self, content: memoryview) -> Iterator[tuple[int, str]]:
        """A temporary file with the content, gone afterwards: the directory's descriptor and the name."""
        name = uuid.uuid4().hex
        with opened_directory(self._root, [TEMPORARY]) as temporaries:
            fd = os.open(name, _NEW, 0o666, dir_fd=temporaries)
            try:
                try:
                    _write_all(fd, content)
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
            raise OutcomeUnknown(f"{address!r}: written, but a power cut may undo it ({why})", address=address) from e

    def _sweep_unfinished(self) -> None:
        """Remove what writers that died a day ago or earlier left behind."""
        with self._written(memoryview(b"")) as (temporaries, mine), suppress(FileNotFoundError):
            # The file system's clock, not ours: they may be those of two machines.
            now = os.stat(mine, dir_fd=temporaries).st_mtime
            for name in os.listdir(temporaries):
                with suppress(FileNotFoundError):
                    if os.stat(name, dir_fd=temporaries, follow_symlinks=False).st_mtime < now - _UNFINISHED_SECONDS:
                        os.unlink(name, dir_fd=temporaries)


def _write_all(fd: int, content: memoryview) -> None:
    while len(content):
        content = content[os.write(fd, content) :]
