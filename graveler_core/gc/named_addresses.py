"""Addresses of the objects that a repository names: in its staged changes, compacted trees, and all commits.

1. For each branch: read its layers and its compacted tree, and then the branch record again. If the record has changed,
   read what it lists now.
2. Read the layouts of all commits, including unreachable ones, and the items to which they refer, each once.

Names may move during the walk: a commit takes staged changes, a merge takes those of another branch, and branches are
deleted. A layer leaves its branch when a commit or a compacted tree contains its visible records. The layout of the
commit is stored before that, so step 2, which comes later, finds it. A compacted tree is in the changed branch record.
A name that existed at the start is therefore found, unless all that contained it was dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.cached import CachedBlobs
from graveler_core.blobs.port import Blobs
from graveler_core.codec.elements import decode_elements
from graveler_core.codec.staged_record import decode_record
from graveler_core.committed import node
from graveler_core.committed.trees import address
from graveler_core.errors import CorruptData, Kind, NotFound, SlowDown
from graveler_core.gc.stock import Progress
from graveler_core.model.entities import Branch, Repository
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA
from graveler_core.model.ids import MetarangeId
from graveler_core.model.index import Index, Run, RunLocation
from graveler_core.model.layers import SealedToken, SegmentLayer
from graveler_core.objects.objects import Objects
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.segments import format as segment_format
from graveler_core.staging import area, segment_layer
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Stores

COLUMNS = ("address", "address_type")
"""Columns of the tables. Rows without an address are left out."""
_ATTEMPTS = 1_000
"""Maximum number of reads of a branch that changes all the time."""
_SCHEMA = pa.schema([ENTRY_SCHEMA.field(name) for name in COLUMNS])


def named_addresses(stores: Stores, repo: Repository, progress: Progress) -> Iterator[pa.Table]:
    """Yield the addresses that entries of a repository name, as tables with the columns `COLUMNS`. An address may occur
    many times.

    Raises:
        CorruptData: An item is missing or damaged, so the addresses in it are unknown.
        SlowDown: A branch changes so often that it could not be read.
    """
    walk = _Walk(stores, repo, progress)
    for _, held in access.scan(stores.kv, keys.branches(repo)):
        yield from walk.branch(held.value)
    for _, layout in access.scan(stores.kv, keys.commit_layouts(repo)):
        yield from walk.index(layout.value.index)
        progress(1)


@dataclass(slots=True)
class _Walk:
    stores: Stores
    repository: Repository
    progress: Progress
    seen: set[bytes] = field(default_factory=set)
    """Ids of the nodes, ranges and runs that were read."""
    segments: set[str] = field(default_factory=set)
    """Ids of the segment layers that were read."""

    @property
    def blobs(self) -> Blobs:
        """Storage namespace without the caches of this process."""
        blobs = self.stores.blobs.at(self.repository.storage_namespace)
        return blobs.beneath if isinstance(blobs, CachedBlobs) else blobs

    def branch(self, branch: Branch) -> Iterator[pa.Table]:
        """Yield the addresses in the layers and the compacted tree of a branch, until its record is unchanged."""
        for _ in range(_ATTEMPTS):
            failure: CorruptData | None = None
            try:
                yield from self._of_record(branch)
            except CorruptData as e:  # a layer that the branch does not list any more may be deleted
                failure = e
            now = access.read(self.stores.kv, keys.branch(self.repository, branch.id))
            if now is None:
                return
            if now.value == branch:
                if failure is not None:
                    raise failure
                return
            branch = now.value
        raise SlowDown(f"branch {branch.id!r}: changed {_ATTEMPTS} times while it was read; collect again later")

    def index(self, index: Index) -> Iterator[pa.Table]:
        """Yield the addresses in an index, except in parts that were read before."""
        if index.inline:
            yield self._of_elements(index.inline, "inline index")
        for run in index.runs:
            if self._first_time(run.id):
                yield self._of_run(run)
        yield from self._of_tree(index.metarange_id)

    def _of_record(self, branch: Branch) -> Iterator[pa.Table]:
        for layer in layers_of(branch):
            if isinstance(layer, SealedToken):
                for table in area.scan(self.stores.kv, layer.token):
                    yield _named(table)
                    self.progress(table.num_rows)
            elif isinstance(layer, SegmentLayer) and layer.id not in self.segments:
                yield from self._of_segments(layer)
                self.segments.add(layer.id)
        if branch.compacted_metarange is not None:
            yield from self._of_tree(branch.compacted_metarange)

    def _of_segments(self, layer: SegmentLayer) -> Iterator[pa.Table]:
        for piece in segment_layer.manifest(self.blobs, layer.id).pieces:
            yield _named(segment_layer.read_piece(self.blobs, layer.id, piece))
            self.progress(piece.count)

    def _of_tree(self, root: MetarangeId) -> Iterator[pa.Table]:
        ahead = [str(root)] if self._first_time(root) else []
        while ahead:
            id = ahead.pop()
            found = node.decode(self._read(id), id)
            new = [row.id for row in found.rows if self._first_time(row.id)]
            if found.level:
                ahead += new
            else:
                yield from self.stores.executor.map(self._of_range, new)

    def _of_range(self, id: str) -> pa.Table:
        return _named(segment_format.decode(self._read(id), ENTRY_SCHEMA, address(id), COLUMNS))

    def _of_run(self, run: Run) -> pa.Table:
        if run.place is RunLocation.BLOB:
            return _named(segment_format.decode(self._read(run.id), RECORD_SCHEMA, address(run.id), COLUMNS))
        objects = Objects(self.stores.kv, self.repository, self.stores.clock)
        return self._of_elements(objects.read(run.id), f"run {run.id}")

    def _of_elements(self, data: bytes, name: str) -> pa.Table:
        rows = []
        for element in decode_elements(data, name):
            entry = decode_record(element.key.decode(errors="backslashreplace"), element.record)
            if entry is not None and entry.address is not None:
                rows.append((entry.address, int(entry.address_type)))
        addresses, kinds = zip(*rows, strict=True) if rows else ((), ())
        return pa.table([pa.array(addresses, pa.string()), pa.array(kinds, pa.int8())], schema=_SCHEMA)

    def _read(self, id: str) -> bytes:
        try:
            return self.blobs.read(address(id))
        except NotFound as e:
            raise CorruptData(f"{address(id)}: is missing", kind=Kind.CorruptMetarange, id=id) from e

    def _first_time(self, id: str) -> bool:
        before = len(self.seen)
        self.seen.add(bytes.fromhex(id))
        return len(self.seen) > before


def _named(table: pa.Table) -> pa.Table:
    return table.select(COLUMNS).filter(pc.is_valid(table.column("address")))
