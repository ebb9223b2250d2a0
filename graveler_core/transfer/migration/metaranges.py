"""The trees that a source's commits name: whether they are there, can be read, and were cut as this repository cuts.

A tree is cut where the hash of a key, with the repository's boundary seed, is small enough. A change of a tree keeps
whole subtrees for that reason, so on a tree that was cut by another seed the next commit could be wrong. So each edge
of a node is looked at. A root alone, which is the tree of up to a million entries or so, has no such edge.

Commits of a source may have no content, and then name none: that is the empty tree, which `Readable` shows even where
nobody has written it yet.
"""

from __future__ import annotations

from graveler_core.blobs.passing import PassingBlobs
from graveler_core.committed.node import EMPTY, Node
from graveler_core.committed.trees import Trees, encoded, read_node
from graveler_core.committed.trees import address as address_of
from graveler_core.errors import CorruptData
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import key_hash
from graveler_core.transfer.commit_graph import IdSet, binary_id
from graveler_core.transfer.migration.rows import BrokenValueError

EMPTY_ID, EMPTY_BYTES = encoded(EMPTY)
FOREIGN_FOLDER = "_lakefs/"
"""Where other programs of the same schema keep their metaranges."""


class Readable(PassingBlobs):
    """A storage namespace in which the empty tree can be read."""

    def read(self, address: str) -> bytes:
        return EMPTY_BYTES if address == address_of(EMPTY_ID) else self.beneath.read(address)


def metarange_of(named: str) -> MetarangeId:
    """The tree that a commit of the source names. Raises `BrokenValueError` where that is no id."""
    if named and binary_id(named) is None:
        raise BrokenValueError(f"meta_range_id {named!r} must be 64 hexadecimal digits, or nothing")
    return MetarangeId(named or EMPTY_ID)


class Metaranges:
    """The trees that were looked at so far: some 150 bytes a node and 32 a range, each looked at once."""

    def __init__(self, trees: Trees) -> None:
        self.files = IdSet()
        """Nodes and ranges, which must be in the namespace: what was read of it may have come from a cache on disk."""
        self._trees = trees
        self._good: set[bytes] = set()

    def check(self, metarange: MetarangeId) -> None:
        """Look at all nodes of a tree. Raises `BrokenValueError`."""
        try:
            root = read_node(self._trees, metarange)
            self._node(metarange, root)
        except CorruptData as e:
            raise BrokenValueError(f"meta_range_id {metarange}: {e.message}{self._theirs(metarange)}") from e

    def _node(self, id: str, node: Node) -> None:
        """A node whose children are looked at, and that is good then."""
        if bytes.fromhex(id) in self._good:
            return
        for row in node.rows:
            if node.level == 0:
                self.files.add(bytes.fromhex(row.id))
                continue
            child = read_node(self._trees, row.id)
            if child.level != node.level - 1:
                raise BrokenValueError(f"node {row.id} of its tree is of level {child.level}, not {node.level - 1}")
            if row is not node.rows[-1]:
                self._edge(child, row.max_key)
            self._node(row.id, child)
        self._good.add(bytes.fromhex(id))
        if id != EMPTY_ID:
            self.files.add(bytes.fromhex(id))

    def _edge(self, node: Node, last: bytes) -> None:
        """A node that others of its parent follow ends where the seed has it end."""
        if key_hash(last, self._trees.boundary_seed) >= self._trees.cutting.threshold(node.level + 1):
            raise BrokenValueError(
                f"its tree was not cut by boundary seed {self._trees.boundary_seed}: name the seed that it was cut by"
            )

    def _theirs(self, metarange: str) -> str:
        if self._trees.blobs.head(f"{FOREIGN_FOLDER}{metarange}") is None:
            return ""
        return f" (there is one of another format in {FOREIGN_FOLDER}: import the objects instead)"
