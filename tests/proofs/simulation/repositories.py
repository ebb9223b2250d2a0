"""Promise 7, watched at the registers: what stands under the names of repositories, who changed it, and whether it is
whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from graveler_core.codec.records import decode
from graveler_core.errors import Kind
from graveler_core.kv.store import Store
from graveler_core.model.entities import RepositoryRecord, RepositoryState
from graveler_core.model.ids import RepositoryId, RepositoryUid
from graveler_core.objects import owner_files
from graveler_core.records import layout as keys
from tests.proofs.simulation.history import History, Operation, Outcome
from tests.proofs.simulation.observe import Observer
from tests.proofs.simulation.retirement import LEFT

ACTIVE, INITIAL, DELETING = RepositoryState.ACTIVE, RepositoryState.INITIAL, RepositoryState.DELETING
ALLOWED = {
    (None, INITIAL),
    (INITIAL, ACTIVE),
    (INITIAL, DELETING),
    (INITIAL, None),
    (ACTIVE, ACTIVE),
    (ACTIVE, DELETING),
    (DELETING, None),
    (DELETING, INITIAL),
    (INITIAL, INITIAL),
}
"""What a register may become; the last two by a restoration that finds what a deletion or another one left."""


@dataclass(frozen=True, slots=True)
class Register:
    """What stood under a name from a step on."""

    step: int
    actor: str
    record: RepositoryRecord | None

    @property
    def active(self) -> bool:
        return self.record is not None and self.record.state is ACTIVE

    @property
    def uid(self) -> RepositoryUid | None:
        return None if self.record is None else self.record.uid


@dataclass
class Registers:
    """Watches the records of all repositories."""

    kv: Store
    observer: Observer
    names: dict[RepositoryId, list[Register]] = field(default_factory=dict)
    marks: dict[str, RepositoryUid] = field(default_factory=dict)
    """Which repository that became visible has the first commit of which creation."""
    broken: list[str] = field(default_factory=list)
    """What was wrong at the moment when it was looked at."""
    _raw: dict[RepositoryId, bytes] = field(default_factory=dict)

    def look(self, step: int, actor: str) -> None:
        """Note what stands now, if it differs from what stood."""
        rows = {row.key: row.value for row in self.kv.scan(keys.GRAVELER, prefix=keys.REPOSITORIES.prefix)}
        found = {RepositoryId(key[len(keys.REPOSITORIES.prefix) :].decode()): value for key, value in rows.items()}
        if found == self._raw:
            return
        begun = bool(self.names)
        for name in sorted(found.keys() | self._raw.keys()):
            if found.get(name) != self._raw.get(name):
                record = None if name not in found else decode(RepositoryRecord, found[name], name)
                before = self.names.setdefault(name, [Register(-1, "", None)])[-1]
                self.names[name].append(Register(step, actor, record))
                if begun:
                    self._judge(before, self.names[name][-1])
        self._raw = found

    def between(self, name: RepositoryId, start: int, end: int) -> Iterator[Register]:
        """What stood under a name at any time from `start` to `end`."""
        states = self.names.get(name, [Register(-1, "", None)])
        for state, following in zip(states, [*states[1:], None], strict=True):
            if state.step <= end and (following is None or following.step > start):
                yield state

    def _judge(self, before: Register, now: Register) -> None:
        where = f"at step {now.step}, {now.actor}:"
        old, new = before.record, now.record
        became = old.state if old else None, new.state if new else None
        other = old is not None and new is not None and (old.uid != new.uid or not _only_settings(old, new))
        if became not in ALLOWED or other:
            self.broken.append(f"{where} {_words(old)} became {_words(new)}")
        if new is not None and now.active and not before.active:
            self._judge_active(where, new)
        if new is None and old is not None and old.state is DELETING:
            self._judge_removed(where, old, now.actor)

    def _judge_active(self, where: str, repo: RepositoryRecord) -> None:
        claim = self.observer.read(keys.namespace_claim(repo.storage_namespace))
        if claim is None or claim.owner != repo.uid:
            self.broken.append(f"{where} {_words(repo)} does not own {repo.storage_namespace}")
        if owner_file(repo.storage_namespace, repo.uid) not in self.observer.held:
            self.broken.append(f"{where} {_words(repo)} has no owner file in {repo.storage_namespace}")
        branch = self.observer.read(keys.branch(repo, repo.default_branch))
        if branch is None:
            self.broken.append(f"{where} {_words(repo)} has no default branch")
            return
        self.marks[self.observer.header(repo, branch.commit_id).committer] = repo.uid
        self.observer.content(repo, branch.commit_id)
        standing = [s[-1].record for s in self.names.values() if s[-1].active]
        for one, other in combinations([r for r in standing if r is not None], 2):
            if f"{other.storage_namespace}/".startswith(f"{one.storage_namespace}/") or (
                f"{one.storage_namespace}/".startswith(f"{other.storage_namespace}/")
            ):
                self.broken.append(f"{where} {_words(one)} and {_words(other)} share a namespace")

    def _judge_removed(self, where: str, repo: RepositoryRecord, actor: str) -> None:
        entry = self.observer.read(keys.deleted_repository(repo.id, repo.uid))
        creator = next(s.actor for s in self.names[repo.id] if s.record is not None and s.record.uid == repo.uid)
        # A creation that was refused takes its record back, and owns nothing else. What a failed restoration left may
        # outlast the entry, where another cleaner has emptied the repository: it released the namespace before.
        claim = self.observer.read(keys.namespace_claim(repo.storage_namespace))
        emptied = repo.was_active and (claim is None or claim.owner != repo.uid)
        if entry is None and creator != actor and not emptied:
            self.broken.append(f"{LEFT}: {where} {_words(repo)} is gone, and nothing tells the cleaner")


def owner_file(namespace: str, uid: RepositoryUid) -> str:
    """Where the owner file of a repository is."""
    return f"{namespace}/{owner_files.address(uid)}"


def violations(history: History, registers: Registers) -> Iterator[str]:
    """What breaks promise 7."""
    yield from registers.broken
    for name, states in registers.names.items():
        yield from _vanished(history, name, states)
    for operation in history.operations:
        yield from _answered(operation, registers, history)


def _vanished(history: History, name: RepositoryId, states: list[Register]) -> Iterator[str]:
    deletions = [o for o in history.operations if o.kind == "delete repository" and o.repository == name]
    for before, after in pairwise(states):
        by = [o for o in deletions if o.actor == after.actor and o.start <= after.step <= o.end]
        if before.active and not after.active and not by:
            yield f"at step {after.step}, {_words(before.record)} was taken away by {after.actor}, who deletes nothing"


def _answered(operation: Operation, registers: Registers, history: History) -> Iterator[str]:
    stood = list(registers.between(operation.repository, operation.start, operation.end))
    error = operation.error
    missed = error is not None and error.kind in (Kind.RepositoryNotFound, Kind.RepositoryDeleting)
    untouched = all(state.active for state in stood) and len({state.uid for state in stood}) == 1
    if operation.kind == "undelete repository":
        restored = [s for s in stood if s.active and s.record is not None and s.record.uid == operation.answer]
        if operation.outcome is Outcome.DONE and not restored:
            yield f"{operation}: was never there"
        return
    if missed and untouched:
        yield f"{operation}: the repository was there all the time"
    if operation.kind == "create repository":
        made = registers.marks.get(operation.mark)
        if operation.outcome is Outcome.NOTHING and made is not None:
            yield f"{operation}: has happened"
        if operation.outcome is Outcome.DONE and not any(s.active and s.record.uid == made for s in stood if s.record):
            yield f"{operation}: was never there"
    if operation.kind == "delete repository" and operation.outcome is Outcome.NOTHING:
        for before, after in pairwise(registers.names.get(operation.repository, [])):
            mine = after.actor == operation.actor and operation.start <= after.step <= operation.end
            if mine and before.active and not after.active and not _came_late(history, operation, after):
                yield f"{operation}: has happened, at step {after.step}"
    if operation.kind == "delete repository" and operation.outcome is Outcome.DONE and untouched:
        yield f"{operation}: it is still there"


def _came_late(history: History, operation: Operation, change: Register) -> bool:
    """Whether an earlier call of the same actor, of which nobody knows what became, may have made the change."""
    earlier = (o for o in history.operations if o.actor == operation.actor and o.start < operation.start)
    return any(o.kind == operation.kind and o.end >= change.step for o in earlier)


def _only_settings(old: RepositoryRecord, new: RepositoryRecord) -> bool:
    """Whether an active repository that stays active has a fresh nonce, and else nothing new but settings."""
    names = ("read_only", "protection", "required_checks", "addresses_checked", "former_heads", "erasures", "nonce")
    settings = {name: getattr(new, name) for name in names}
    stays = old.state is new.state is ACTIVE
    return not stays or (old.nonce != new.nonce and old.model_copy(update=settings) == new)


def _words(repo: RepositoryRecord | None) -> str:
    return "nothing" if repo is None else f"repository {repo.id} {repo.uid[:8]} ({repo.state})"
