"""The actors that clean up and bring back, and the judge of what they leave.

Cleaners that are at work among others wait for nobody: whatever they take then must be out of reach by the registers
alone. What a call that stalls may leave behind them no cleaner can find; so all that is left is judged where cleaners
come when all others have ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

from graveler_core.codec.records import decode
from graveler_core.engine.cleaning import CleaningPlan, clean
from graveler_core.engine.repositories import deletion
from graveler_core.engine.repositories import undeletion as undelete
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.model.entities import BranchRecord, RepositoryRecord, RepositoryState
from graveler_core.model.layers import Layer
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores
from tests.proofs.simulation.cast import OTHER, Cast
from tests.proofs.simulation.history import REPO, History, Operation, Outcome
from tests.proofs.simulation.observe import Observer, layers
from tests.proofs.simulation.repositories import Registers, owner_file
from tests.proofs.simulation.retirement import LEFT
from tests.proofs.simulation.world import World

AMONG_OTHERS = "cleaning"
LAYERS = "cleaning of layers"
CONTESTED = "cleaning and restorations"
UNHEARD = "cleaning and restorations, answers lost"
AT_THE_END = "leftovers"
RESTORATIONS = "restorations"
THEMES = (AMONG_OTHERS, LAYERS, CONTESTED, UNHEARD, AT_THE_END, RESTORATIONS)
NOBODY = timedelta(0)
WALKS = 5
"""After so many nothing is left: what stopped half-way is deleted, taken, its names given back; layers are claimed."""


def clean_up(cast: Cast, stores: Stores, name: str) -> None:
    if cast.chance.random() < 0.4:
        cast.scheduler.jump(timedelta(minutes=3))
    limit = cast.chance.choice([None, None, 1, 3])
    undelete_within = cast.chance.choice([NOBODY, NOBODY, timedelta(days=1)])
    plan = CleaningPlan(undelete_within, late=NOBODY, building=NOBODY, limit=limit)
    with cast.history.operation("clean", name) as operation:
        done = clean(stores, plan)
        emptied = done.repositories
        while done.next is not None:
            done = clean(stores, plan, after=done.next)
            emptied += done.repositories
        operation.answer = emptied


def bring_back(cast: Cast, stores: Stores, name: str) -> None:
    repo = cast.chance.choice([REPO, REPO, REPO, OTHER])
    with cast.history.operation("undelete repository", name, repository=repo) as operation:
        operation.answer = undelete.undelete_repository(stores, repo).uid


def delete_and_bring_back(cast: Cast, stores: Stores, name: str) -> None:
    delete_only(cast, stores, name)
    for _ in range(cast.chance.choice([1, 1, 2])):
        bring_back(cast, stores, name)


def delete_only(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation("delete repository", name):
        deletion.delete_repository(stores, REPO)


def grant(history: History, observer: Observer) -> None:
    """Let restorations show what was shown once, and what calls did that nobody saw: they were under way at a deletion.

    Which of all that is shown again is judged below.
    """
    deaths = [o for o in history.operations if o.kind == "delete repository" and o.may_have_happened]
    for back in history.operations:
        if back.kind == "undelete repository" and back.repository == REPO:
            shown = (state.shown or {} for state in observer.states if state.step < back.end)
            possible = (o for o in history.operations if o.may_have_happened and o.start < back.end)
            late = (o.sets for o in possible if any(_meet(o, death) for death in deaths))
            back.may_set |= {change for sets in (*shown, *late) for change in sets.items()}


def clean_to_the_end(world: World) -> None:
    """Long after all others have ended."""
    stores = world.process()
    world.scheduler.jump(timedelta(days=30))
    for _ in range(WALKS):
        done = clean(stores, CleaningPlan(NOBODY, late=NOBODY, building=NOBODY, keys_for=NOBODY))
        assert not done.failures, done.failures


def violations(world: World, history: History, observer: Observer, registers: Registers, theme: str) -> Iterator[str]:
    """What restorations have lost, and what is left for ever."""
    if theme not in THEMES:
        return
    yield from _not_whole(history, observer, registers)
    yield from _given_up(history)
    active = [held.value for _, held in access.scan(world.kv, keys.REPOSITORIES)]
    for repo in active:
        if repo.state is not RepositoryState.ACTIVE:
            yield f"{LEFT}: repository {repo.id} {repo.uid[:8]} is {repo.state}"
    for name, _ in access.scan(world.kv, keys.DELETED_REPOSITORIES):
        yield f"{LEFT}: the entry {name}"
    for repo in active:
        claim = observer.read(keys.namespace_claim(repo.storage_namespace))
        if repo.state is RepositoryState.ACTIVE and (claim is None or claim.owner != repo.uid):
            yield f"repository {repo.id} {repo.uid[:8]} has lost its storage namespace"
    yield from _owner_files(world, active)
    uids = {repo.uid for repo in active}
    for uri, held in access.scan(world.kv, keys.NAMESPACES):
        if held.value.owner not in uids:
            yield f"{LEFT}: the claim on {uri}"
    if theme in (AT_THE_END, RESTORATIONS):
        yield from _garbage(world, active)


def _owner_files(world: World, active: list[RepositoryRecord]) -> Iterator[str]:
    """Those that repositories have lost, and those of repositories that are gone. An abandoned namespace keeps its."""
    needed = {owner_file(repo.storage_namespace, repo.uid) for repo in active if repo.state is RepositoryState.ACTIVE}
    for at in needed - set(world.held):
        yield f"the owner file {at} is lost"
    abandoned = {owner_file(uri, held.value.uid) for uri, held in access.scan(world.kv, keys.ABANDONED)}
    for at in set(world.held) - needed - abandoned:
        if owner_files.PREFIX in at:
            yield f"{LEFT}: {at}"


def _garbage(world: World, active: list[RepositoryRecord]) -> Iterator[str]:
    """Rows and files that belong to no active repository, or to no layer of one."""
    assert isinstance(world.kv, MemoryStore)
    listed = {layer.id for repo in active for layer in _layers(world, repo)}
    own = {f"{repo.id}-{repo.uid}" for repo in active}
    for name, rows in world.kv._memory.partitions.items():
        partition = name.decode()
        whose = partition if "/" in partition else "-".join(partition.split("-")[:2])
        known = {"graveler", "graveler_deleted", "graveler_stats"} | own | listed
        if rows.keys and whose not in known:
            yield f"{LEFT}: {len(rows.keys)} rows of {partition}"
    for at in world.held:
        layer = at.partition("_graveler/staging/")[2].partition("/")[0]
        if layer and layer not in listed:
            yield f"{LEFT}: {at}"
    for repo in active:
        for layer_id, _ in access.scan(world.kv, keys.cleanups(repo)):
            if layer_id not in listed:
                yield f"{LEFT}: the record of layer {layer_id}"


def _layers(world: World, repo: RepositoryRecord) -> Iterator[Layer]:
    folder = keys.branches(repo)
    for row in world.kv.scan(folder.partition, prefix=folder.prefix):
        yield from layers(decode(BranchRecord, row.value, "branch"))


def _not_whole(history: History, observer: Observer, registers: Registers) -> Iterator[str]:
    """What is restored shows what it showed when it was deleted, but for what calls did that were under way."""
    for before, after in pairwise(registers.names.get(REPO, [])):
        if before.active or not after.active or after.record is None or not after.record.was_active:
            continue
        mine = [s for s in observer.states if s.repository is not None and s.repository.uid == after.record.uid]
        then = [s for s in mine if s.step < after.step]
        now = next((s for s in mine if s.step >= after.step), None)
        if not then or now is None or now.step > after.step or then[-1].shown is None or now.shown is None:
            continue
        gone = next(s.step for s in observer.states if s.step > then[-1].step)
        for path, value in now.shown.items():
            before_it = then[-1].shown[path]
            if value == before_it or _went_with_its_layer(history, path, before_it, gone):
                continue
            if not any(_may(o, path, value, gone) for o in history.operations):
                yield f"at step {after.step}, {path} of the restored repository shows {value}, not {before_it}"


def _given_up(history: History) -> Iterator[str]:
    """Where no cleaner has taken anything, whatever was deleted can be restored."""
    cleaned = [o for o in history.operations if o.kind == "clean"]
    if any(o.answer != 0 for o in cleaned):
        return
    for operation in history.operations:
        if operation.kind == "undelete repository" and "was given up" in str(operation.error):
            yield f"{operation}: no cleaner has taken it"


def _meet(one: Operation, other: Operation) -> bool:
    return one.start < other.end and other.start < one.end


def _went_with_its_layer(history: History, path: str, value: int | None, gone: int) -> bool:
    """Whether a value was shown that nobody was told of, and a commit was under way that took its layer without it."""
    given = [o for o in history.operations if o.sets.get(path) == value and o.may_have_happened]
    commits = (o for o in history.operations if o.kind in ("commit", "compact") and o.may_have_happened)
    unconfirmed = bool(given) and all(o.outcome is not Outcome.DONE for o in given)
    return unconfirmed and any(o.start < gone <= o.end for o in commits)


def _may(operation: Operation, path: str, value: int | None, gone: int) -> bool:
    """Whether a call that was under way, or had an old record of the branch, may have changed a path meanwhile."""
    if not operation.may_have_happened or operation.end < gone or operation.kind == "undelete repository":
        return False
    under_way = operation.start < gone and (operation.gives(path, value) or operation.throws_away(path))
    return under_way or (operation.kind in ("put", "remove") and operation.gives(path, value))
