"""Check of the trees of source commits: they must exist, be readable, and be split with the boundary seed of the
repository.

A tree is split where the hash of a key, with the boundary seed, is below a threshold. A change of a tree relies on this
rule and keeps whole subtrees. The next commit on a tree that was split with another seed could therefore be wrong, so
the last key of each node is checked. A tree that consists of a root only, with up to about a million entries, has no
such key.

A source commit without content refers to no tree. This means the empty tree, which `Readable` provides even if it was
never written.
"""

from __future__ import annotations

from graveler_core.blobs.passing import PassingBlobs
from graveler_core.committed.node import EMPTY, Node
from graveler_core.committed.trees import Trees, encoded, read_node
from graveler_core.committed.trees import address as address_of
from graveler_core.errors import CorruptData
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import key_hash
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.commit_graph import IdSet, binary_id

EMPTY_ID, EMPTY_BYTES = encoded(EMPTY)
FOREIGN_FOLDER = "_lakefs/"
"""Folder in which lakeFS keeps its metaranges."""


class Readable(PassingBlobs):
    """Storage namespace in which the empty tree can be read."""

    def read(self, address: str) -> bytes:
        return EMPTY_BYTES if address == address_of(EMPTY_ID) else self.beneath.read(address)


def metarange_of(named: str) -> MetarangeId:
    """Return the tree to which a source commit refers.

    Raises:
        BrokenValueError: The value is not an id.
    """
    if named and binary_id(named) is None:
        raise BrokenValueError(f"meta_range_id {named!r} must be 64 hexadecimal digits or empty")
    return MetarangeId(named or EMPTY_ID)


class Metaranges:
    """Checked trees: about 150 bytes for each node and 32 for each range. Each is checked once."""

    def __init__(self, trees: Trees) -> None:
        self.files = IdSet()
        """Nodes and ranges that must be in the namespace. They may have been read from a cache on disk."""
        self._trees = trees
        self._good: set[bytes] = set()

    def check(self, metarange: MetarangeId) -> None:
        """Check all nodes of a tree.

        Raises:
            BrokenValueError: The tree is missing, damaged, or split with another seed.
        """
        try:
            root = read_node(self._trees, metarange)
            self._node(metarange, root)
        except CorruptData as e:
            raise BrokenValueError(f"meta_range_id {metarange}: {e.message}{self._theirs(metarange)}") from e

    def _node(self, id: str, node: Node) -> None:
        """Check the children of a node."""
        if bytes.fromhex(id) in self._good:
            return
        for row in node.rows:
            if node.level == 0:
                self.files.add(bytes.fromhex(row.id))
                continue
            child = read_node(self._trees, row.id)
            if child.level != node.level - 1:
                raise BrokenValueError(f"node {row.id} of its tree has level {child.level} instead of {node.level - 1}")
            if row is not node.rows[-1]:
                self._edge(child, row.max_key)
            self._node(row.id, child)
        self._good.add(bytes.fromhex(id))
        if id != EMPTY_ID:
            self.files.add(bytes.fromhex(id))

    def _edge(self, node: Node, last: bytes) -> None:
        """Check that a node which is not the last child of its parent ends where the boundary seed requires it."""
        if key_hash(last, self._trees.boundary_seed) >= self._trees.cutting.threshold(node.level + 1):
            raise BrokenValueError(
                f"its tree was not split with boundary seed {self._trees.boundary_seed}; pass the seed that was used"
            )

    def _theirs(self, metarange: str) -> str:
        if self._trees.blobs.head(f"{FOREIGN_FOLDER}{metarange}") is None:
            return ""
        return f" (there is one of another format in {FOREIGN_FOLDER}: import the objects instead)"
