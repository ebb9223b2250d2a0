"""Local files that receive a download: their paths, and how each appears complete or stays as it was."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from graveler_core.errors import InvalidInput, Kind
from graveler_core.local.names import refusal_of_names


def local_path(path: str) -> Path:
    """Return the relative local path of a path.

    Raises:
        InvalidInput: The path would lead out of the directory, or has no name as a file.
    """
    reason = refusal_of_names(path)
    if reason:
        raise InvalidInput(f"path {path!r}: cannot be a local file, because {reason}", kind=Kind.InvalidPath)
    return Path(*path.split("/"))


def ignores_case(directory: Path) -> bool:
    """Return true if the file system of a directory does not distinguish capitals. The directory may be absent.

    Raises:
        OSError: A temporary file cannot be created in the directory or, if it is absent, in the nearest one above it.
    """
    existing = next(each for each in (directory, *directory.parents) if each.is_dir())
    file = existing / f".graveler-{uuid.uuid4().hex}"
    file.touch(exist_ok=False)
    try:
        return os.path.lexists(file.with_name(file.name.upper()))
    finally:
        file.unlink()


def require_distinct_files(
    places: Collection[tuple[str, str]], directory: Path, is_directory: Callable[[str], bool] = lambda path: False
) -> None:
    """Refuse to download two paths to one local file, also if only capitals differ and the file system ignores them.

    Args:
        places: Local files, each with the path that is downloaded to it.
        directory: Local directory that contains the files. It may be absent.
        is_directory: Returns true if a path becomes a directory. It is called only for what would be one file. One
            directory may receive the content of two.

    Raises:
        InvalidInput: One local file would receive two of the paths.
        OSError: As for `ignores_case`.
    """
    spellings = {place for place, _ in places}
    differ_in_case = len({each.casefold() for each in spellings}) < len(spellings)
    name = str.casefold if differ_in_case and ignores_case(directory) else str
    firsts = dict[str, str]()
    for place, second in places:
        first = firsts.setdefault(name(place), second)
        if first != second and not (is_directory(first) and is_directory(second)):
            raise InvalidInput(
                f"path {second!r}: its local file {place!r} would be that of {first!r}, too; get one of them alone",
                kind=Kind.InvalidPath,
            )


@contextmanager
def complete_file(destination: Path) -> Iterator[BinaryIO]:
    """Yield a file to write, and give it the name of the destination when the `with` statement ends.

    If the body raises an error, a file at the destination stays as it was. A symbolic link to a file is replaced. A
    device or a pipe, or a link to one, is written in place, and is never removed.

    Args:
        destination: Path of the file.

    Raises:
        OSError: The file cannot be written. A directory is at the destination.
    """
    if _is_written_in_place(destination):
        with os.fdopen(os.open(destination, os.O_WRONLY), "wb") as file:
            yield file
        return
    temporary = destination.parent / f".graveler-{uuid.uuid4().hex}"
    try:
        with temporary.open("xb") as file:
            yield file
        temporary.replace(destination)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _is_written_in_place(destination: Path) -> bool:
    try:
        return not stat.S_ISREG(destination.stat().st_mode)
    except FileNotFoundError:
        return False
