"""A listing made a tree: all objects of an import, as entries, by themselves.

The tree is in the repository's namespace, and nothing names it: it is the import's memory, whatever its size, and the
same however often the branch moves before the swap. Its ranges are cut where those of the commit will be, so most are
those of the commit, or already those of an earlier import. It is garbage after the import, for a collection to take:
so an import is a build as `gc.sweep` means it, and the grace of collections must be longer than two of them.

It is listed here until that turns out to be much; then, where there is a cluster, on many machines (`spreading`), from
the beginning. Both give the same tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graveler_core.committed import lookup, scan
from graveler_core.committed.apply import Applied, apply
from graveler_core.committed.trees import DECISIVE, Trees, read_node
from graveler_core.engine.importing.changes import ImportedChanges
from graveler_core.engine.importing.request import ImportRequest, Progress, Tally
from graveler_core.engine.importing.rows import records, require_valid
from graveler_core.engine.importing.side_by_side import Told, unheard
from graveler_core.engine.importing.sorting import in_order
from graveler_core.engine.importing.spreading import Asking, Large, Onward, spread
from graveler_core.errors import NotFound
from graveler_core.model.entities import Repository
from graveler_core.model.ids import MetarangeId
from graveler_core.model.importing import ImportMode
from graveler_core.model.index import Index
from graveler_core.segments.sorted_keys import KEY, prefix_end
from graveler_core.stores import Stores


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

    def changes(self, repo: Repository, base: Index) -> ImportedChanges:
        """What the import changes in a base."""
        return ImportedChanges(repo, base, self.tree, self.span(), self.mode)

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
    heard = Onward(progress)
    shares = None if stores.cluster is None else request.source.shares()
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
    stores: Stores, repo: Repository, request: ImportRequest, heard: Progress, told: Told = unheard
) -> tuple[Applied, Tally]:
    tally = Tally()
    found = records(request, request.source.pages(stores, told), tally, heard)
    with in_order(found, rising=request.source.rising) as sorted_records:
        changes = stores.executor.ahead(sorted_records)
        return apply(stores.trees(repo), None, changes, mapper=stores.executor.map), tally


def require_something(request: ImportRequest, tally: Tally) -> None:
    """Refuse what was found invalid, and an import of nothing."""
    require_valid(request, tally)
    if not tally.objects:
        left = tally.unmatched + tally.invalid
        why = f"none of {left:,} objects there is left to import" if left else "there are no objects"
        raise NotFound(f"import of {request.source.name}: {why}", uri=request.source.name)
