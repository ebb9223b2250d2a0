"""Entries that operations compare with what a client expects."""

from __future__ import annotations

from graveler_core.errors import Kind, NotFound
from graveler_core.facade.readable_ref import ReadableRef
from graveler_core.model.entry import Entry


def entry_at(ref: ReadableRef, path: str) -> Entry | None:
    """Return the entry at a path, or `None`.

    Raises:
        NotFound: The repository or the ref does not exist.
    """
    try:
        return ref.get(path)
    except NotFound as e:
        if e.kind is not Kind.PathNotFound:
            raise
        return None
