"""Placement of files in a directory by one rename, and their removal, if they have not changed since the scan."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, cast

from graveler_core.errors import Conflict, Kind
from graveler_core.facade.snapshot import Snapshot
from graveler_core.local.comparing import Digest
from graveler_core.local.index import FileState, temporary_file
from graveler_core.local.scanning import Skipped, Stamp, stamp_of
from graveler_core.model.entry import Entry

_UNFIT: Final = (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL)
"""Errors of file systems for names that they do not allow."""
_NOT_DISTINGUISHED: Final = (
    "the file system does not distinguish its name from one with other letters, such as capitals"
)


@dataclass(frozen=True, slots=True)
class Destination:
    """Directory that receives files during a command."""

    root: Path
    known: set[str] = field(default_factory=set)
    """Paths whose names on disk are known to be exactly these. They save listings of directories."""


def place(
    to: Destination,
    path: str,
    expected: Stamp | None,
    content: tuple[Snapshot, Entry],
    progress: Callable[[int], object],
) -> FileState | Skipped:
    """Download the content of an entry, and give it the name of a file.

    Args:
        to: The directory.
        path: Name of the file, relative to the directory.
        expected: Stamp of the file that is replaced. `None` if there must be no file.
        content: Snapshot and entry.
        progress: Function that is called with numbers of bytes.

    Returns:
        The state of the file, or why the file system cannot hold it.

    Raises:
        Conflict: (`LocalConflict`) the file was changed, or another file or directory has its name.
    """
    at, entry = content
    temporary = temporary_file(to.root)
    try:
        with temporary.open("xb") as file:
            digest = Digest(cast(BinaryIO, _Counted(file, progress)))
            at.download(entry.path, cast(BinaryIO, digest))
        if entry.mtime is not None:  # a later change then gives the file another time
            changed_at = round(entry.mtime.timestamp() * 1_000_000) * 1_000
            os.utime(temporary, ns=(changed_at, changed_at))
        found = temporary.stat()
        refusal = _named(temporary, to, path, expected)
    finally:
        temporary.unlink(missing_ok=True)
    if refusal:
        return Skipped(path, refusal)
    return FileState(found.st_size, found.st_mtime_ns, digest.checksum, entry.identity.hex())


def remove(root: Path, path: str, expected: Stamp) -> None:
    """Remove a file, and the directories that become empty.

    Raises:
        Conflict: (`LocalConflict`) the file was changed.
    """
    file = root / path
    if not _is_within(root, path) or stamp_of(file) != expected:
        raise changed(file)
    file.unlink()
    for above in file.relative_to(root).parents:
        if above == Path("."):
            break
        try:
            (root / above).rmdir()
        except OSError:
            break


def changed(file: Path) -> Conflict:
    """Return the error for a file that changed during a command."""
    return Conflict(
        f"file {str(file)!r}: was changed while graveler was at work, and is left as it is; repeat the command",
        kind=Kind.LocalConflict,
    )


class _Counted:
    def __init__(self, file: BinaryIO, progress: Callable[[int], object]) -> None:
        self._file, self._progress = file, progress

    def write(self, data: bytes) -> int:
        self._progress(len(data))
        return self._file.write(data)


def _named(temporary: Path, to: Destination, path: str, expected: Stamp | None) -> str:
    """Give a file its name, and return "". Or return why the file system cannot hold a file of this name."""
    file = to.root / path
    try:
        if not _has_directories(to, path):
            return _NOT_DISTINGUISHED
        _rename(temporary, file, expected)
    except OSError as e:
        if e.errno not in _UNFIT:
            raise
        return f"the file system refuses the name ({e.strerror})"
    except Conflict:
        if expected is None and os.path.lexists(file) and file.name not in os.listdir(file.parent):
            return _NOT_DISTINGUISHED
        raise
    return ""


def _rename(temporary: Path, file: Path, expected: Stamp | None) -> None:
    if expected is not None:
        if stamp_of(file) != expected:
            raise changed(file)
        temporary.replace(file)
        return
    if _is_directory(file):
        _remove_empty(file)
    try:
        os.link(temporary, file)  # unlike a rename, this never replaces a file
        return
    except FileExistsError as e:
        raise _taken(file) from e
    except OSError:  # a file system without links
        if os.path.lexists(file):
            raise _taken(file) from None
    temporary.rename(file)


def _remove_empty(directory: Path) -> None:
    """Remove a directory that contains nothing but directories: an interrupted command may have left it."""
    for folder, _, _ in os.walk(directory, topdown=False):
        try:
            Path(folder).rmdir()
        except OSError as e:
            raise _taken(directory) from e


def _has_directories(to: Destination, path: str) -> bool:
    """Create the directories above a file. Return true if their names on disk are exactly those of the path."""
    at = to.root
    for name in path.split("/")[:-1]:
        at = at / name
        try:
            at.mkdir()
            to.known.add(str(at))
        except FileExistsError:  # a file system that ignores case may have "A" for "a"
            if str(at) not in to.known:
                to.known.update(str(at.parent / each) for each in os.listdir(at.parent))
            if str(at) not in to.known:
                return False
        if not _is_directory(at):  # such as a symbolic link that leads elsewhere
            raise _taken(at)
    return True


def _is_within(root: Path, path: str) -> bool:
    """Return whether only directories are between the root and a file, and no symbolic link that leads elsewhere."""
    return all(_is_directory(root / above) for above in Path(path).parents if above != Path("."))


def _is_directory(place: Path) -> bool:
    try:
        return stat.S_ISDIR(place.lstat().st_mode)
    except FileNotFoundError:
        return False


def _taken(file: Path) -> Conflict:
    return Conflict(
        f"{str(file)!r}: is in the way of a file of the repository, and is left as it is; move it, and repeat "
        "the command",
        kind=Kind.LocalConflict,
    )
