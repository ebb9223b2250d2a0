"""Files below a root in the order of their addresses. The names of one directory and of those above it, and one page of
file data, are in memory at a time.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from graveler_core.blobs.addresses import TEMPORARY
from graveler_core.blobs.local_paths import file_info, opened_directory
from graveler_core.blobs.port import BlobInfo

PAGE = 1000


def listed(root: str, prefix: str = "", after: str = "", *, odd: bool = False) -> Iterator[BlobInfo]:
    """Yield regular files whose address begins with `prefix` and is greater than `after`. Links and other kinds are
    skipped.

    A directory sorts as its name plus a slash, so that its content is in the right place.

    Args:
        root: Directory to list.
        prefix: Prefix of the addresses.
        after: Yield only larger addresses.
        odd: Include names that are not UTF-8, as `os.fsdecode` returns them. Their order is not that of their bytes.
    """
    yield from _within(root, "", (prefix, after), odd=odd)


def _within(root: str, above: str, interval: tuple[str, str], *, odd: bool) -> Iterator[BlobInfo]:
    wanted = [name for name in _names(root, above, odd=odd) if _may_hold(above + name, *interval)]
    files: list[str] = []
    for name in wanted:
        if not name.endswith("/"):
            files.append(name)
            if len(files) == PAGE:
                yield from _described(root, above, files)
                files = []
            continue
        yield from _described(root, above, files)
        files = []
        yield from _within(root, above + name, interval, odd=odd)
    yield from _described(root, above, files)


def _names(root: str, above: str, *, odd: bool) -> list[str]:
    """Return the names in a directory in order, directories with a slash. Return nothing if the directory does not
    exist.
    """
    try:
        with opened_directory(root, _parts(above)) as fd, os.scandir(fd) as entries:
            names = [e.name + "/" if e.is_dir(follow_symlinks=False) else e.name for e in entries]
    except FileNotFoundError:
        return []
    hidden = {TEMPORARY + "/"} if not above else set()
    return sorted(name for name in names if name not in hidden and (odd or _is_text(name)))


def _may_hold(address: str, prefix: str, after: str) -> bool:
    if not address.endswith("/"):
        return address.startswith(prefix) and address > after
    if not (address.startswith(prefix) or prefix.startswith(address)):
        return False
    return address > after or after.startswith(address)


def _described(root: str, above: str, names: list[str]) -> Iterator[BlobInfo]:
    if not names:
        return
    infos: list[BlobInfo] = []
    try:
        with opened_directory(root, _parts(above)) as fd:
            for name in names:
                info = _info(fd, above, name)
                if info is not None:
                    infos.append(info)
    except FileNotFoundError:
        return
    yield from infos


def _info(fd: int, above: str, name: str) -> BlobInfo | None:
    try:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return file_info(above + name, found) if stat.S_ISREG(found.st_mode) else None


def _parts(above: str) -> list[str]:
    return above.rstrip("/").split("/") if above else []


def _is_text(name: str) -> bool:
    """Return false for file names that are not UTF-8, which cannot be addresses."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
