"""A listing made a tree: all objects of an import, as entries, by themselves.

The tree is in the repository's namespace, and nothing names it: it is the import's memory, whatever its size, and the
same however often the branch moves before the swap. Its ranges are cut where those of the commit will be, so most are
those of the commit, or already those of an earlier import. It is garbage after the import, for a collection to take:
so an import is a build as `gc.sweep` means it, and the grace of collections must be longer than two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.committed import lookup, scan
from graveler_core.committed.apply import Applied, apply
from graveler_core.committed.diff import CHANGES, as_changes
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.trees import DECISIVE, Trees, count_entries, read_node
from graveler_core.engine.importing.request import ImportRequest, Progress, Tally
from graveler_core.engine.importing.rows import records, require_valid
from graveler_core.engine.importing.sorting import in_order
from graveler_core.errors import NotFound
from graveler_core.model.entities import Repository
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import MetarangeId
from graveler_core.model.importing import ImportMode
from graveler_core.model.index import Index
from graveler_core.segments.merge import as_records
from graveler_core.segments.sorted_keys import KEY, prefix_end
from graveler_core.stores import Stores

_SPARSE = 8
"""Where a branch holds so many times as much, an import reads ranges that its own keys fall into, and no others."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that an import brings, and what it claims of its destination."""

    trees: Trees
    made: Applied
    """The tree, and the digest of it as operations on nothing."""
    mode: ImportMode
    below: bytes
    """What every path begins with."""
    tally: Tally

    @property
    def tree(self) -> MetarangeId:
        """All entries of the import, and nothing else."""
        return self.made.metarange_id

    def changes(self, indexes: Indexes, base: Index) -> Iterator[pa.Table]:
        """What the import changes in a base, in `RECORD_SCHEMA`, keys rising. May be asked for again.

        By comparing trees, which passes by what both share; but where few are added among many, each is looked for.
        """
        replacing = self.mode is ImportMode.REPLACE
        if not replacing and count_entries(self.trees, base.metarange_id) > _SPARSE * self.made.added:
            yield from map(as_records, scan.scan(self.trees, self.tree))
            return
        start, end = self.span()
        for found in diff(indexes, base, Index(metarange_id=self.tree), start=start, end=end, wanted=CHANGES):
            changes = as_changes(found)
            yield changes if replacing else changes.filter(pc.invert(changes.column(TOMBSTONE)))

    def span(self) -> tuple[bytes, bytes | None]:
        """The keys between which the import has a say, the end exclusive (None: no end)."""
        if self.mode is ImportMode.REPLACE:
            return self.below, prefix_end(self.below)
        rows = read_node(self.trees, self.tree).rows
        return rows[0].min_key, rows[-1].max_key + b"\0"

    def among(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those of the sorted keys, all of them of the span, that the import has a say in."""
        if self.mode is ImportMode.REPLACE:
            return list(keys)
        found: list[bytes] = lookup.lookup_many(self.trees, self.tree, keys, DECISIVE).column(KEY).to_pylist()
        return found

    def first_of(self, start: bytes, end: bytes | None) -> bytes | None:
        """The first key of the import's in a part of the span."""
        page = next(scan.scan(self.trees, self.tree, start=start, end=end), None)
        if page is None:
            return start if self.mode is ImportMode.REPLACE else None
        key: bytes = page.column(KEY)[0].as_py()
        return key


def gather(stores: Stores, repo: Repository, request: ImportRequest, progress: Progress) -> Gathered:
    """List the source, to its end. Holds a few pages in memory.

    Raises:
        NotFound: (`ObjectNotFound`) there is nothing to import.
        InvalidInput: (`InvalidPath`) keys that are no valid paths, unless they are left out: `details["invalid"]` has
            the first hundred, `details["count"]` says how many; (`NamespaceInUse`) files of a repository.
        Unavailable: the source cannot be listed.
    """
    tally, trees = Tally(), stores.trees(repo)
    found = records(stores, request, tally, progress)
    with in_order(found, rising=request.source.rising) as sorted_records:
        made = apply(trees, None, stores.executor.ahead(sorted_records), mapper=stores.executor.map)
    require_something(request, tally)
    return Gathered(trees, made, request.mode, request.below.encode(), tally)


def require_something(request: ImportRequest, tally: Tally) -> None:
    """Refuse what was found invalid, and an import of nothing."""
    require_valid(request, tally)
    if not tally.objects:
        left = tally.unmatched + tally.invalid
        why = f"none of {left:,} objects there is left to import" if left else "there are no objects"
        raise NotFound(f"import of {request.source.name}: {why}", uri=request.source.name)
