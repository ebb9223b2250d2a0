"""Actors that create, move, delete and undelete branches, and the judge of the log that is kept of it.

The judge watches the records of two branches. What it saw is what happened; the log must tell all deletions, each once
and with the head that the branch had, and nothing that did not happen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from graveler_core.codec.records import decode
from graveler_core.engine.committing import commit
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.reading.view import commit_of
from graveler_core.engine.references import branching, reflog, reset
from graveler_core.engine.references.events import fold
from graveler_core.engine.staging import write
from graveler_core.kv.store import Store
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.model.references import EventKind, ReferenceEvent
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.repositories import find
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests.proofs.simulation.cast import MAIN, PATHS, Cast
from tests.proofs.simulation.history import REPO

NAMES = (BranchId("x"), BranchId("y"))
THEME = "references"
_ROOM = 8
"""So many moves a record remembers."""


def name_one(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation("name", name):
        branching.create_branch(stores, REPO, cast.chance.choice(NAMES), MAIN)


def drop_one(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation("drop", name):
        branching.delete_branch(stores, REPO, cast.chance.choice(NAMES), by=name)


def undelete_one(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation("undelete", name):
        branching.undelete_branch(stores, REPO, cast.chance.choice(NAMES))


def move_one(cast: Cast, stores: Stores, name: str) -> None:
    branch = cast.chance.choice(NAMES)
    with cast.history.operation("move", name):
        if cast.chance.random() < 0.4:
            reset.hard_reset(stores, REPO, branch, str(MAIN))
        else:
            write.stage(stores, REPO, branch, PATHS[0], cast.entry())
            commit.commit(stores, REPO, branch, Draft(cast.mark(), name))


def fold_log(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation("fold log", name):
        fold(stores, get_repository(stores.kv, stores.clock, stores.ids, REPO))


@dataclass
class Life:
    """A branch from its creation on, as it was seen."""

    name: str
    heads: list[CommitId]
    epochs: list[int]
    gone: bool = False


@dataclass
class References:
    """Watches the records of the branches."""

    kv: Store
    lives: dict[str, Life] = field(default_factory=dict)
    """By uid."""
    _raw: dict[bytes, bytes] = field(default_factory=dict)

    def look(self) -> None:
        """Note what stands now."""
        held = find(self.kv, REPO)
        if held is None:
            return
        folder = keys.branches(held.value)
        found = {row.key: row.value for row in self.kv.scan(folder.partition, prefix=folder.prefix)}
        if found == self._raw:
            return
        self._raw = found
        records = [decode(BranchRecord, value, "branch") for value in found.values()]
        for record in records:
            life = self.lives.setdefault(record.uid, Life(record.id, [record.commit_id], [record.epoch]))
            if record.commit_id != life.heads[-1]:
                life.heads.append(record.commit_id)
                life.epochs.append(record.epoch)
            life.epochs[-1] = record.epoch
        standing = {record.uid for record in records}
        for uid, life in self.lives.items():
            life.gone |= uid not in standing


def violations(stores: Stores, watched: References) -> Iterator[str]:
    """What is wrong with the log at the end of a history."""
    repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
    told = list(reflog.events(stores, repo))
    if [event.id for event in told] != sorted({event.id for event in told}):
        yield "the log of references tells something twice, or not in order"
    deleted = [event for event in told if event.kind is EventKind.DELETED]
    for uid, life in watched.lives.items():
        mine = [event for event in deleted if event.uid == uid]
        if len(mine) != life.gone:
            yield f"branch {life.name} {uid[:8]}: gone: {life.gone}, and the log tells it {len(mine)} times"
        for event in mine:
            if event.before != life.heads[-1]:
                yield f"branch {life.name} {uid[:8]}: was deleted at {life.heads[-1]}, the log says {event.before}"
        if life.gone:
            yield from _life(uid, life, [event for event in told if event.uid == uid])
    for event in told:
        yield from _happened(event, watched)
    yield from _forgotten(stores, repo, watched)
    for name in NAMES:
        known = list(reflog.of_name(stores, repo, name))
        for uid, life in watched.lives.items():
            if life.name == name:
                yield from _life(uid, life, [event for event in known if event.uid == uid], moves=True)


def _forgotten(stores: Stores, repo: RepositoryRecord, watched: References) -> Iterator[str]:
    """Which commits were heads, and nothing tells it: no branch leads to them, and no record of a former head."""
    ahead = [CommitId(name) for name, _ in access.scan(stores.kv, keys.former_heads(repo))]
    ahead += [held.value.commit_id for _, held in access.scan(stores.kv, keys.branches(repo))]
    reached = set[CommitId]()
    while ahead:
        id = ahead.pop()
        if id not in reached:
            reached.add(id)
            ahead += commit_of(stores, repo, id).header.parents
    for life in watched.lives.values():
        for head in life.heads:
            if head not in reached:
                yield f"branch {life.name}: was at {head[:8]}, and nothing tells it"


def _life(uid: str, life: Life, told: list[ReferenceEvent], *, moves: bool = False) -> Iterator[str]:
    """Whether all is told that a record takes with it, or remembers."""
    where = f"branch {life.name} {uid[:8]}"
    if not any(event.kind is EventKind.CREATED for event in told) and life.name in NAMES:
        yield f"{where}: was created, and nothing tells it"
    steps = list(zip(life.heads, life.heads[1:], life.epochs, life.epochs[1:], strict=False))[-_ROOM:]
    for before, after, old, new in steps:
        kind = EventKind.ASSIGNED if new != old else EventKind.MOVED
        wanted = moves or kind is EventKind.ASSIGNED
        if wanted and (kind, before, after) not in [(e.kind, e.before, e.after) for e in told]:
            yield f"{where}: {kind} from {before[:8]} to {after[:8]}, and nothing tells it"


def _happened(event: ReferenceEvent, watched: References) -> Iterator[str]:
    life = watched.lives.get(event.uid)
    if life is None or life.name != event.name:
        yield f"the log tells of {event.name} {event.uid[:8]}, which was never there"
    elif event.kind is EventKind.CREATED and event.after != life.heads[0]:
        yield f"branch {life.name}: was created at {life.heads[0]}, the log says {event.after}"
    elif event.kind is EventKind.ASSIGNED and (event.before, event.after) not in zip(
        life.heads, life.heads[1:], strict=False
    ):
        yield f"branch {life.name}: never went from {event.before} to {event.after}, as the log says"
