"""The files of a directory, compared with its index. Contents are read only where size or modification time differ."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from graveler_core.errors import InvalidInput
from graveler_core.extras import requires
from graveler_core.local.index import FOLDER, DirectoryIndex, FileState, has_index, now
from graveler_core.local.names import refusal_of_file
from graveler_core.model.changes import ChangeKind

IGNORE: Final = ".gravelerignore"
"""File at the top of a directory with patterns of the form of `.gitignore`."""
_CLOSE: Final = 2_000_000_000
"""Nanoseconds. If a file changed so shortly before its state was taken, another change may not change its time."""
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or path that the directory leaves out, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Stamp:
    """Size and modification time of a file, which tell whether it was changed."""

    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class LocalChange:
    """Difference of a file from the index. A removed file has no stamp."""

    kind: ChangeKind
    stamp: Stamp | None = None


@dataclass(slots=True)
class DirectoryScan:
    """Local changes, files that are left out, and states of files that are unchanged although their time differs."""

    taken: int
    """Time in nanoseconds when the scan began."""
    changes: dict[str, LocalChange] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    touched: dict[str, FileState] = field(default_factory=dict)


def scan(root: Path, index: DirectoryIndex, *, lenient: bool = False) -> DirectoryScan:
    """Compare the files of a directory with its index.

    Args:
        root: The directory.
        index: Its index.
        lenient: If the ignore file is not valid, ignore no file.

    Raises:
        InvalidInput: The ignore file is not valid.
    """
    found, seen = DirectoryScan(now()), set[str]()
    for path, place in _files(root, found.skipped, _ignored(root, lenient=lenient), index.files):
        seen.add(path)
        stamp = stamp_of(place)
        if stamp is None:
            continue
        known = index.files.get(path)
        if known is None:
            found.changes[path] = LocalChange(ChangeKind.ADDED, stamp)
        elif stamp != Stamp(known.size, known.mtime) or stamp.mtime > index.written - _CLOSE:
            if (known.size >= 0 and stamp.size != known.size) or checksum_of(place) != known.checksum:
                found.changes[path] = LocalChange(ChangeKind.CHANGED, stamp)
            else:
                found.touched[path] = replace(known, size=stamp.size, mtime=stamp.mtime)
    skipped = {each.path for each in found.skipped}
    for path in index.files.keys() - seen:
        if path not in skipped and not any(above.rstrip("/") in skipped for above in _above(path)):
            found.changes[path] = LocalChange(ChangeKind.REMOVED)
    return found


def stamp_of(place: Path) -> Stamp | None:
    """Return the stamp of a regular file, or `None` if there is none."""
    try:
        found = place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Stamp(found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def checksum_of(place: Path) -> str:
    """Return the checksum of a file, in the form in which uploads compute it."""
    digest = hashlib.sha256()
    with place.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return f"sha256:{digest.hexdigest()}"


def _ignored(root: Path, *, lenient: bool) -> Callable[[str], bool]:
    """Return the predicate of the ignore file. It receives the path of a directory with a final "/"."""
    file = root / IGNORE
    if not file.is_file():
        return lambda path: False
    with requires("cli"):
        from pathspec import GitIgnoreSpec
    try:
        return GitIgnoreSpec.from_lines(file.read_text(encoding="utf-8-sig").split("\n")).match_file
    except (OSError, ValueError, re.error) as e:
        if lenient:
            return lambda path: False
        raise InvalidInput(
            f"file {str(file)!r}: must contain patterns in the form of .gitignore, in UTF-8 ({e}); correct or delete "
            "it, or bring a corrected one with graveler local pull"
        ) from e


def _files(
    root: Path, skipped: list[Skipped], ignored: Callable[[str], bool], tracked: Mapping[str, FileState]
) -> Iterator[tuple[str, Path]]:
    """Yield the regular files below a directory, except those of clones within it. Symbolic links are not followed.
    Patterns of the ignore file do not apply to tracked files, nor to links in the place of their directories.
    """
    needed = {above for path in tracked for above in _above(path)}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for each in sorted(os.scandir(root / folder), key=lambda found: found.name):
            path = folder + each.name
            if each.name.casefold() == FOLDER:
                continue
            if each.is_dir(follow_symlinks=False):
                if f"{path}/" not in needed and ignored(f"{path}/"):
                    continue  # it may be unreadable
                if has_index(Path(each.path)):
                    skipped.append(Skipped(path, "it is a clone of its own"))
                else:
                    waiting.append(f"{path}/")
            elif (
                path in tracked
                or not ignored(path)
                or (f"{path}/" in needed and not each.is_file(follow_symlinks=False))  # such as a link
            ):
                reason = _refusal(each, path)
                if reason:
                    skipped.append(Skipped(path, reason))
                else:
                    yield path, Path(each.path)


def _refusal(found: os.DirEntry[str], path: str) -> str:
    if found.is_symlink():
        return "symbolic links are not followed"
    if not found.is_file(follow_symlinks=False):
        return "it is not a regular file"
    return refusal_of_file(path)


def _above(path: str) -> Iterator[str]:
    at = path.find("/")
    while at >= 0:
        yield path[: at + 1]
        at = path.find("/", at + 1)
