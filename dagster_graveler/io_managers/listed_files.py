"""Files of a table as a listing shows them, and as one value is made of them.

A ref that names a branch is read live, and the files of a table have the same names in every write. A listing shows one
state (`dagster_graveler.listing`), but files are opened one after the other. If the table is replaced meanwhile, a
value could be made of old and new files. So a file that is no longer the listed one is refused, and the table is listed
and read again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import dagster as dg

if TYPE_CHECKING:
    from graveler_core.facade.content_file import ContentFile
    from graveler_core.facade.readable_ref import ReadableRef
    from graveler_core.model.entry import Entry

T = TypeVar("T")
_ATTEMPTS = 5


class FileChanged(dg.DagsterInvariantViolationError):
    """A file is no longer the one that the listing of the table has shown."""

    def __init__(self, asset: str, path: str) -> None:
        super().__init__(
            f"asset {asset}: file {path!r} has changed since the table was listed. A table is read in one state; read "
            "a tag or a commit if others write to the branch all the time"
        )


def open_listed(at: ReadableRef, listed: Entry, asset: str) -> ContentFile:
    """Open a file that a listing has shown.

    Args:
        at: State to read.
        listed: The file, as the listing has shown it.
        asset: Asset key for error messages.

    Raises:
        FileChanged: The file was replaced or removed after the listing.
    """
    from graveler_core.errors import Kind, NotFound

    try:
        file = at.open(listed.path)
    except NotFound as e:
        if e.kind is not Kind.PathNotFound:
            raise
        raise FileChanged(asset, listed.path) from e
    if file.entry != listed:
        raise FileChanged(asset, listed.path)
    return file


def read_unchanged(read: Callable[[], T]) -> T:
    """Return the result of a function that lists a table and reads it. It is called again if a file has changed.

    Args:
        read: The function.

    Raises:
        FileChanged: A file has changed in each of several attempts.
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(FileChanged):
            return read()
    return read()
