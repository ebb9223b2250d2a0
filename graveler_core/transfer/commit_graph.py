"""Which commits there are and how they hang together, in little memory: 40 bytes a commit and 32 a parent, and about as
much again while they are checked.
"""

from __future__ import annotations

import re
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graveler_core.codec.content_hash import DIGEST_BYTES
from graveler_core.errors import CorruptData, Kind
from graveler_core.model.entities import Commit

_ID = np.dtype(f"S{DIGEST_BYTES}")
_HEX = re.compile(r"[0-9a-f]{64}")
_HIGHEST = (1 << 32) - 1
Flags = NDArray[np.bool_]
"""One for each commit, by its place."""


def id_array(ids: bytes | bytearray) -> NDArray[Any]:
    """Ids of 32 bytes, end to end, as an array that numpy can sort and search."""
    return np.frombuffer(ids, _ID)


def binary_id(id: str) -> bytes | None:
    """The 32 bytes of an id of 64 hex digits in lower case, None where it is none."""
    return bytes.fromhex(id) if _HEX.fullmatch(id) else None


class IdSet:
    """Ids of 32 bytes each, sorted when they are asked for. Repeated ones take room for a while."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._tidy = 1 << 15

    def add(self, id: bytes) -> None:
        self._held += id
        if len(self._held) >= self._tidy:
            self._held = bytearray(self.sorted().tobytes())
            self._tidy = max(self._tidy, 2 * len(self._held))

    def sorted(self) -> NDArray[Any]:
        """The ids in ascending order, each once."""
        return np.unique(id_array(self._held))


class CommitGraph:
    """Commits in ascending order of their ids. A commit's place is its number in this order."""

    def __init__(self) -> None:
        self._ids = bytearray()
        self._generations = array("I")
        self._counts = array("I")
        self._parents = bytearray()

    def __len__(self) -> int:
        return len(self._generations)

    def id(self, place: int) -> bytes:
        """The id of the commit at a place, 32 bytes."""
        return bytes(self._ids[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES])

    def add(self, id: bytes, header: Commit) -> None:
        """Add a commit whose id is above all others.

        Raises:
            CorruptData: it is not, or the header names something that is no commit.
        """
        if len(self) and id <= self.id(len(self) - 1):
            raise _corrupt(id, "stands behind one that is not before it in order")
        parents = [binary_id(parent) for parent in header.parents]
        if None in parents or header.generation > _HIGHEST:
            raise _corrupt(id, "names a parent that is no commit id, or has an impossible generation")
        self._ids += id
        self._generations.append(header.generation)
        self._counts.append(len(parents))
        self._parents += b"".join(parent for parent in parents if parent is not None)

    def places(self, ids: bytes | bytearray) -> NDArray[np.int64]:
        """Where the commits of these ids stand; -1 for one that is not there."""
        known, wanted = id_array(self._ids), id_array(ids)
        if not len(known):
            return np.full(len(wanted), -1)
        found = np.searchsorted(known, wanted)
        found[found == len(known)] = 0
        return np.where(known[found] == wanted, found, -1)

    def require_whole(self) -> None:
        """Raise `CorruptData` unless all parents are there, and each generation is one above its parents'."""
        parents, children = self._edges()
        if len(parents) and parents.min() < 0:
            raise _corrupt(self.id(int(children[parents.argmin()])), "has a parent that is not there")
        generations = np.frombuffer(self._generations, np.uint32)
        highest = np.zeros(len(self), np.uint32)
        np.maximum.at(highest, children, generations[parents])
        wrong = np.flatnonzero(generations != highest + 1)
        if len(wrong):
            raise _corrupt(self.id(int(wrong[0])), "has not the generation that follows from its parents'")

    def complete(self) -> Flags:
        """Which commits are there with all their ancestors."""
        parents, children = self._edges()
        whole = np.ones(len(self), np.bool_)
        whole[children[parents < 0]] = False
        if whole.all():
            return whole
        starts = self._starts()
        for place in np.argsort(np.frombuffer(self._generations, np.uint32), kind="stable"):
            whole[place] &= whole[parents[starts[place] : starts[place + 1]]].all()
        return whole

    def reachable(self, heads: NDArray[np.int64]) -> Flags:
        """Which commits the ones at these places lead to, those included. All parents must be there."""
        parents, _ = self._edges()
        starts = self._starts()
        reached = np.zeros(len(self), np.bool_)
        reached[heads] = True
        for place in np.argsort(np.frombuffer(self._generations, np.uint32), kind="stable")[::-1]:
            if reached[place]:
                reached[parents[starts[place] : starts[place + 1]]] = True
        return reached

    def _edges(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """The place of each parent, in the order of the children, and the child's."""
        counts = np.frombuffer(self._counts, np.uint32)
        return self.places(self._parents), np.repeat(np.arange(len(self), dtype=np.uint32), counts)

    def _starts(self) -> NDArray[np.int64]:
        """Where the parents of each commit begin."""
        counts = np.frombuffer(self._counts, np.uint32)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _corrupt(id: bytes, why: str) -> CorruptData:
    return CorruptData(f"commit {id.hex()}: {why}", kind=Kind.CorruptCommit, commit=id.hex())
