"""Gathering: list all objects of an import into a separate tree of entries.

The tree is in the repository's namespace, and nothing refers to it. It stores the import, whatever its size, and
stays the same however often the branch moves before the swap. Its ranges have the same boundaries as those of the
commit, so most of them are ranges of the commit or of an earlier import. After the import the tree is garbage, for a
sweep to delete. An import is therefore a build as `gc.sweep` defines it, and the grace period of sweeps must be
longer than two imports.

The source is listed on this machine until it turns out to be large. Then, if there is a cluster, it is listed from
the beginning on many machines (`on_cluster`). Both ways produce the same tree.

The changes of an import against a base are a value that can be sent to other machines (`ImportedChanges`): two trees
and the mode of the import.
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
from graveler_core.committed.node_statistics import outline, unshared
from graveler_core.committed.trees import DECISIVE, Trees, count_entries, read_node
from graveler_core.engine.building.changes import KeySample
from graveler_core.engine.importing.concurrent_listing import Told, unheard
from graveler_core.engine.importing.on_cluster import Asking, Large, Onward, spread
from graveler_core.engine.importing.request import ImportRequest, Progress, Tally
from graveler_core.engine.importing.rows import records, require_valid
from graveler_core.engine.importing.sorting import in_order
from graveler_core.errors import NotFound
from graveler_core.model.counting import counted
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import MetarangeId
from graveler_core.model.importing import ImportMode
from graveler_core.model.index import Index
from graveler_core.model.key_intervals import prefix_end
from graveler_core.segments.merge import as_records
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class Gathered:
    """Entries of an import, and the paths of its destination that it affects."""

    trees: Trees
    made: Applied
    """The tree, and the digest of its entries as operations on an empty tree."""
    mode: ImportMode
    below: bytes
    """Prefix of every path."""
    tally: Tally

    @property
    def tree(self) -> MetarangeId:
        """Metarange that contains exactly the entries of the import."""
        return self.made.metarange_id

    def changes(self, repo: RepositoryRecord, base: Index) -> ImportedChanges:
        """Return the changes of the import against a base."""
        return ImportedChanges(repo, base, self.tree, self.span(), self.mode)

    def span(self) -> tuple[bytes, bytes | None]:
        """Return the key interval that the import affects. The end is exclusive; `None` means no end."""
        if self.mode is ImportMode.REPLACE:
            return self.below, prefix_end(self.below)
        rows = read_node(self.trees, self.tree).rows
        return rows[0].min_key, rows[-1].max_key + b"\0"

    def among(self, keys: Sequence[bytes]) -> list[bytes]:
        """Return the keys that the import affects. The keys are sorted and within the interval of the import."""
        if self.mode is ImportMode.REPLACE:
            return list(keys)
        found: list[bytes] = lookup.lookup_many(self.trees, self.tree, keys, DECISIVE).column(KEY).to_pylist()
        return found

    def first_of(self, start: bytes, end: bytes | None) -> bytes | None:
        """Return the first key of the import in a part of its interval. If the import has no key there, return `None`.
        In the mode `REPLACE`, return the start of the part instead.
        """
        page = next(scan.scan(self.trees, self.tree, start=start, end=end), None)
        if page is None:
            return start if self.mode is ImportMode.REPLACE else None
        key: bytes = page.column(KEY)[0].as_py()
        return key


def gather(stores: Stores, repo: RepositoryRecord, request: ImportRequest, progress: Progress) -> Gathered:
    """List the source completely. Holds a few pages in memory.

    Raises:
        NotFound: There is nothing to import (`ObjectNotFound`).
        InvalidInput: Keys are not valid paths (`InvalidPath`) and must not be skipped; `details["invalid"]` has the
            first hundred, `details["count"]` their number. Or the source contains files of a repository
            (`NamespaceInUse`).
        Unavailable: The source cannot be listed.
    """
    heard = Onward(progress)
    shares = None if stores.cluster is None else request.source.partitions()
    if stores.cluster is None or shares is None:
        made, tally = _here(stores, repo, request, heard)
    else:
        try:
            made, tally = _here(stores, repo, request, heard, Asking(stores.cluster))
        except Large:
            heard.again()
            made, tally = spread(stores, repo, request, shares, heard)
    require_something(request, tally)
    return Gathered(stores.trees(repo), made, request.mode, request.below.encode(), tally)


def _here(
    stores: Stores, repo: RepositoryRecord, request: ImportRequest, heard: Progress, told: Told = unheard
) -> tuple[Applied, Tally]:
    tally = Tally()
    found = records(request, request.source.pages(stores, told), tally, heard)
    with in_order(found, rising=request.source.rising) as sorted_records:
        changes = stores.executor.ahead(sorted_records)
        return apply(stores.trees(repo), None, changes, mapper=stores.executor.map), tally


def require_something(request: ImportRequest, tally: Tally) -> None:
    """Refuse an import with invalid keys, and an import of nothing."""
    require_valid(request, tally)
    if not tally.objects:
        left = tally.unmatched + tally.invalid
        why = f"none of {counted(left, 'object')} there is left to import" if left else "there are no objects"
        raise NotFound(f"import of {request.source.name}: {why}", uri=request.source.name)


_SPARSE = 8
"""Size ratio of branch to import from which an import reads only the ranges that contain its own keys."""
_LOOK = 256
"""Number of rows of nodes that is enough to estimate how much an import changes."""


@dataclass(frozen=True, slots=True)
class ImportedChanges:
    """`ChangeSource` of an import: changes that lead from a base to the import, within the keys that the import
    affects.

    The changes are found by comparing trees, which skips shared parts. If few entries are added to many, each is
    looked up instead.
    """

    repository: RepositoryRecord
    base: Index
    tree: MetarangeId
    """Metarange that contains exactly the entries of the import."""
    span: tuple[bytes, bytes | None]
    mode: ImportMode

    def changes(self, stores: Stores, start: bytes = b"", end: bytes | None = None) -> Iterator[pa.Table]:
        first, last = max(self.span[0], start), _sooner(self.span[1], end)
        if last is not None and first >= last:
            return
        trees = stores.trees(self.repository)
        if self._is_sparse(stores):
            yield from map(as_records, scan.scan(trees, self.tree, start=first, end=last))
            return
        right = Index(metarange_id=self.tree)
        for found in diff(stores.indexes(self.repository), self.base, right, start=first, end=last, wanted=CHANGES):
            changes = as_changes(found)
            added = self.mode is ImportMode.ADD
            yield changes.filter(pc.invert(changes.column(TOMBSTONE))) if added else changes

    def key_samples(self, stores: Stores, wanted: int) -> list[KeySample]:
        trees, (start, end) = stores.trees(self.repository), self.span
        if self._is_sparse(stores):
            rows = outline(trees, self.tree, wanted)
        else:
            held, brought = unshared(trees, self.base.metarange_id, self.tree, wanted)
            near = [row for row in held if row.max_key >= start and (end is None or row.min_key < end)]
            rows = [*(near if self.mode is ImportMode.REPLACE else []), *brought]
        return [KeySample(row.max_key, row.entries) for row in rows]

    def rows(self, stores: Stores) -> int:
        return sum(weight.rows for weight in self.key_samples(stores, _LOOK))

    def _is_sparse(self, stores: Stores) -> bool:
        trees = stores.trees(self.repository)
        brought, held = (count_entries(trees, tree) for tree in (self.tree, self.base.metarange_id))
        return self.mode is ImportMode.ADD and held > _SPARSE * brought


def _sooner(left: bytes | None, right: bytes | None) -> bytes | None:
    ends = [end for end in (left, right) if end is not None]
    return min(ends) if ends else None
