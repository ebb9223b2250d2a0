"""Commits of a dump and their layouts, checked as they are read: those of users, or those of the log of references."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graveler_core.codec.content_hash import DIGEST_BYTES, HASH
from graveler_core.codec.records import decode
from graveler_core.errors import CorruptData
from graveler_core.model.entities import Commit, Layout
from graveler_core.model.index import Index
from graveler_core.transfer.commit_graph import CommitGraph, Flags, IdSet


@dataclass(slots=True)
class DumpedHistory:
    """What of a history was checked so far: verbs in the order in which they stand here, which raise `CorruptData`."""

    named_by: str
    """What leads to the commits, as an error calls it."""
    heads: IdSet = field(default_factory=IdSet)
    """The commits that it names."""
    graph: CommitGraph = field(default_factory=CommitGraph)
    closed: bool = False
    """All commits are there."""
    reachable: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Which of them something leads to."""
    without_layout: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))

    def commit(self, data: bytes) -> None:
        """Take a header."""
        id = HASH(data).digest()
        self.graph.add(id, decode(Commit, data, f"commit {id.hex()}"))

    def close(self, others: set[str], known: set[str]) -> None:
        """All commits and what names them were taken: they must fit together.

        Args:
            others: What is named, too, and must be among `known`.
        """
        self.closed = True
        self.graph.require_whole()
        heads = self.heads.sorted()
        places = self.graph.places(heads.tobytes())
        absent = {bytes(heads[at : at + 1].tobytes()).hex() for at in np.flatnonzero(places < 0)}
        unknown = (absent | others) - known
        if unknown:
            raise CorruptData(f"commit {min(unknown)} is named by {self.named_by}, and is not there")
        self.without_layout = np.ones(len(self.graph), np.bool_)
        self.reachable = self.graph.reachable(places[places >= 0])

    def layout(self, id: bytes, data: bytes) -> Index | None:
        """Take a layout; gives what it names, or None where nothing leads to its commit."""
        layout = decode(Layout, data, f"layout of commit {id.hex()}")
        place = int(self.graph.places(id)[0]) if len(id) == DIGEST_BYTES else -1
        if place < 0 or layout.superseded:
            raise CorruptData(f"layout of commit {id.hex()}: there is no such commit, or it names what is superseded")
        self.without_layout[place] = False
        return layout.index if self.reachable[place] else None

    def require_layouts(self) -> None:
        """All layouts were taken: what something leads to must have one."""
        bare = np.flatnonzero(self.without_layout & self.reachable)
        if len(bare):
            raise CorruptData(f"commit {self.graph.id(int(bare[0])).hex()}: its layout is not there")
