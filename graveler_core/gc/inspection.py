"""Walk over a repository from branches and tags down to ranges. It notes the reachable items and reports problems.

The references to a tree may change during the walk. A compacted tree leaves its branch record when the layout of a
commit refers to the parts that they share. Branches are therefore read before layouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import repeat

from graveler_core.blobs.cached import CachedBlobs
from graveler_core.blobs.port import Blobs
from graveler_core.blobs.unreadable import ExaminedBlobs
from graveler_core.codec.staged_record import decode_record
from graveler_core.committed.cache import TreeCache
from graveler_core.errors import CorruptData, Kind
from graveler_core.gc.commits import HistoryGraph
from graveler_core.gc.contents import Contents
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.names import RootRecords
from graveler_core.gc.stock import Progress, Stock, take_stock
from graveler_core.gc.walk import Walk
from graveler_core.kv.store import Store
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.layers import Layer, SealedToken, SegmentLayer
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import segment_layer
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Stores

_HELD_BYTES = 64 << 20
"""Maximum size of the ranges that a deep check keeps to compute digests again, in bytes."""
_CHANGES = 10
"""Maximum number of times that a branch is examined if it is damaged and its record changes each time."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """State of a check: the examined data and the progress."""

    stores: Stores
    repository: RepositoryRecord
    deep: bool
    began: datetime
    stock: Stock
    names: RootRecords
    commits: HistoryGraph
    walk: Walk
    contents: Contents
    log: Contents
    """Commits of the log of references, which are stored separately."""
    layers: set[str] = field(default_factory=set)
    """Ids of the layers that were examined."""

    @property
    def blind(self) -> bool:
        """True if the set of reachable data is not completely known."""
        histories = any(contents.blind or contents.commits.blind for contents in (self.contents, self.log))
        return self.names.blind or histories or bool(self.walk.unread)

    def walk_all(self) -> Iterator[Finding]:
        """Examine everything that branches and tags reach, at the start of the walk or at its end. Yield problems."""
        yield from self.names.read()
        yield from self.commits.read_all()
        yield from self.log.commits.read_all()
        yield from self._reached()
        yield from self.contents.check_all()
        yield from self.log.check_all()
        yield from self.names.read()
        yield from self._reached()
        yield from self.contents.check_rest()
        yield from self.log.check_rest()

    def note_rest(self, since: datetime | None = None) -> Iterator[Finding]:
        """Note the items to which unreachable commits and replaced layouts refer.

        Args:
            since: Consider only layouts that were replaced after this time.

        Yields the unreachable commits and layouts, and the damage in their content and in that of replaced layouts. A
        missing item is not damage: the writer of the commit may have been interrupted, or a sweep has deleted the item.
        """
        yield from self._note_rest(self.contents, "no branch or tag reaches it", since)
        yield from self._note_rest(self.log, "the log of references does not reach it", since)

    def _note_rest(self, contents: Contents, why: str, since: datetime | None) -> Iterator[Finding]:
        yield from _present(contents.note_former(since))
        for id, header in contents.commits.unreachable():
            wrong = contents.note_other(id, since)
            yield from _present(wrong)
            if header.made < self.began:
                missing = sum(finding.trouble is Trouble.MISSING for finding in wrong)
                rest = f"; {missing} parts of its content are missing" if missing else ""
                yield Finding(Trouble.UNREACHABLE, Thing.COMMIT, id, f"{why}{rest}")
        for id in contents.others:
            if contents.commits.headers.get(id) is None:
                yield from map(_without_commit, _present(contents.note_other(id, since)))
                yield Finding(Trouble.UNREACHABLE, Thing.LAYOUT, id, "its commit does not exist")

    def _reached(self) -> Iterator[Finding]:
        """Note the headers, compacted trees and staged layers of branches and tags. Yield problems."""
        for head, named_by in self.names.heads():
            yield from self.commits.reach(head, named_by)
        for head, named_by in self.names.log():
            yield from self.log.commits.reach(head, named_by)
        for branch in self.names.branches.values():
            yield from self._on_branch(branch)

    def _on_branch(self, branch: BranchRecord) -> Iterator[Finding]:
        """Examine the layers and the compacted tree of a branch. Yield problems.

        Layers and trees are removed after their branch has moved. So problems count only if the record is still the
        same. Otherwise, the current record is examined. If it changes again and again, the last problems count.
        """
        for last in (*repeat(False, _CHANGES - 1), True):
            self.walk.begin()
            found = list(self._of_record(branch))
            now = access.read(self.stores.kv, keys.branch(self.repository, branch.id)) if found else None
            counts = not found or (now is not None and (last or now.value == branch))
            self.walk.end(outdated=not counts)
            if counts:
                yield from found
                return
            self.layers.difference_update(layer.id for layer in layers_of(branch))
            if now is None:
                return
            branch = now.value

    def _of_record(self, branch: BranchRecord) -> Iterator[Finding]:
        staged = StagedInspection(self.stores.kv, self.walk.indexes.trees.blobs, self.deep)
        for layer in layers_of(branch):
            if layer.id in self.layers:
                continue
            self.layers.add(layer.id)
            yield from staged.check(branch.id, layer)
        if branch.compacted_metarange is not None:
            yield from self.walk.metarange(branch.compacted_metarange, f"branch {branch.id}")


def _present(found: Iterable[Finding]) -> Iterator[Finding]:
    """Return the findings, except those of missing items."""
    return (finding for finding in found if finding.trouble is not Trouble.MISSING)


def _without_commit(finding: Finding) -> Finding:
    """Return a finding about a layout without a commit, with the remedy if the layout itself is damaged."""
    if finding.thing is not Thing.LAYOUT:
        return finding
    why = f"{finding.why}; its commit does not exist (graveler fsck --remove-damaged-layouts removes the layout)"
    return replace(finding, why=why, named_by="")


def begun(stores: Stores, repo: RepositoryRecord, *, deep: bool, progress: Progress) -> Inspection:
    """Return an inspection that has listed the stored items, and has not examined any."""
    began = stores.clock.now()
    # Caches of this process say nothing about the stored data.
    blobs = stores.blobs.at(repo.storage_namespace)
    blobs = ExaminedBlobs(blobs.beneath if isinstance(blobs, CachedBlobs) else blobs)
    trees = replace(stores.trees(repo), blobs=blobs, cache=TreeCache(_HELD_BYTES if deep else 0), verify=deep)
    indexes = replace(stores.indexes(repo), trees=trees)
    stock = take_stock(stores.kv, blobs, repo, progress)
    commits = HistoryGraph(stores.kv, keys.history(repo), progress)
    walk = Walk(indexes, stock, progress, deep, stores.executor.map)
    names = RootRecords(stores.kv, repo, progress)
    own = HistoryGraph(stores.kv, keys.internal_history(repo), progress)
    contents, log = Contents(stores.kv, commits, walk), Contents(stores.kv, own, walk)
    return Inspection(stores, repo, deep, began, stock, names, commits, walk, contents, log)


@dataclass(frozen=True, slots=True)
class StagedInspection:
    """Check of the staged changes of branches."""

    kv: Store
    blobs: Blobs
    deep: bool

    def check(self, name: str, layer: Layer) -> Iterator[Finding]:
        """Check the files of a layer of a branch, and in a deep check all its records. Yield problems."""
        if isinstance(layer, SegmentLayer):
            yield from self._segments(f"branch {name}", layer)
        elif isinstance(layer, SealedToken) and self.deep:
            for row in self.kv.scan(keys.staging(layer.token), prefix=keys.STAGED):
                path = row.key.removeprefix(keys.STAGED).decode(errors="backslashreplace")
                try:
                    decode_record(path, row.value)
                except CorruptData as e:
                    yield Finding(Trouble.CORRUPT, Thing.LAYER, layer.id, e.message, f"branch {name}", len(row.value))

    def _segments(self, named_by: str, layer: SegmentLayer) -> Iterator[Finding]:
        try:
            pieces = segment_layer.manifest(self.blobs, layer.id).pieces
        except CorruptData as e:
            yield _damaged(layer, e, named_by)
            return
        count = 0
        for piece in pieces:
            count += piece.count
            try:
                if self.deep:
                    keys_there = segment_layer.read_piece(self.blobs, layer.id, piece).column(KEY)
                    if (keys_there[0].as_py(), keys_there[-1].as_py()) != (piece.min_key, piece.max_key):
                        why = f"{segment_layer.address(layer.id, piece.name)} contains other keys than its manifest"
                        yield Finding(Trouble.CORRUPT, Thing.LAYER, layer.id, why, named_by)
                elif self.blobs.head(segment_layer.address(layer.id, piece.name)) is None:
                    why = f"{segment_layer.address(layer.id, piece.name)} is missing"
                    yield Finding(Trouble.MISSING, Thing.LAYER, layer.id, why, named_by)
            except CorruptData as e:
                yield _damaged(layer, e, named_by)
        if count != layer.count:
            why = f"contains {count} records, but its branch states {layer.count}"
            yield Finding(Trouble.INCONSISTENT, Thing.LAYER, layer.id, why, named_by)


def _damaged(layer: SegmentLayer, e: CorruptData, named_by: str) -> Finding:
    trouble = Trouble.MISSING if e.kind is Kind.CorruptLayer else Trouble.CORRUPT
    return Finding(trouble, Thing.LAYER, layer.id, e.message, named_by)
