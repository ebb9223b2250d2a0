"""The truth, looked up beside the engine after every change of the stores: what the branch shows, what its head holds.

A second reading of the layers, written straight from the design and sharing no code with `engine.reading.view`: the
checker would otherwise believe a reader's bug.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar

import pyarrow as pa

from graveler_core.codec.elements import Element, decode_elements
from graveler_core.codec.entry import entries
from graveler_core.codec.staged_record import decode_record
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.scan import scan
from graveler_core.committed.trees import Trees
from graveler_core.kv.store import Store
from graveler_core.model.clock import SystemClock
from graveler_core.model.entities import BranchRecord, Commit, Layout, Record, RepositoryRecord
from graveler_core.model.ids import BranchId, CommitId, MetarangeId, RepositoryId
from graveler_core.model.index import Run
from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from graveler_core.objects.objects import Objects, decode_object
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.staging import segment_layer
from tests.proofs.simulation.beside import Records
from tests.proofs.simulation.history import AGAIN, Value
from tests.proofs.simulation.schedule import Fate
from tests.proofs.simulation.world import TINY, TINY_SIZES, Held, SimBlobs

R = TypeVar("R", bound=Record)
Tree = dict[str, Value]
Layered = Value | Literal["nothing"]
"""What a layer holds at a path: an entry, a tombstone, or nothing."""
Rows = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class State:
    """What stood from a step on, until the next state."""

    step: int
    actor: str
    """Whose call brought it about."""
    repository: RepositoryRecord | None
    record: BranchRecord | None
    shown: Tree | None
    """What each path held, staged changes included; None while there was no branch."""
    head: Tree | None
    listed: dict[str, set[Value]] = field(default_factory=dict)
    """What a listing may show beside that, for paths that somebody has set in a token after it was sealed.

    Such a write was not acknowledged: it is repeated in the token that is current. Readers who keep pages of the sealed
    token need not see it before.
    """
    late: dict[str, set[Value]] = field(default_factory=dict)
    """What somebody has set in a token after it was sealed, though newer layers may hide it.

    A lookup may read the newer layers before they hide such a write, and the sealed token after the write.
    """
    unheard: bool = False
    """A request brought it about whose caller had given it up."""


def _stood(state: State) -> tuple[object, ...]:
    """What makes a state another one. A repository may go while it has no branch."""
    return state.repository is None, state.record, state.shown, state.head, state.listed, state.late


@dataclass(frozen=True, slots=True)
class Retired:
    """A layer that a swap took out of the branch record."""

    step: int
    layer: Layer
    named: bool
    """Whether a cleanup record stood at that moment."""
    rows: Rows
    """What it held. Of a token only entries, whose values are never written again."""


class Unscheduled:
    """Lets the observer read without anyone else taking a step."""

    def give_way(self, what: str, *, writes: bool) -> Fate:
        return Fate.DONE

    def answer(self) -> None:
        """At once."""

    def later(self, what: str, work: Callable[[], object]) -> None:
        raise AssertionError(what)


@dataclass
class Observer:
    """Watches one branch of one repository."""

    kv: Store
    held: Held
    paths: Sequence[str]
    repository: RepositoryId
    branch: BranchId
    states: list[State] = field(default_factory=list)
    heads: dict[CommitId, tuple[RepositoryRecord, Commit]] = field(default_factory=dict)
    """Every commit that was the head, in the order in which they came."""
    retired: list[Retired] = field(default_factory=list)
    _trees: dict[str, Tree] = field(default_factory=dict)
    _contents: dict[str, Tree] = field(default_factory=dict)
    _segments: dict[str, Tree] = field(default_factory=dict)
    _headers: dict[CommitId, Commit] = field(default_factory=dict)
    _sizes: dict[bytes, Value] = field(default_factory=dict)
    """Of staged entries."""
    _rows_since: dict[tuple[str, str], list[Layered]] = field(default_factory=dict)
    """What the rows of sealed tokens have held since the tokens were sealed, by token and path."""

    def __post_init__(self) -> None:
        self.records = Records(self.kv)

    def look(self, step: int, actor: str, *, unheard: bool = False) -> None:
        """Note what stands now, if it differs from what stood."""
        state = replace(self._state(step, actor), unheard=unheard)
        last = self.states[-1] if self.states else None
        if last is None or _stood(last) != _stood(state):
            self.states.append(state)
            if last is not None and last.record is not state.record:
                self._note_retired(last, state)

    def between(self, start: int, end: int) -> Iterator[State]:
        """The states that stood at any time from `start` to `end`."""
        first = max(0, bisect_right(self.states, start, key=lambda state: state.step) - 1)
        for state in self.states[first:]:
            if state.step > end:
                return
            yield state

    def content(self, repo: RepositoryRecord, commit: CommitId) -> Tree:
        """What a commit holds."""
        if commit not in self._contents:
            index = self.layout(repo, commit).index
            found = dict(self._tree(repo, index.metarange_id))
            for run in reversed(index.runs):
                found.update(self._run(repo, run))
            if index.inline:
                found.update(_values(decode_elements(index.inline, commit)))
            self._contents[commit] = {path: size for path, size in found.items() if size is not None}
        return self._contents[commit]

    def header(self, repo: RepositoryRecord, commit: CommitId) -> Commit:
        """The header of a commit, also of one that was cleaned up since it was seen."""
        if commit not in self._headers:
            self._headers[commit] = self._stored(keys.commit(repo, commit))
        return self._headers[commit]

    def is_left(self, repo: RepositoryRecord) -> bool:
        """Whether a repository is there, or could be again: else a cleaner may have emptied it."""
        now = self.read(keys.repository(repo.id))
        return (now is not None and now.uid == repo.uid) or (
            self.read(keys.deleted_repository(repo.id, repo.uid)) is not None
        )

    def layout(self, repo: RepositoryRecord, commit: CommitId) -> Layout:
        """The layout of a commit."""
        return self._stored(keys.commit_layout(repo, commit))

    def repo(self) -> RepositoryRecord | None:
        """The repository's record."""
        return self.read(keys.repository(self.repository))

    def targets(self) -> list[tuple[CommitId, Tree]]:
        """Heads of the repository that stands now, oldest first, and what they hold."""
        now = self.repo()
        same = [c for c, (repo, _) in self.heads.items() if now is not None and repo.uid == now.uid]
        return [] if now is None else [(c, self.content(now, c)) for c in same]

    def rows_left(self, retired: Retired) -> Rows:
        """What is still there of a retired layer."""
        match retired.layer:
            case SealedToken(token=token):
                partition = keys.staging(token)
                stored = [(key, self.kv.get(partition, key)) for key, _ in retired.rows]
                now = [(key, found.value) for key, found in stored if found is not None]
            case _:
                now = [(at.encode(), b"") for at in self.held]
        return [row for row in retired.rows if row in now]

    def trees(self, repo: RepositoryRecord) -> Trees:
        """The committed trees of a repository, read beside the engine."""
        blobs = SimBlobs(self.held, Unscheduled()).at(repo.storage_namespace)
        return Trees(blobs, repo.boundary_seed, TINY, self._cache)

    def indexes(self, repo: RepositoryRecord) -> Indexes:
        """The indexes of a repository, read beside the engine."""
        return Indexes(self.trees(repo), Objects(self.kv, repo, SystemClock()), TINY_SIZES)

    @cached_property
    def _cache(self) -> TreeCache:
        return TreeCache()

    def read(self, where: Location[R]) -> R | None:
        """A record, or None."""
        return self.records.read(where)

    def _stored(self, where: Location[R]) -> R:
        found = self.read(where)
        assert found is not None, f"{where.name} is missing"
        return found

    def _state(self, step: int, actor: str) -> State:
        repo = self.repo()
        if repo is None or repo.state != "active":
            return State(step, actor, None, None, None, None)
        record = self.read(keys.branch(repo, self.branch))
        if record is None:
            return State(step, actor, repo, None, None, None)
        if record.commit_id not in self.heads:
            self.heads[record.commit_id] = (repo, self.header(repo, record.commit_id))
        head = self.content(repo, record.commit_id)
        base = head if record.compacted_metarange is None else self._tree(repo, record.compacted_metarange)
        shown, listed, late = dict[str, Value](), dict[str, set[Value]](), dict[str, set[Value]]()
        for path in self.paths:
            shown[path], others = self._shown(repo, record, path, head, base)
            if others:
                listed[path] = others
            if came := self._came_late(record, path):
                late[path] = came
        return State(step, actor, repo, record, shown, {path: head.get(path) for path in self.paths}, listed, late)

    def _shown(
        self, repo: RepositoryRecord, record: BranchRecord, path: str, head: Tree, base: Tree
    ) -> tuple[Value, set[Value]]:
        """What a path holds; and what else, for readers who do not see what came late to sealed tokens."""
        shown: Layered = "nothing"
        others = set[Value]()
        for layer in (SealedToken(token=record.staging_token), *record.sealed_tokens):
            held: list[Layered] = ["nothing"]
            match layer:
                case SealedToken():
                    held = self._held_since(layer, path, sealed=layer.token != record.staging_token)
                case SegmentLayer():
                    held = [self._segment(repo, layer).get(path, "nothing")]
                case PrefixRemoval() if path.startswith(layer.prefix):
                    held = [None]
                case PrefixRestoration() if path == layer.prefix or (not layer.exact and path.startswith(layer.prefix)):
                    held = [head.get(path)]
            shown = held[0] if shown == "nothing" else shown
            others.update(value for value in held if value != "nothing")
            if "nothing" not in held:
                break
        else:
            others.add(base.get(path))
            shown = base.get(path) if shown == "nothing" else shown
        assert shown != "nothing"
        return shown, others - {shown}

    def _came_late(self, record: BranchRecord, path: str) -> set[Value]:
        """What sealed tokens of a record hold at a path that they did not hold when they were sealed."""
        tokens = [layer for layer in record.sealed_tokens if isinstance(layer, SealedToken)]
        found = [self._held_since(token, path, sealed=True)[0] for token in tokens]
        first = [self._rows_since[token.token, path][0] for token in tokens]
        return {now for now, then in zip(found, first, strict=True) if now not in {then, "nothing"}}

    def _held_since(self, layer: SealedToken, path: str, *, sealed: bool) -> list[Layered]:
        """What a token holds at a path, and then what it has held there since it was sealed."""
        found = self.kv.get(keys.staging(layer.token), keys.staged(path.encode()))
        now: Layered = "nothing"
        if found is not None:
            if found.value not in self._sizes:
                self._sizes[found.value] = _size(found.value)
            now = self._sizes[found.value]
        if not sealed:
            return [now]
        since = self._rows_since.setdefault((layer.token, path), [])
        if now not in since:
            since.append(now)
        return [now, *(held for held in since if held != now)]

    def _note_retired(self, before: State, after: State) -> None:
        repo = before.repository
        if repo is None or before.record is None or after.repository is None or repo.uid != after.repository.uid:
            return
        listed = {layer.id for layer in layers(after.record)}
        for layer in layers(before.record):
            if layer.id not in listed and isinstance(layer, SealedToken | SegmentLayer):
                named = self.read(keys.cleanup(repo, layer.id)) is not None
                self.retired.append(Retired(after.step, layer, named, self._rows(repo, layer)))

    def _rows(self, repo: RepositoryRecord, layer: SealedToken | SegmentLayer) -> Rows:
        if isinstance(layer, SegmentLayer):
            place = f"{repo.storage_namespace.rstrip('/')}/_graveler/staging/{layer.id}/"
            return [(at.encode(), b"") for at in self.held if at.startswith(place)]
        found = self.kv.scan(keys.staging(layer.token))
        # Tombstones, and what is staged time and again: one that came later looks like one that was not dropped.
        told = {None, AGAIN.size}
        return [(row.key, row.value) for row in found if _size(row.value) not in told]

    def _segment(self, repo: RepositoryRecord, layer: SegmentLayer) -> Tree:
        if layer.id not in self._segments:
            found: Tree = {}
            blobs = SimBlobs(self.held, Unscheduled()).at(repo.storage_namespace)
            for table in segment_layer.scan(blobs, layer.id)[1]:
                for key, size, gone in zip(*(table[c].to_pylist() for c in ("key", "size", "tombstone")), strict=True):
                    found[key.decode()] = None if gone else size
            self._segments[layer.id] = found
        return self._segments[layer.id]

    def _run(self, repo: RepositoryRecord, run: Run) -> Tree:
        stored = self.kv.get(*keys.stored_object(repo, run.id))
        if stored is not None:
            return _values(decode_elements(decode_object(stored.value, run.id)[0], run.id))
        file = self.trees(repo).blobs.read(f"_graveler/{run.id}")
        table = pa.ipc.open_stream(pa.BufferReader(file)).read_all()
        columns = (table[name].to_pylist() for name in ("key", "size", "tombstone"))
        return {key.decode(): None if gone else size for key, size, gone in zip(*columns, strict=True)}

    def _tree(self, repo: RepositoryRecord, metarange: MetarangeId) -> Tree:
        if metarange not in self._trees:
            pages = scan(self.trees(repo), metarange)
            self._trees[metarange] = {entry.path: entry.size for page in pages for entry in entries(page)}
        return self._trees[metarange]


def _size(record: bytes) -> Value:
    entry = decode_record("", record)
    return None if entry is None else entry.size


def _values(elements: Sequence[Element]) -> Tree:
    entries = {e.key.decode(): decode_record(e.key.decode(), e.record) for e in elements}
    return {path: None if entry is None else entry.size for path, entry in entries.items()}


def layers(record: BranchRecord | None) -> tuple[Layer, ...]:
    """All layers of a record, the staging token first."""
    return () if record is None else (SealedToken(token=record.staging_token), *record.sealed_tokens)
