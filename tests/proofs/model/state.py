"""State of the stores in the pure model: branch records, layers and commits.

No store, no bytes: a tree is a dict from key to value, a value is a number that only one operation writes, and None
stands for nothing (in a layer: a tombstone). Layers are the engine's own, so that the engine's install rule runs here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, TypeAlias

from graveler_core.model.ids import LayerId, StagingToken
from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer

KEYS = ("a1", "a2", "b1")
PREFIXES = ("a", "b", "a1")
EXISTS = ""
"""The key that stands for the branch's existence: True, or False once it is deleted."""

Value: TypeAlias = int | None
Tree: TypeAlias = dict[str, Value]
Steps: TypeAlias = Generator[None, None, Any]
"""A flow: it yields before each call to the store, and what it does between two yields is that call."""

_POOL = 400
"""More ids than any history draws."""

TOKENS = [SealedToken(token=StagingToken(f"token-{n}")) for n in range(_POOL)]
SEGMENTS = [SegmentLayer(id=LayerId(f"segment-{n}"), count=1) for n in range(_POOL)]
REMOVALS = {p: [PrefixRemoval(id=LayerId(f"removal-{p}-{n}"), prefix=p) for n in range(_POOL)] for p in PREFIXES}
RESTORATIONS = {
    p: [PrefixRestoration(id=LayerId(f"restore-{p}-{n}"), prefix=p) for n in range(_POOL)] for p in PREFIXES
}


class Commit:
    """A commit: its tree, its first parent, the sources merged into its chain, and the key of the call that made it."""

    __slots__ = ("key", "merged", "parent", "tree")

    def __init__(
        self, tree: Tree, parent: Commit | None, merged: frozenset[object] = frozenset(), key: str = ""
    ) -> None:
        self.tree = tree
        self.parent = parent
        self.merged = merged
        self.key = key

    def chain(self) -> Iterator[Commit]:
        """First parents, itself first."""
        at: Commit | None = self
        while at is not None:
            yield at
            at = at.parent


class Record:
    """A branch record: the fields of `model.entities.BranchRecord` that the rules name. Never changed in place."""

    __slots__ = ("commit_id", "compacted_metarange", "epoch", "sealed_tokens", "staging_token", "uid")

    def __init__(  # noqa: PLR0917 - made in every swap: names would cost as much as the rest
        self,
        uid: int,
        epoch: int,
        commit_id: Commit,
        staging_token: SealedToken,
        sealed_tokens: tuple[Layer, ...] = (),
        compacted_metarange: Tree | None = None,
    ) -> None:
        self.uid = uid
        self.epoch = epoch
        self.commit_id = commit_id
        self.staging_token = staging_token
        self.sealed_tokens = sealed_tokens
        self.compacted_metarange = compacted_metarange

    def layers(self) -> tuple[Layer, ...]:
        """All layers, newest first."""
        return (self.staging_token, *self.sealed_tokens)

    def lists(self, layer: Layer) -> bool:
        """Whether the record names a layer."""
        return any(listed is layer for listed in self.layers())

    def base(self) -> Tree:
        """The tree below the layers."""
        return self.commit_id.tree if self.compacted_metarange is None else self.compacted_metarange
