"""Graph of commits in little memory: 40 bytes for each commit and 32 for each parent, and about twice that while it is
checked.
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
"""One flag for each commit, by position."""


def id_array(ids: bytes | bytearray) -> NDArray[Any]:
    """Return concatenated 32-byte ids as an array that numpy can sort and search."""
    return np.frombuffer(ids, _ID)


def binary_id(id: str) -> bytes | None:
    """Return the 32 bytes of an id of 64 lower-case hexadecimal digits, or `None` if it is not one."""
    return bytes.fromhex(id) if _HEX.fullmatch(id) else None


class IdSet:
    """Set of 32-byte ids, sorted on demand. Duplicates use memory until then."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._tidy = 1 << 15

    def add(self, id: bytes) -> None:
        self._held += id
        if len(self._held) >= self._tidy:
            self._held = bytearray(self.sorted().tobytes())
            self._tidy = max(self._tidy, 2 * len(self._held))

    def sorted(self) -> NDArray[Any]:
        """Return the ids in ascending order, without duplicates."""
        return np.unique(id_array(self._held))


class CommitGraph:
    """Commits in ascending order of their ids. The position of a commit is its index in this order."""

    def __init__(self) -> None:
        self._ids = bytearray()
        self._generations = array("I")
        self._counts = array("I")
        self._parents = bytearray()

    def __len__(self) -> int:
        return len(self._generations)

    def id(self, place: int) -> bytes:
        """Return the id of the commit at a position, 32 bytes."""
        return bytes(self._ids[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES])

    def add(self, id: bytes, header: Commit) -> None:
        """Add a commit with an id larger than all others.

        Raises:
            CorruptData: The id is not larger, or a parent in the header is not a commit id.
        """
        if len(self) and id <= self.id(len(self) - 1):
            raise _corrupt(id, "is not in ascending order")
        parents = [binary_id(parent) for parent in header.parents]
        if None in parents or header.generation > _HIGHEST:
            raise _corrupt(id, "has a parent that is not a commit id, or an impossible generation")
        self._ids += id
        self._generations.append(header.generation)
        self._counts.append(len(parents))
        self._parents += b"".join(parent for parent in parents if parent is not None)

    def places(self, ids: bytes | bytearray) -> NDArray[np.int64]:
        """Return the positions of the commits with these ids; -1 for missing ones."""
        known, wanted = id_array(self._ids), id_array(ids)
        if not len(known):
            return np.full(len(wanted), -1)
        found = np.searchsorted(known, wanted)
        found[found == len(known)] = 0
        return np.where(known[found] == wanted, found, -1)

    def require_whole(self) -> None:
        """Check that all parents exist and that each generation is 1 + the largest of the parents'.

        Raises:
            CorruptData: The graph is incomplete or inconsistent.
        """
        parents, children = self._edges()
        if len(parents) and parents.min() < 0:
            raise _corrupt(self.id(int(children[parents.argmin()])), "has a missing parent")
        generations = np.frombuffer(self._generations, np.uint32)
        highest = np.zeros(len(self), np.uint32)
        np.maximum.at(highest, children, generations[parents])
        wrong = np.flatnonzero(generations != highest + 1)
        if len(wrong):
            raise _corrupt(self.id(int(wrong[0])), "has a generation that does not follow from its parents")

    def complete(self) -> Flags:
        """Return a flag for each commit that is true if all its ancestors exist."""
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
        """Return a flag for each commit that is true if it is reachable from the given positions. All parents must
        exist.
        """
        parents, _ = self._edges()
        starts = self._starts()
        reached = np.zeros(len(self), np.bool_)
        reached[heads] = True
        for place in np.argsort(np.frombuffer(self._generations, np.uint32), kind="stable")[::-1]:
            if reached[place]:
                reached[parents[starts[place] : starts[place + 1]]] = True
        return reached

    def _edges(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return the position of each parent, in the order of the children, and the position of its child."""
        counts = np.frombuffer(self._counts, np.uint32)
        return self.places(self._parents), np.repeat(np.arange(len(self), dtype=np.uint32), counts)

    def _starts(self) -> NDArray[np.int64]:
        """Return the start of each commit's parents."""
        counts = np.frombuffer(self._counts, np.uint32)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _corrupt(id: bytes, why: str) -> CorruptData:
    return CorruptData(f"commit {id.hex()}: {why}", kind=Kind.CorruptCommit, commit=id.hex())
