"""References to all names of objects in a namespace: files of committed entries that are not read yet, and addresses.

The files are most of the names, and any machine can read them, because they never change. The rest is read here:
staged changes, which may be dropped at any time, and the small parts of indexes that are records of the key-value
store. Memory holds about 100 bytes for each file, and 60 bytes for each address that was read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.gc.all_repositories import all_repositories
from graveler_core.gc.candidates import named_within
from graveler_core.gc.commit_groups import NO_GROUPS, CommitGroups, NamedBy
from graveler_core.gc.named_addresses import named_parts
from graveler_core.gc.named_files import EntryFile
from graveler_core.gc.stock import Progress
from graveler_core.model.entities import RepositoryRecord
from graveler_core.stores import Stores

_BATCH = 100_000
"""Number of addresses of which duplicates are removed at once."""


@dataclass(frozen=True, slots=True)
class NamingFiles:
    """Files with entries of one repository."""

    repository: RepositoryRecord
    by: NamedBy
    files: tuple[EntryFile, ...]


@dataclass(slots=True)
class NameReferences:
    """All names in a namespace."""

    files: dict[tuple[RepositoryRecord, NamedBy], list[EntryFile]] = field(default_factory=dict)
    addresses: list[tuple[NamedBy, pa.ChunkedArray]] = field(default_factory=list)
    """Addresses relative to the namespace."""
    entries: int = 0
    """Number of all entries and addresses."""

    def batches(self, number: int) -> Iterator[NamingFiles]:
        """Yield the files in batches of about equal size: about `number` of them, or a few more."""
        most = max(1, sum(file.entries for files in self.files.values() for file in files) // number)
        for (repository, by), files in self.files.items():
            batch, entries = list[EntryFile](), 0
            for file in files:
                batch.append(file)
                entries += file.entries
                if entries >= most:
                    yield NamingFiles(repository, by, tuple(batch))
                    batch, entries = [], 0
            if batch:
                yield NamingFiles(repository, by, tuple(batch))


def read_references(stores: Stores, repo: RepositoryRecord, groups: CommitGroups, progress: Progress) -> NameReferences:
    """Read the references of all repositories of a store, in the order of `gc.named_addresses`.

    Args:
        stores: Stores of the flow.
        repo: Repository that owns the namespace.
        groups: Commits of the repository with a special treatment. The commits of other repositories all count as live.
        progress: Called with the number of items examined since the last call.

    Raises:
        CorruptData: An item is missing or damaged.
    """
    found = NameReferences()
    waiting, by_before = list[pa.ChunkedArray](), NamedBy.NOTHING

    def keep() -> None:
        if waiting:
            chunks = [chunk for addresses in waiting for chunk in addresses.chunks]
            unique = pc.unique(pa.chunked_array(chunks, pa.string()))
            found.addresses.append((by_before, pa.chunked_array([unique])))
            found.entries += len(unique)
            waiting.clear()

    for one in all_repositories(stores.kv):
        is_own = one.uid == repo.uid
        for group, part in named_parts(stores, one, progress, groups if is_own else NO_GROUPS):
            by = group if is_own else NamedBy.LIVE
            if isinstance(part, EntryFile):
                found.files.setdefault((one, by), []).append(part)
                found.entries += part.entries
                continue
            if by is not by_before or sum(map(len, waiting)) >= _BATCH:
                keep()
                by_before = by
            waiting.append(named_within(part, repo.storage_namespace, is_own=is_own))
    keep()
    return found
