"""The truth, looked up beside the engine after every change of the stores: what the branch shows, what its head holds.

A second reading of the layers, written straight from the design and sharing no code with `engine.view`: the checker
would otherwise believe a reader's bug.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from graveler_core.codec.entry import entries
from graveler_core.codec.records import decode
from graveler_core.codec.staged_record import decode_record
from graveler_core.committed.scan import scan
from graveler_core.committed.trees import Trees
from graveler_core.kv.store import Store
from graveler_core.model.entities import Branch, Commit, Layout, Repository
from graveler_core.model.ids import BranchId, CommitId, RepositoryId
from graveler_core.model.layers import PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from graveler_core.records import layout as keys
from graveler_core.staging import segment_layer
from tests.simulation.history import Value
from tests.simulation.schedule import Fate
from tests.simulation.world import TINY, SimBlobs

Tree = dict[str, Value]


@dataclass(frozen=True, slots=True)
class State:
    """What stood from a step on, until the next state."""

    step: int
    record: Branch | None
    shown: Tree | None
    """What each path held, staged changes included; None while there was no branch."""
    head: Tree | None


class _Unscheduled:
    """Lets the observer read without anyone else taking a step."""

    def give_way(self, what: str, *, writes: bool) -> Fate:
        return Fate.DONE


@dataclass
class Observer:
    """Watches one branch of one repository."""

    kv: Store
    held: dict[str, bytes]
    paths: Sequence[str]
    repository: RepositoryId
    branch: BranchId
    states: list[State] = field(default_factory=list)
    parents: dict[CommitId, CommitId | None] = field(default_factory=dict)
    """The first parent of each head."""
    _trees: dict[str, Tree] = field(default_factory=dict)
    _segments: dict[str, Tree] = field(default_factory=dict)

    def look(self, step: int) -> None:
        """Note what stands now, if it differs from what stood."""
        state = self._state(step)
        last = self.states[-1] if self.states else None
        if last is None or (last.record, last.shown, last.head) != (state.record, state.shown, state.head):
            self.states.append(state)

    def between(self, start: int, end: int) -> Iterator[State]:
        """The states that stood at any time from `start` to `end`."""
        first = max(0, bisect_right(self.states, start, key=lambda state: state.step) - 1)
        for state in self.states[first:]:
            if state.step > end:
                return
            yield state

    def content(self, repo: Repository, commit: CommitId) -> Tree:
        """What a commit holds."""
        return self._tree(repo, self._layout(repo, commit).metarange_id)

    def header(self, repo: Repository, commit: CommitId) -> Commit:
        """The header of a commit."""
        where = keys.commit(repo, commit)
        stored = self.kv.get(where.partition, where.key)
        assert stored is not None, f"the head {commit} has no header"
        return decode(Commit, stored.value, where.name)

    def repo(self) -> Repository:
        """The repository's record."""
        where = keys.repository(self.repository)
        stored = self.kv.get(where.partition, where.key)
        assert stored is not None
        return decode(Repository, stored.value, where.name)

    def has_cleanup(self, layer_id: str) -> bool:
        """Whether a cleanup record names a layer."""
        where = keys.cleanup(self.repo(), layer_id)
        return self.kv.get(where.partition, where.key) is not None

    def _layout(self, repo: Repository, commit: CommitId) -> Layout:
        where = keys.commit_layout(repo, commit)
        stored = self.kv.get(where.partition, where.key)
        assert stored is not None, f"the head {commit} has no layout"
        return decode(Layout, stored.value, where.name)

    def _state(self, step: int) -> State:
        where = keys.repository(self.repository)
        stored = self.kv.get(where.partition, where.key)
        repo = None if stored is None else decode(Repository, stored.value, where.name)
        if repo is None or repo.state != "active":
            return State(step, None, None, None)
        at = keys.branch(repo, self.branch)
        stored = self.kv.get(at.partition, at.key)
        if stored is None:
            return State(step, None, None, None)
        record = decode(Branch, stored.value, at.name)
        head = self.content(repo, record.commit_id)
        self.parents[record.commit_id] = next(iter(self.header(repo, record.commit_id).parents), None)
        base = head if record.compacted_metarange is None else self._tree(repo, record.compacted_metarange)
        shown = {path: self._shown(record, path, head, base) for path in self.paths}
        return State(step, record, shown, {path: head.get(path) for path in self.paths})

    def _shown(self, record: Branch, path: str, head: Tree, base: Tree) -> Value:
        for layer in (SealedToken(token=record.staging_token), *record.sealed_tokens):
            match layer:
                case SealedToken():
                    found = self.kv.get(keys.staging(layer.token), keys.staged(path.encode()))
                    if found is not None:
                        entry = decode_record(path, found.value)
                        return None if entry is None else entry.size
                case SegmentLayer():
                    segment = self._segment(layer)
                    if path in segment:
                        return segment[path]
                case PrefixRemoval() if path.startswith(layer.prefix):
                    return None
                case PrefixRestoration() if path.startswith(layer.prefix):
                    return head.get(path)
        return base.get(path)

    def _segment(self, layer: SegmentLayer) -> Tree:
        if layer.id not in self._segments:
            found: Tree = {}
            for table in segment_layer.scan(SimBlobs(self.held, _Unscheduled()), layer.id):  # type: ignore[arg-type]
                for key, size, gone in zip(*(table[c].to_pylist() for c in ("key", "size", "tombstone")), strict=True):
                    found[key.decode()] = None if gone else size
            self._segments[layer.id] = found
        return self._segments[layer.id]

    def _tree(self, repo: Repository, metarange: str) -> Tree:
        if metarange not in self._trees:
            trees = Trees(SimBlobs(self.held, _Unscheduled()), repo.boundary_seed, TINY)  # type: ignore[arg-type]
            pages = scan(trees, metarange)  # type: ignore[arg-type]
            self._trees[metarange] = {entry.path: entry.size for page in pages for entry in entries(page)}
        return self._trees[metarange]
