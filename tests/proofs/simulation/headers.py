"""The judge of headers: which commits references reach, and which headers are removed.

After each change of the store, it reads references and headers beside the engine. A header that a reference has ever
reached is never removed, and no reference leads to a header that is missing. A former head counts as a reference, but
a late adoption may record a removed commit. At the end, none of these records is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import GravelerError
from graveler_core.model.entities import Commit, RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.records import layout as keys
from graveler_core.stores import Stores
from tests.proofs.simulation.history import History, Outcome
from tests.proofs.simulation.observe import Observer
from tests.proofs.simulation.retirement import LEFT
from tests.proofs.simulation.world import World

FORMER = "former head"


@dataclass
class HeaderJudge:
    """Watches the commits of the repository."""

    world: World
    observer: Observer
    history: History
    broken: list[str] = field(default_factory=list)
    """What was wrong at the moment when it was looked at."""
    stored: set[CommitId] = field(default_factory=set)
    reached: set[CommitId] = field(default_factory=set)
    """Commits that a reference has reached."""
    shown: set[CommitId] = field(default_factory=set)
    """Those that a branch or tag has reached. A collection may have adopted others, of which no layout was stored."""
    removed: set[CommitId] = field(default_factory=set)
    """Commits whose headers were deleted."""
    _uid: str = ""
    _headers: dict[CommitId, Commit] = field(default_factory=dict)
    """All headers that were ever stored."""
    _roots: dict[str, CommitId] = field(default_factory=dict)
    total: int = 0
    """Number of headers that were removed, in all repositories of the name."""
    beside: int = 0
    """Number of those that were removed while others were at work."""

    def look(self) -> None:
        """Note what is stored, and what references reach now."""
        repo = self.observer.repo()
        if repo is None or repo.state != "active":
            return
        if repo.uid != self._uid:
            self._uid, self._roots = repo.uid, {}
            self.stored, self.reached, self.shown, self.removed = set(), set(), set(), set()
        self._look_at_headers(repo)
        self._look_at_references(repo)

    @property
    def unreached(self) -> list[CommitId]:
        """Stored commits that no reference has ever reached."""
        return sorted(self.stored - self.reached)

    def is_whole(self, id: CommitId) -> bool:
        """Whether the layout of a commit is stored, too. Nobody knows the id of another one."""
        repo = self.observer.repo()
        return repo is not None and self.observer.read(keys.commit_layout(repo, id)) is not None

    def violations(self) -> Iterator[str]:
        """What was removed although something leads to it, and what cannot be read."""
        yield from self.broken
        repo, stores = self.observer.repo(), self.world.process()
        if repo is None or repo.state != "active":
            return
        yield from self._unreadable(repo, stores)
        for operation in self.history.operations:
            found = operation.answer
            if operation.outcome is Outcome.DONE and isinstance(found, str) and found in self.removed:
                yield f"{operation}: its commit was removed"
        marked, kept = self._former_heads(repo), set[CommitId]()
        for id in sorted(marked - self.stored):
            yield f"{LEFT}: the former head {id[:8]}, which was removed"
        for id in marked & self.stored:
            self._reach(FORMER, id, kept)
        for id in sorted(self.stored - self.reached - kept):
            yield f"{LEFT}: commit {id[:8]}, which no reference has ever reached"

    def _unreadable(self, repo: RepositoryRecord, stores: Stores) -> Iterator[str]:
        for id in sorted(self.reached):
            if id not in self.stored:
                yield f"commit {id[:8]} was reached, and is gone"
            elif id in self.shown or self.is_whole(id):
                try:
                    commit_of(stores, repo, id)
                    self.observer.content(repo, id)
                except (GravelerError, AssertionError) as e:
                    yield f"commit {id[:8]} was reached, and cannot be read: {e}"

    def _look_at_headers(self, repo: RepositoryRecord) -> None:
        folder = keys.commits(repo)
        found = dict[CommitId, Commit]()
        for name, header in self.observer.records.scan(folder):
            found[CommitId(name)] = header
        self._headers |= found
        for id in self.stored - found.keys():
            self.removed.add(id)
            self.total += 1
            self.beside += bool(self.world.scheduler.current)
            if id in self.reached:
                self._note(f"commit {id[:8]} is removed, and a reference has reached it")
        self.stored = set(found)

    def _look_at_references(self, repo: RepositoryRecord) -> None:
        roots = dict[str, CommitId]()
        for folder in (keys.branches(repo), keys.tags(repo)):
            for name, one in self.observer.records.scan(folder):  # type: ignore[var-annotated]
                roots[f"{folder.prefix.decode()}{name}"] = one.commit_id
        for id in self._former_heads(repo) - self.removed:
            roots[f"{FORMER} {id[:8]}"] = id
        if roots == self._roots:
            return
        for name, root in roots.items():
            if self._roots.get(name) != root:
                self._reach(name, root, self.reached)
                if not name.startswith(FORMER):
                    self._reach(name, root, self.shown)
        self._roots = roots

    def _former_heads(self, repo: RepositoryRecord) -> set[CommitId]:
        return {CommitId(name) for name, _ in self.observer.records.scan(keys.former_heads(repo))}

    def _reach(self, name: str, root: CommitId, seen: set[CommitId]) -> None:
        ahead = [root]
        while ahead:
            id = ahead.pop()
            if id not in self.stored:
                self._note(f"{name} leads to commit {id[:8]}, which is gone")
            elif id not in seen:
                seen.add(id)
                ahead += self._headers[id].parents

    def _note(self, what: str) -> None:
        self.broken.append(f"at step {self.world.scheduler.step}, {self.world.scheduler.current}: {what}")
