"""Check that a storage namespace contains the files that a dump needs."""

from __future__ import annotations

from collections.abc import Container, Iterator

from graveler_core.blobs.port import Blobs
from graveler_core.committed.trees import address
from graveler_core.transfer.commit_graph import IdSet

FEW = 1_000
"""Maximum number of files that are requested one by one; more files are checked by a listing."""


def first_missing(blobs: Blobs, wanted: IdSet, besides: Container[str] = ()) -> str | None:
    """Return the address of the first missing file in the order of ids, or `None` if all exist. Addresses in `besides`
    may be missing.

    This takes one request for each file, or one listing of the files of graveler in the namespace. The listing is not
    kept in memory.
    """
    named = (address(id.tobytes().hex()) for id in wanted.sorted().astype("V32"))
    needed = (name for name in named if name not in besides)
    if len(wanted.sorted()) <= FEW:
        return next((name for name in needed if blobs.head(name) is None), None)
    return _first_unlisted(needed, (blob.address for blob in blobs.list(address(""))))


def _first_unlisted(needed: Iterator[str], listed: Iterator[str]) -> str | None:
    """Return the first of ascending names that is missing in another ascending sequence of names."""
    at = ""
    for name in needed:
        while at < name:
            following = next(listed, None)
            if following is None:
                return name
            at = following
        if at != name:
            return name
    return None
