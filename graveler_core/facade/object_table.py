"""Reads of the stored objects of a repository. Every method only delegates to `objects`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from graveler_core.facade.handle import Handle
from graveler_core.facade.listing import Listing
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.bounds import Bounds
from graveler_core.model.permission import Action
from graveler_core.model.stored_objects import StoredObject
from graveler_core.objects.object_table import read_objects, scan_objects

_READABLE: Final = needs.repository(Action.LIST_COMMITS), needs.all_paths(*needs.SHOWN)
"""Permission rules: layouts and runs contain entries of any path."""


class ObjectTable(Handle):
    """Methods of `Repository` that read its objects in the key-value store."""

    @operation("read objects", *_READABLE)
    def read_objects(self, keys: Iterable[str], *, missing_ok: bool = False) -> list[StoredObject | None]:
        """Read commits, layouts and runs by type and id, past all caches.

        Args:
            keys: Keys of the objects, such as `commit/5f3a…`. An id of another type does not exist.
            missing_ok: Return `None` for an object that does not exist.

        Returns:
            The objects, in the order of the keys.

        Raises:
            NotFound: (`ObjectNotFound`) some objects do not exist; `details` has exactly their keys as `objects`.
            InvalidInput: a key is not valid.
            CorruptData: an object cannot be read, or does not match its id.
        """
        return read_objects(self._stores.kv, self._active(), [*keys], missing_ok=missing_ok)

    @operation("list objects", *_READABLE)
    def stored_objects(
        self, prefix: str = "", after: str = "", limit: int | None = None, *, start: str = "", end: str | None = None
    ) -> Listing[StoredObject]:
        """List all commits, layouts and runs of the repository, reachable or not, sorted by type and id, lazily.

        Args:
            prefix: List only objects whose keys begin with this, such as `run/` for all runs.
            after: List only objects with a greater key.
            limit: Maximum number of objects. `None` means all.
            start: List only objects whose keys are not less than this (inclusive).
            end: List only objects whose keys are less than this (exclusive). `None` means no end; an end that is not
                greater than `start` gives an empty listing.

        Returns:
            A listing of objects. The token of an item is its key.

        Raises:
            InvalidInput: an argument is not valid.
            CorruptData: an object cannot be read, or does not match its id.
        """
        found = scan_objects(self._stores.kv, self._active(), Bounds(prefix, after, start, end))
        return Listing(found, lambda each: each.key, limit)
