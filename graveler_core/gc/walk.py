"""Walk from an index down to its runs, nodes and ranges. It notes the items, and reports problems.

Each item is examined once, even if many commits share it. Memory holds the ids of the items, about 150 bytes for each,
and one node. A shallow walk reads and hashes nodes, and checks that ranges and runs exist. A deep walk also reads and
hashes ranges and runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from graveler_core.codec.content_hash import ContentHash
from graveler_core.codec.elements import decode_elements
from graveler_core.committed.apply import Mapper
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layers import RUN_TAG
from graveler_core.committed.node import Node, NodeRow, decode
from graveler_core.committed.trees import address, range_id, range_row
from graveler_core.errors import CorruptData, NotFound
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.stock import Progress, Stock
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA
from graveler_core.model.ids import MetarangeId
from graveler_core.model.index import Index, Run, RunLocation
from graveler_core.records import layout as keys
from graveler_core.segments import format as segment_format


@dataclass(frozen=True, slots=True)
class Named:
    """A node or range to examine, with the reference to it."""

    id: str
    named_by: str
    row: NodeRow | None = None
    """`None` for a root."""
    level: int | None = None


@dataclass(slots=True)
class Walk:
    """A walk over many indexes. `Unavailable` and `SlowDown` of a store end it; damaged data does not."""

    indexes: Indexes
    stock: Stock
    progress: Progress
    deep: bool = False
    mapper: Mapper = map
    blobs: set[bytes] = field(default_factory=set)
    """Ids of the nodes, ranges and large runs found so far."""
    objects: set[bytes] = field(default_factory=set)
    """Ids of the small runs found so far."""
    unread: set[str] = field(default_factory=set)
    """Ids of the nodes that could not be read, so that their children are unknown."""
    _examined: list[tuple[bool, bytes]] | None = None
    """Items that the current examination has found first: whether each is a small run, and its id."""
    _again: set[tuple[bool, bytes]] = field(default_factory=set)
    """Items that were found, and are to be examined at the next reference to them."""

    def index(self, index: Index, named_by: str) -> Iterator[Finding]:
        """Examine everything to which an index refers. Yield problems."""
        for run in index.runs:
            yield from self._run(run, named_by)
        yield from self.metarange(index.metarange_id, named_by)

    def metarange(self, root: MetarangeId, named_by: str) -> Iterator[Finding]:
        """Examine a tree. Yield problems."""
        ahead = [Named(root, named_by)]
        while ahead:
            named = ahead.pop()
            if not self._first_time(self.blobs, named.id):
                continue
            node, wrong = self._node(named)
            yield from wrong
            if node is None:
                continue
            here = f"node {named.id}"
            if node.level:
                ahead += [Named(row.id, here, row, node.level - 1) for row in node.rows]
            else:
                new = [Named(row.id, here, row) for row in node.rows if self._first_time(self.blobs, row.id)]
                yield from self._ranges(new)

    def begin(self) -> None:
        """Begin an examination whose findings may turn out to be outdated."""
        self._examined = []

    def end(self, *, outdated: bool) -> None:
        """End an examination. If its findings are outdated, let the next reference examine each of its items again.

        This includes the sound items. A later walk would otherwise stop at the root, and never reach the damaged item
        or the items below it, which this examination could not find.
        """
        if outdated and self._examined is not None:
            self._again.update(self._examined)
            self.unread.difference_update(id.hex() for _, id in self._examined)
        self._examined = None

    def _first_time(self, named: set[bytes], id: str) -> bool:
        item = named is self.objects, bytes.fromhex(id)
        if item[1] in named and item not in self._again:
            return False
        named.add(item[1])
        self._again.discard(item)
        if self._examined is not None:
            self._examined.append(item)
        self.progress(1)
        return True

    def _node(self, named: Named) -> tuple[Node | None, list[Finding]]:
        try:
            data = self.indexes.trees.blobs.read(address(named.id))
            node = decode(data, named.id)
        except NotFound:
            self.unread.add(named.id)
            return None, [_missing(Thing.NODE, named)]
        except CorruptData as e:
            self.unread.add(named.id)
            return None, [_corrupt(Thing.NODE, named, e)]
        row, wrong = named.row, list[Finding]()
        if row is not None and (node.level != named.level or not node.rows or node.as_row(named.id) != row):
            wrong.append(_inconsistent(Thing.NODE, named))
        return node, wrong

    def _ranges(self, places: list[Named]) -> Iterator[Finding]:
        """Examine ranges, except those that were examined before. Yield problems."""
        if self.deep:
            yield from _each(self.mapper(self._read_range, places))
            return
        for named in places:
            if bytes.fromhex(named.id) not in self.stock.blobs and self._gone(named.id):
                yield _missing(Thing.RANGE, named)

    def _read_range(self, named: Named) -> list[Finding]:
        name = address(named.id)
        try:
            entries = segment_format.decode(self.indexes.trees.blobs.read(name), ENTRY_SCHEMA, name)
            if range_id(entries) != named.id:
                return [_corrupt(Thing.RANGE, named, "its content does not match its id")]
        except NotFound:
            return [_missing(Thing.RANGE, named)]
        except CorruptData as e:
            return [_corrupt(Thing.RANGE, named, e)]
        return [] if entries.num_rows and range_row(entries) == named.row else [_inconsistent(Thing.RANGE, named)]

    def _run(self, run: Run, named_by: str) -> Iterator[Finding]:
        named = Named(run.id, named_by)
        if run.place is RunLocation.OBJECT:
            if self._first_time(self.objects, run.id):
                yield from self._object_run(run, named)
        elif self._first_time(self.blobs, run.id):
            if self.deep:
                yield from self._blob_run(run, named)
            elif bytes.fromhex(run.id) not in self.stock.blobs and self._gone(run.id):
                yield _missing(Thing.RUN, named)

    def _object_run(self, run: Run, named: Named) -> Iterator[Finding]:
        stored = self.stock.objects.get(bytes.fromhex(run.id))
        if not self.deep and stored is not None and stored.needed is not None:
            return
        try:
            elements = decode_elements(self.indexes.objects.read(run.id), f"run {run.id}")
        except CorruptData as e:
            objects = self.indexes.objects
            gone = objects.kv.get(*keys.stored_object(objects.repository, run.id)) is None
            yield _missing(Thing.RUN, named) if gone else _corrupt(Thing.RUN, named, e)
            return
        if len(elements) != run.elements or sum(len(e.key) + len(e.record) for e in elements) != run.size:
            yield _inconsistent(Thing.RUN, named)

    def _blob_run(self, run: Run, named: Named) -> Iterator[Finding]:
        name = address(run.id)
        try:
            records = segment_format.decode(self.indexes.trees.blobs.read(name), RECORD_SCHEMA, name)
        except NotFound:
            yield _missing(Thing.RUN, named)
            return
        except CorruptData as e:
            yield _corrupt(Thing.RUN, named, e)
            return
        content = ContentHash(RUN_TAG, RECORD_SCHEMA)
        content.update(records)
        if content.hexdigest() != run.id:
            yield _corrupt(Thing.RUN, named, "its content does not match its id")
        elif records.num_rows != run.elements:
            yield _inconsistent(Thing.RUN, named)

    def _gone(self, id: str) -> bool:
        """Return `True` if an item that the listing did not contain does not exist. It may have been created since."""
        return self.indexes.trees.blobs.head(address(id)) is None


def _each(found: Iterable[list[Finding]]) -> Iterator[Finding]:
    for findings in found:
        yield from findings


def _missing(thing: Thing, named: Named) -> Finding:
    return Finding(Trouble.MISSING, thing, named.id, "is missing", named.named_by)


def _corrupt(thing: Thing, named: Named, why: CorruptData | str) -> Finding:
    text = why if isinstance(why, str) else why.message
    return Finding(Trouble.CORRUPT, thing, named.id, text, named.named_by)


def _inconsistent(thing: Thing, named: Named) -> Finding:
    why = "its keys or counts differ from the reference to it"
    return Finding(Trouble.INCONSISTENT, thing, named.id, why, named.named_by)
