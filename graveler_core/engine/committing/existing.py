"""Existing entries at the paths of a transaction. Entries that nobody compares are read only on demand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from graveler_core.codec.entry import entries
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import beginnings_of_few, lookup, lookup_few, lookup_many
from graveler_core.model.entry import Entry
from graveler_core.model.index import Index


class ExistingEntries(Mapping[str, Entry]):
    """Entries by path. The mapping knows which paths have an entry. It reads the other entries when they are requested.

    Args:
        read: Entries that were read.
        beginnings: Identity, or a beginning of it, of each other existing entry.
        reader: Reads one of the other entries.
    """

    def __init__(
        self, read: Mapping[str, Entry], beginnings: Mapping[str, bytes], reader: Callable[[str], Entry | None]
    ) -> None:
        self._read = dict(read)
        self._beginnings = {path: entry.identity for path, entry in read.items()} | dict(beginnings)
        self._reader = reader

    def __contains__(self, path: object) -> bool:
        return path in self._beginnings

    def __getitem__(self, path: str) -> Entry:
        if path in self._read:
            return self._read[path]
        found = self._reader(path) if path in self._beginnings else None
        if found is None:
            raise KeyError(path)
        self._read[path] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._beginnings)

    def __len__(self) -> int:
        return len(self._beginnings)

    def beginning(self, path: str) -> bytes:
        """Return the identity of an entry or a beginning of it, b"" if the path has no entry."""
        return self._beginnings.get(path, b"")


def existing_entries(
    indexes: Indexes, index: Index, paths: Sequence[str], compared: Collection[str]
) -> ExistingEntries:
    """Look up the entries of an index at some paths.

    Args:
        indexes: The repository's indexes.
        index: The index.
        paths: Distinct paths.
        compared: Those of the paths whose entries are read immediately. If there are many paths, all entries are read
            immediately.

    Raises:
        CorruptData: An object of the index that had to be read is missing or damaged.
    """

    def reader(path: str) -> Entry | None:
        return lookup(indexes, index, path.encode())

    if len(paths) > indexes.sizes.small_elements:
        rows = lookup_many(indexes, index, sorted(path.encode() for path in paths))
        return ExistingEntries({entry.path: entry for entry in entries(rows)}, {}, reader)
    whole = sorted(path.encode() for path in paths if path in compared)
    rest = sorted(path.encode() for path in paths if path not in compared)
    read = {entry.path: entry for entry in lookup_few(indexes, index, whole) if entry is not None}
    beginnings = zip(rest, beginnings_of_few(indexes, index, rest), strict=True)
    return ExistingEntries(read, {key.decode(): found for key, found in beginnings if found}, reader)
