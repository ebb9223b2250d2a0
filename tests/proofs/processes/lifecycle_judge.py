"""Judge of lifecycles: compares the journals of all processes with the content of the store.

An operation without an answer may have happened until its actor began another one; `refused` ones did not happen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.branches import list_branches
from graveler_core.stores import Stores
from tests.proofs.processes.journal import NEVER, Operation
from tests.proofs.processes.judge import checksums
from tests.proofs.processes.lifecycle_actor import COMMITTED, SOURCE, STAGED


class LifecycleJudge:
    """All journals of a run."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = _ended(operations)
        happened = [operation for operation in self.operations if operation.outcome != "refused"]
        self.births = [operation for operation in happened if operation.verb in ("create", "undelete")]
        self.deaths = [operation for operation in happened if operation.verb == "delete"]
        self.fills = {o.answer: o for o in happened if o.verb == "fill" and o.outcome == "done"}
        self.attempts = [operation for operation in self.operations if operation.verb == "fill"]
        self.names = sorted({str(birth.values["name"]) for birth in self.births})

    def births_alternate(self) -> Iterator[str]:
        """Of one name there never are two: a deletion may have come between any two of its creations."""
        for name in self.names:
            for one, other in pairwise(_done(self.births, name)):
                began, ended = min(one.began, other.began), max(one.ended, other.ended)
                if not any(death.began < ended and death.ended > began for death in _of(self.deaths, name)):
                    yield f"{name}: {one} and {other} both succeeded"

    def standing(self, name: str, uid: str | None) -> Iterator[str]:
        """Whether what bears the name at the end may bear it; None for nothing."""
        births, deaths = _of(self.births, name), _of(self.deaths, name)
        for birth in _done(births, name):
            if uid != birth.answer and not any(death.ended > birth.began for death in deaths):
                yield f"{name}: {birth} was acknowledged, nobody deleted it, and {uid} stands"
        last = max((death.began for death in _done(deaths, name)), default=-1)
        may = [birth for birth in births if birth.outcome != "done" or birth.answer == uid]
        if uid is not None and not any(birth.ended > last for birth in may):
            yield f"{name}: {uid} stands, and nobody created it after it was deleted"

    def content(self, repository: Repository) -> Iterator[str]:
        """Whether a repository is whole: its first commit, and what was committed and staged on it."""
        first = [entry for entry in repository.log("main") if entry.generation == 1]
        marks = {birth.values["mark"] for birth in self.births if birth.verb == "create"}
        if len(first) != 1 or first[0].committer not in marks:
            yield f"{repository!r}: nobody began it with {first}"
        fill = self.fills.get(repository.uid)
        if fill is None:
            return
        marks, held = self._marks(repository, fill), checksums(repository, "main")
        committed = repository.branch("main").read(COMMITTED).decode() if COMMITTED in held else None
        if held.get(STAGED) not in marks or committed not in marks:
            yield f"{repository!r}: was filled with one of {marks} and holds {held}, with the content {committed}"

    def _marks(self, repository: Repository, fill: Operation) -> set[str]:
        """Of the creator who filled it, and of those that were filling another one of its name when it was born."""
        name = str(fill.values["name"])
        births = [
            birth for birth in _of(self.births, name) if birth.outcome != "done" or birth.answer == repository.uid
        ]

        def may_write(other: Operation) -> bool:
            return any(other.began < birth.ended and birth.began < other.ended for birth in births)

        late = filter(may_write, _of(self.attempts, name))
        return {str(operation.values["mark"]) for operation in [fill, *late]}

    def moves(self, graveler: Graveler) -> Iterator[str]:
        """Every repository that was moved has the history and the content of its source at that time."""
        source = graveler.repository(SOURCE)
        for move in self.operations:
            if move.verb != "move" or move.outcome != "done":
                continue
            assert move.answer is not None
            name = str(move.values["name"])
            target = graveler.repository(name)
            histories = [[e.id for e in repo.log(ref)] for repo, ref in ((source, move.answer), (target, "main"))]
            if histories[0] != histories[1] or checksums(source, move.answer) != checksums(target, "main"):
                yield f"{move}: {target!r} is not what its source was"
            if target.commit(name).id != move.answer:
                yield f"{move}: {target!r} lacks its tag"


def leftovers(stores: Stores, partitions: Sequence[bytes]) -> Iterator[str]:
    """What leads to no repository: entries of deleted ones, claims, records that are not active, partitions."""
    repositories = [held.value for _, held in access.scan(stores.kv, keys.REPOSITORIES)]
    yield from (f"{repo.id} is {repo.state}" for repo in repositories if repo.state != "active")
    yield from (f"entry {name}" for name, _ in access.scan(stores.kv, keys.DELETED_REPOSITORIES))
    places = {repo.storage_namespace: repo.uid for repo in repositories}
    claims = {uri: held.value.owner for uri, held in access.scan(stores.kv, keys.NAMESPACES)}
    if places != claims:
        yield f"claims {claims} of namespaces {places}"
    known = {keys.REPOSITORIES.partition, keys.STATS}
    for repo in repositories:
        cleanups = (held.value for _, held in access.scan(stores.kv, keys.cleanups(repo)))
        known.update(keys.partitions(repo, list_branches(stores.kv, repo), cleanups))
    yield from (f"partition {partition!r}" for partition in partitions if partition not in known)


def _ended(operations: Sequence[Operation]) -> list[Operation]:
    """With an end for those that were told none: before the actor's next one began, it was over."""
    ended = []
    nexts: dict[str, int] = {}
    for operation in sorted(operations, key=lambda operation: -operation.began):
        known = replace(operation, ended=min(operation.ended, nexts.get(operation.actor, NEVER)))
        nexts[operation.actor] = operation.began
        ended.append(known)
    return ended[::-1]


def _of(operations: Sequence[Operation], name: str) -> list[Operation]:
    return [operation for operation in operations if operation.values["name"] == name]


def _done(operations: Sequence[Operation], name: str) -> list[Operation]:
    """Those that were acknowledged, in order of that."""
    done = [operation for operation in _of(operations, name) if operation.outcome == "done"]
    return sorted(done, key=lambda operation: operation.ended)
