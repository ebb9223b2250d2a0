"""Layered indexes in memory whose layers are so small that a few commits spill, merge and fold them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pyarrow as pa
from hypothesis import strategies as st

from graveler_core.codec.staged_records import encode_records
from graveler_core.committed.apply import apply
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.diff import Differences
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes, Sizes
from graveler_core.committed.index.scan import scan
from graveler_core.committed.index.successor import Successor, small_successor, successor
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import Store
from graveler_core.model.index import Index
from graveler_core.objects.objects import Objects
from tests.unit.committed.samples import CountingBlobs, tiny_trees, tree
from tests.unit.kv.wrappers.still_clock import StillClock
from tests.unit.records.samples import REPOSITORY
from tests.unit.segments.samples import Changes, State, records, state_of

TINY = Sizes(
    inline_bytes=900,
    object_bytes=2_500,
    fan_out=2,
    fold_elements=20,
    fold_share=2,
    direct_share=2,
    small_elements=12,
    held_changes=25,
)
KEYS = st.one_of(
    st.sampled_from(["a", "a\x00", "a/", "a/b", "\x00", "\x7f", "\xe9", "\U0001f600", "k" * 900]).map(str.encode),
    st.integers(0, 60).map(lambda n: b"p/%03d" % n),
)
STATES = st.dictionaries(KEYS, st.integers(0, 3), max_size=40)
CHANGES = st.dictionaries(KEYS, st.one_of(st.none(), st.integers(0, 3)), max_size=30)
FEW_CHANGES = st.dictionaries(KEYS, st.one_of(st.none(), st.integers(0, 3)), max_size=4)
HISTORIES = st.lists(st.one_of(FEW_CHANGES, FEW_CHANGES, CHANGES), max_size=14)


@dataclass
class World:
    """The indexes of one repository, whose objects are written as a flow would."""

    sizes: Sizes = TINY
    kv: Store = field(default_factory=lambda: open_memory("memory://"))
    blobs: CountingBlobs = field(default_factory=CountingBlobs)

    @property
    def indexes(self) -> Indexes:
        """As a process sees them that has read nothing yet."""
        trees = replace(tiny_trees(blobs=self.blobs), cache=TreeCache())
        return Indexes(trees, Objects(self.kv, REPOSITORY, StillClock()), self.sizes)

    def root(self, state: State) -> Index:
        """An index that is a metarange alone."""
        return Index(metarange_id=tree(self.indexes.trees, state))

    def commit(self, base: Index, changes: Changes, *, small: bool = False) -> Successor:
        """The next index, its objects written."""
        table = records(changes)
        return self.written(
            small_successor(self.indexes, base, rows(table)) if small else successor(self.indexes, base, table)
        )

    def written(self, made: Successor) -> Successor:
        """A successor whose objects are stored."""
        for partition, key, value in made.writes:
            self.kv.set(partition, key, value)
        return made

    def content(self, index: Index) -> dict[bytes, int]:
        """What an index holds."""
        return state_of(*scan(self.indexes, index))

    def differences(self, left: Index, right: Index, **span: bytes) -> dict[bytes, tuple[int | None, int | None]]:
        """What differs: the numbers before and after."""
        found = list(diff(self.indexes, left, right, **span))  # type: ignore[arg-type]
        assert all(map(len, found))
        return {key: sides for part in found for key, sides in _sides(part)}


def rows(table: pa.Table) -> list[tuple[bytes, bytes]]:
    """Keys and staged records."""
    return list(zip(table["key"].to_pylist(), encode_records(table).to_pylist(), strict=True))


def _sides(found: Differences) -> Iterator[tuple[bytes, tuple[int | None, int | None]]]:
    sizes = (side["size"].to_pylist() for side in (found.before, found.after))
    yield from ((key, sides) for key, *sides in zip(found.keys.to_pylist(), *sizes, strict=True))  # type: ignore[misc]


def tree_digest(world: World, state: State, changes: Changes) -> tuple[str, int, int, int]:
    """Digest and counts as the metarange's own `apply` gives them."""
    applied = apply(world.indexes.trees, tree(world.indexes.trees, state), records(changes))
    return applied.operations, applied.added, applied.changed, applied.removed
