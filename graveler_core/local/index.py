"""The index of a directory: the ref that it follows, and the state of each file when the two last agreed about it."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from graveler_core.errors import InvalidInput, SlowDown

try:
    import fcntl
except ImportError:  # not on this platform: commands in one directory are not kept apart
    fcntl = None  # type: ignore[assignment]

FOLDER: Final = ".graveler"
_INDEX: Final = "local.json"
_LOCK: Final = "local.lock"
_TEMPORARY: Final = "tmp"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class FileState:
    """A file and its entry when they agreed. The size -1 means that the file differed later: compare its content."""

    size: int
    mtime: int
    """Modification time in nanoseconds."""
    checksum: str
    """`sha256:` and the digest of the content in hexadecimal digits."""
    identity: str
    """Identity of the entry in hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class LocalWork:
    """Work of an interrupted command: a checkout or a commit."""

    commit: str = ""
    key: str = ""
    """Value of the metadata `local.KEY` of the commit that is made."""


@dataclass(frozen=True, slots=True)
class DirectoryIndex:
    """Ref that a directory follows, and the states of its files."""

    repository: str
    uid: str
    """Unique id of the repository."""
    ref: str
    prefix: str
    """Prefix of the paths, "" or with a final "/". Names of files are relative to it."""
    commit: str = ""
    """Commit that was brought or made last."""
    files: Mapping[str, FileState] = field(default_factory=dict)
    written: int = 0
    """Time in nanoseconds when the states were taken. Files that changed shortly before it or later are compared by
    content.
    """
    underway: LocalWork | None = None


def root_of(start: Path) -> Path:
    """Return the nearest directory, from `start` upwards, that has an index.

    Raises:
        InvalidInput: There is none.
    """
    start = start.absolute()
    for directory in (start, *start.parents):
        if (directory / FOLDER / _INDEX).is_file():
            return directory
    raise InvalidInput(f"directory {str(start)!r}: follows no branch, nor does one above it; see graveler local clone")


def has_index(root: Path) -> bool:
    """Return whether a directory has an index of its own."""
    return (root / FOLDER / _INDEX).is_file()


def read_index(root: Path) -> DirectoryIndex:
    """Read the index of a directory.

    Raises:
        InvalidInput: The file is damaged, or of a newer version.
    """
    file = root / FOLDER / _INDEX
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found.pop("version") != _VERSION:
            raise InvalidInput(f"index {str(file)!r}: was written by another version of graveler")
        files = {path: FileState(*state) for path, state in found.pop("files").items()}
        underway = found.pop("underway")
        return DirectoryIndex(**found, files=files, underway=None if underway is None else LocalWork(**underway))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise InvalidInput(
            f"index {str(file)!r}: cannot be read ({e}); move your changes away and clone into a new directory"
        ) from e


def write_index(root: Path, index: DirectoryIndex) -> None:
    """Replace the index of a directory. After a crash, the file is the complete new one or the former one."""
    states = {path: list(asdict(state).values()) for path, state in sorted(index.files.items())}
    underway = None if index.underway is None else asdict(index.underway)
    content = {name: getattr(index, name) for name in ("repository", "uid", "ref", "prefix", "commit", "written")}
    document = {"version": _VERSION, **content, "underway": underway, "files": states}
    temporary = temporary_file(root)
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False, indent=0)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(root / FOLDER / _INDEX)


def temporary_file(root: Path) -> Path:
    """Return a new name in the directory's own folder for a file that is not complete yet."""
    folder = root / FOLDER / _TEMPORARY
    folder.mkdir(parents=True, exist_ok=True)
    return folder / uuid.uuid4().hex


def remove_temporary_files(root: Path) -> None:
    """Remove the temporary files of interrupted commands. The caller must hold the lock."""
    with suppress(OSError):
        for left in (root / FOLDER / _TEMPORARY).iterdir():
            left.unlink()


def now() -> int:
    """Return the current time in nanoseconds since 1970, in the form of modification times."""
    return time.time_ns()


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the lock of a directory.

    Raises:
        SlowDown: Another command holds it.
        InvalidInput: The file system has no locks.
    """
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    with (root / FOLDER / _LOCK).open("a") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as e:
                raise SlowDown(f"directory {str(root)!r}: another graveler local command is at work in it") from e
            except OSError as e:
                raise InvalidInput(
                    f"directory {str(root)!r}: cannot be locked ({e}); use one on a file system that has locks"
                ) from e
        yield
