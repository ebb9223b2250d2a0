"""Whether the files that a dump needs lie in a storage namespace."""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.blobs.port import Blobs
from graveler_core.committed.trees import address
from graveler_core.transfer.commit_graph import IdSet

FEW = 1_000
"""So many files are asked for one by one, more by a listing."""


def first_missing(blobs: Blobs, wanted: IdSet) -> str | None:
    """The address of the first file by id that is not there, None where all are.

    One request for each, or a listing of all that graveler keeps there, of which nothing is held.
    """
    needed = (address(id.tobytes().hex()) for id in wanted.sorted().astype("V32"))
    if len(wanted.sorted()) <= FEW:
        return next((name for name in needed if blobs.head(name) is None), None)
    return _first_unlisted(needed, (blob.address for blob in blobs.list(address(""))))


def _first_unlisted(needed: Iterator[str], listed: Iterator[str]) -> str | None:
    """The first of ascending names that is not among other ascending names."""
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
