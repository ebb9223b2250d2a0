"""The shared registers and partitions of one history, and what the checker is told of each step that others see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from random import Random

from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from tests.proofs.model.former import Former
from tests.proofs.model.operation import Lost, Operation
from tests.proofs.model.state import (
    EXISTS,
    KEYS,
    REMOVALS,
    RESTORATIONS,
    SEGMENTS,
    TOKENS,
    Commit,
    Record,
    Steps,
    Tree,
    Value,
)


class Broken(Exception):
    """A promise was broken, at this very step."""


class World:
    """Everything that is stored, and the history so far."""

    __slots__ = (
        "absorbed",
        "again",
        "branches",
        "cleanup",
        "data",
        "discarded",
        "fetched",
        "focus",
        "former",
        "fresh",
        "late",
        "moves",
        "now",
        "ops",
        "pages",
        "past",
        "random",
        "repository",
        "running",
        "seen",
        "trees",
    )

    def __init__(self, random: Random, former: Former) -> None:
        self.random = random.random
        self.former = former
        self.fresh = count(1).__next__
        self.now = 0
        self.repository = self.fresh()
        """The uid of the active repository; 0 while there is none."""
        self.branches: dict[int, Record] = {}
        """The record of the one branch, by the uid of its repository."""
        self.data: dict[str, dict[str, Value]] = {}
        self.cleanup: dict[str, Layer] = {}
        self.ops: dict[str, tuple[int, Commit]] = {}
        self.past: list[tuple[int, Record]] = []
        """Whatever stood once: what a cache may still hold."""
        self.fetched: tuple[int, tuple[int, Record]] = (0, (0, Record(0, 0, Commit({}, None), TOKENS[0])))
        """The read in flight: who asked, and what was found."""
        self.running = 0
        self.late: list[Steps] = []
        """Swaps whose answer was lost before they happened."""
        self.moves: list[tuple[Operation, Commit, int]] = []
        self.discarded: set[str] = set()
        """Layers that a reset took."""
        self.absorbed: list[tuple[Operation, Sequence[Layer]]] = []
        """Layers of which a commit was told that another commit took them."""
        self.again: dict[str, int] = {key: self.fresh() for key in KEYS}
        """What some writes of a key stage: the same, byte for byte."""
        self.focus = "a1"
        """The key that most calls are about."""
        self.trees: list[tuple[Operation, int, Tree]] = []
        """Trees that must be listings of the branch: (by whom, when, which)."""
        self.seen: list[tuple[Operation, str, Value | bool]] = []
        self.pages: list[tuple[Operation, Tree]] = []
        tree: Tree = {key: self.fresh() for key in KEYS}
        tree["b1"] = None
        self.new_branch(self.repository, Commit(tree, None))

    def token(self) -> SealedToken:
        return TOKENS[self.fresh()]

    def segment(self) -> SegmentLayer:
        return SEGMENTS[self.fresh()]

    def removal(self, prefix: str) -> PrefixRemoval:
        return REMOVALS[prefix][self.fresh()]

    def restoration(self, prefix: str) -> PrefixRestoration:
        return RESTORATIONS[prefix][self.fresh()]

    def new_branch(self, uid: int, head: Commit) -> Record:
        """Create the branch in a repository."""
        record = Record(self.fresh(), 0, head, self.token())
        self.put(uid, record)
        return record

    def swap(
        self, op: Operation, uid: int, old: Record, new: Record | None, writes: dict[str, Value | bool] | None = None
    ) -> bool:
        """Compare-and-swap of the branch record (None: delete it); `writes` is what it makes visible.

        Raises:
            Lost: the answer is lost: it happened, or it did not, or it will later.
        """
        if op.lost_at:
            op.lost_at -= 1
            if not op.lost_at:
                draw = self.random()
                if draw < 0.5:
                    self._apply(op, uid, old, new, writes)
                elif draw < 0.75:
                    self.late.append(self._land(op, uid, old, new, writes))
                raise Lost
        return self._apply(op, uid, old, new, writes)

    def delete(self, op: Operation, used: tuple[int, Record], key: str, staged: Value) -> bool:
        """Delete a staged entry if it and the branch record are what was read, in one step.

        Raises:
            Lost: the answer is lost: it happened, or it did not, or it will later.
        """
        if op.lost_at:
            op.lost_at = 0
            draw = self.random()
            if draw < 0.5:
                self._delete(used, key, staged)
            elif draw < 0.75:
                self.late.append(self._delete_late(used, key, staged))
            raise Lost
        return self._delete(used, key, staged)

    def _delete(self, used: tuple[int, Record], key: str, staged: Value) -> bool:
        uid, record = used
        rules, now = self.former, self.branches.get(uid)
        if rules.cheap_delete_token_only:
            stands = now is not None and now.staging_token is record.staging_token
        else:
            stands = now is record
        records = self.data.get(record.staging_token.id, {})
        if not (stands or rules.cheap_delete_entry_alone) or records.get(key) != staged:
            return False
        del records[key]
        return True

    def _delete_late(self, used: tuple[int, Record], key: str, staged: Value) -> Steps:
        yield
        self._delete(used, key, staged)

    def drop(self, uid: int, layer: Layer, *, one: bool = False) -> None:
        """Empty a layer, or take one record out. Nobody may drop what a record lists."""
        record = self.branches.get(uid)
        if record is not None and record.lists(layer):
            raise Broken(f"{layer.id} was dropped and is listed")
        if one and len(self.data.get(layer.id, ())) > 1:
            self.data[layer.id].popitem()
        else:
            self.data.pop(layer.id, None)

    def _apply(
        self, op: Operation, uid: int, old: Record, new: Record | None, writes: dict[str, Value | bool] | None
    ) -> bool:
        if self.branches.get(uid) is not old:
            return False
        if op.kind == "reset":
            self.discarded.update(layer.id for layer in old.layers())
        if new is None:
            del self.branches[uid]
        else:
            if new.commit_id is not old.commit_id:
                self.moves.append((op, new.commit_id, uid))
                if op.kind != "hard reset" and new.commit_id.parent is not old.commit_id:
                    raise Broken(f"{op.kind}: the new head's parent is not the former head")
                if op.kind == "commit":
                    self.trees.append((op, self.now, new.commit_id.tree))
            elif op.kind == "compact" and new.compacted_metarange is not old.compacted_metarange:
                self.trees.append((op, self.now, new.base()))
            self.put(uid, new)
        if writes is not None:
            op.writes = writes
        return True

    def _land(
        self, op: Operation, uid: int, old: Record, new: Record | None, writes: dict[str, Value | bool] | None
    ) -> Steps:
        yield
        self._apply(op, uid, old, new, writes)

    def put(self, uid: int, record: Record) -> None:
        """Set the branch record, whatever stands there."""
        self.branches[uid] = record
        self.past.append((uid, record))


def visible(world: World, record: Record) -> Tree:
    """What one record shows, all at once."""
    return layered(world.data, record.layers(), record.base(), record.commit_id.tree)


def layered(data: Mapping[str, Tree], layers: tuple[Layer, ...], base: Tree, head: Tree) -> Tree:
    """What some layers, newest first, show over a base tree and a head."""
    return {key: lookup(data, layers, base, head, key) for key in KEYS}


def lookup(data: Mapping[str, Tree], layers: tuple[Layer, ...], base: Tree, head: Tree, key: str) -> Value:
    """What a key holds."""
    for layer in layers:
        kind = type(layer)
        if kind is PrefixRemoval:
            if key.startswith(layer.prefix):  # type: ignore[union-attr]
                return None
        elif kind is PrefixRestoration:
            if key.startswith(layer.prefix):  # type: ignore[union-attr]
                return head[key]
        else:
            records = data.get(layer.id)
            if records is not None and key in records:
                return records[key]
    return base[key]


__all__ = ["EXISTS", "Broken", "World", "layered", "lookup", "visible"]
