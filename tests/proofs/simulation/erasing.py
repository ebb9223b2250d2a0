"""Actors that erase content of some paths, beside others that store content, name it, commit it and move it.

Promises: content of an erasure that is complete does not exist, and neither does content that commits had at its paths
when it began. No other entry loses its content, except for one whose write was never acknowledged. No staged entry has
content that is erased. Whatever was killed, the next call ends the erasure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from graveler_core.engine.reading.branch import get
from graveler_core.erasure.flow import erase, erasures, resume
from graveler_core.erasure.standing import ErasurePlan
from graveler_core.errors import OutcomeUnknown, SlowDown, Unavailable
from graveler_core.kv.store import Store
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.erasure import Erasure, ErasureRule, ErasureState
from graveler_core.objects.erased import erased_contents
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests.proofs.simulation.cast import PATHS, PREFIXES, WORK, Cast
from tests.proofs.simulation.collecting import ELSEWHERE, ERASED_PUTS, ERASURES, put_content
from tests.proofs.simulation.content import ContentJudge, Name, uri_of
from tests.proofs.simulation.history import AFTERWARDS, REFUSALS, REPO, History, Outcome
from tests.proofs.simulation.world import World

THEMES = (ERASURES, ERASED_PUTS)
ERASE = "erase"
REMOVED = frozenset((path, None) for path in PATHS)
OPEN = (Outcome.PENDING, Outcome.UNKNOWN)
GONE = (ErasureState.DELETING, ErasureState.DONE)


def erase_some(cast: Cast, stores: Stores, name: str) -> None:
    """Erase one path, two, or a prefix. A call may end the erasure of another one, and be refused afterwards."""
    chance = cast.chance
    if chance.random() < 0.3:
        rule = ErasureRule(prefix=chance.choice(PREFIXES))
    else:
        rule = ErasureRule(paths=tuple(chance.sample(cast.paths, chance.choice([1, 1, 2]))))
    plan = ErasurePlan(rule, cast.mark(), shared=chance.random() < 0.25)
    with cast.history.operation(ERASE, name, may_set=REMOVED) as operation:
        try:
            erase(stores, get_repository(stores.kv, stores.clock, stores.ids, REPO), plan)
        except (*REFUSALS, SlowDown, Unavailable, OutcomeUnknown) as error:
            operation.error = error


@dataclass
class _Stalling:
    """A store. Its process stalls before one of its calls."""

    inner: Any
    calls: int
    """Number of calls up to the one that waits."""
    stall: Callable[[], None]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            self.calls -= 1
            if self.calls == 0:
                self.stall()
            return found(*args, **options)

        return call


def put_slowly(cast: Cast, stores: Stores, name: str) -> None:
    """Store and stage content, with a pause until another process has ended an erasure, or none is left."""
    before = _ended(cast.history)

    def stall() -> None:
        me = cast.scheduler.current
        cast.scheduler.wait(lambda: _ended(cast.history) > before or cast.scheduler.alone(me))

    put_content(cast, replace(stores, kv=_Stalling(stores.kv, cast.chance.randint(1, 12), stall)), name)


def _ended(history: History) -> int:
    return sum(one.kind == ERASE and one.outcome is not Outcome.PENDING for one in history.operations)


def erase_to_the_end(world: World, history: History) -> None:
    """Long after all others have ended, a new process ends the erasure that somebody has left."""
    stores = world.process()
    world.scheduler.step += 1
    with history.operation(ERASE, AFTERWARDS, may_set=REMOVED):
        resume(stores, get_repository(stores.kv, stores.clock, stores.ids, REPO))
    world.scheduler.step += 1


def the_repository(kv: Store) -> RepositoryRecord:
    """The repository whose content is erased."""
    held = access.read(kv, keys.repository(REPO))
    assert held is not None
    return held.value


@dataclass
class ErasureJudge(ContentJudge):
    """Watches content, and the erasures of the repository."""

    before: dict[str, frozenset[Name]] = field(default_factory=dict)
    """What commits had at the paths of each erasure when it began."""

    def look(self) -> None:
        """Note also what an erasure that has just begun must delete."""
        super().look()
        for repo in self._repository():
            erasing = self.observer.read(keys.erasing(repo.id, repo.uid))
            if erasing is not None and erasing.id not in self.before:
                found = (name for one, name, where in self.named(seen=True) if _is_commit(where, one, repo))
                self.before[erasing.id] = frozenset(n for n in found if _matches(erasing, n.path))

    def all_have_ended(self, theme: str) -> None:
        """Note what the branch shows of erased content, although nothing has moved its head back.

        Content that other paths may keep does not count, and neither does an entry that was perhaps never acknowledged.
        """
        erased, stores = self._erased(), self.world.process()
        for path in PATHS if theme == ERASED_PUTS else ():
            entry = get(stores, REPO, WORK, path)
            uri = "" if entry is None else uri_of(the_repository(self.world.kv), entry)
            erasures_of = erased.get(uri, [])
            if entry is None or not erasures_of or any(one.shared for one in erasures_of):
                continue
            if not any(one.outcome in OPEN for one in self.history.operations if one.sets.get(path) == entry.size):
                self.broken.append(f"{path} shows {uri}, which was erased by {erasures_of[0].rule}")

    def forgotten(self) -> Callable[[RepositoryRecord, Name], bool]:
        """An entry need not have content that is erased, or if it was never acknowledged."""
        erased = self._erased()

        def forgets(repo: RepositoryRecord, name: Name) -> bool:
            own = repo.id == REPO
            of = erased.get(name.uri, [])
            return any(one.shared or (own and _matches(one, name.path)) or self._open(repo, name) for one in of)

        return forgets

    def violations(self) -> Iterator[str]:
        """What is wrong at the end, also with erasures."""
        yield from super().violations()
        for repo in self._repository():
            erased = self._erased()
            for uri, erasures_of in erased.items():
                if uri in self.world.held:
                    yield f"{uri} exists, and was erased by {erasures_of[0].rule}"
            for one in erasures(self.world.process(), repo):
                if one.ended is None:
                    yield f"erasure {one.id} has not ended"
                if one.state is ErasureState.DONE:
                    for name in self.before.get(one.id, ()):
                        if name.uri in self.world.held:
                            yield f"{name.path} was in a commit before {one.rule} was erased, and {name.uri} exists"
            for name in self.staged(repo):
                if name.uri in erased and not self._open(repo, name):
                    yield f"{name.path} is staged, and {name.uri} was erased"

    def _repository(self) -> Iterator[RepositoryRecord]:
        repo = self.observer.read(keys.repository(REPO))
        if repo is not None:
            yield repo

    def _erased(self) -> dict[str, list[Erasure]]:
        """Return the erasures of each object that is deleted, or about to be, by marks that count."""
        found = dict[str, list[Erasure]]()
        for repo in self._repository():
            known = erased_contents(self.world.kv, repo)
            for mark in known.marks():
                one = known.counting(mark)
                if one is not None and one.state in GONE:
                    found.setdefault(f"{repo.storage_namespace}/{mark.address}", []).append(one)
        return found

    def _open(self, repo: RepositoryRecord, name: Name) -> bool:
        """Whether nobody was told that the write of an entry has happened."""
        if repo.id != REPO:
            return any(one.kind == ELSEWHERE and one.outcome in OPEN for one in self.history.operations)
        writes = [one for one in self.history.operations if one.sets.get(name.path) == name.size]
        return bool(writes) and all(one.outcome in OPEN for one in writes)


def _matches(erasure: Erasure, path: str) -> bool:
    return path.startswith(erasure.prefix) if erasure.prefix else path in erasure.paths


def _is_commit(where: str, found: RepositoryRecord, repo: RepositoryRecord) -> bool:
    return found.uid == repo.uid and where.startswith("commit ")
