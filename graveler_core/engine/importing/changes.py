"""What an import changes in a base, as a value that can be sent to other machines: two trees, and what is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.committed import scan
from graveler_core.committed.diff import CHANGES, as_changes
from graveler_core.committed.index.diff import diff
from graveler_core.committed.outline import outline, unshared
from graveler_core.committed.trees import count_entries
from graveler_core.engine.sources import Weight
from graveler_core.model.entities import Repository
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import MetarangeId
from graveler_core.model.importing import ImportMode
from graveler_core.model.index import Index
from graveler_core.segments.merge import as_records
from graveler_core.stores import Stores

_SPARSE = 8
"""Where a branch holds so many times as much, an import reads ranges that its own keys fall into, and no others."""
_LOOK = 256
"""So many rows of nodes tell about how much an import changes."""


@dataclass(frozen=True, slots=True)
class ImportedChanges:
    """A `ChangeSource`: what leads from a base to what an import brings, between the keys where it has a say.

    By comparing trees, which passes by what both share; but where few are added among many, each is looked for.
    """

    repository: Repository
    base: Index
    tree: MetarangeId
    """All entries of the import, and nothing else."""
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

    def weights(self, stores: Stores, wanted: int) -> list[Weight]:
        trees, (start, end) = stores.trees(self.repository), self.span
        if self._is_sparse(stores):
            rows = outline(trees, self.tree, wanted)
        else:
            held, brought = unshared(trees, self.base.metarange_id, self.tree, wanted)
            near = [row for row in held if row.max_key >= start and (end is None or row.min_key < end)]
            rows = [*(near if self.mode is ImportMode.REPLACE else []), *brought]
        return [Weight(row.max_key, row.entries) for row in rows]

    def rows(self, stores: Stores) -> int:
        return sum(weight.rows for weight in self.weights(stores, _LOOK))

    def _is_sparse(self, stores: Stores) -> bool:
        trees = stores.trees(self.repository)
        brought, held = (count_entries(trees, tree) for tree in (self.tree, self.base.metarange_id))
        return self.mode is ImportMode.ADD and held > _SPARSE * brought


def _sooner(left: bytes | None, right: bytes | None) -> bytes | None:
    ends = [end for end in (left, right) if end is not None]
    return min(ends) if ends else None
