"""Steps that collect content, and that stage it again by its address."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

from graveler_core.errors import GravelerError, NotFound
from graveler_core.gc.collection import collect
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.namespaces import empty_namespaces
from graveler_core.refs import repositories
from graveler_core.stores import Stores
from graveler_core.stores.registers import KEPT
from tests.old_paths import any_path
from tests.proofs.differential.steps.writing import UNKNOWN, adopt, pick
from tests.proofs.differential.values import staged_value
from tests.proofs.differential.world import Clock, Handle, World

COLLECTED = ("Conflict", "ContentCollected")


class _Wall:
    """The clock of blobs as the clock of a flow: a collection compares its time with theirs."""

    def __init__(self, clock: Clock) -> None:
        self.monotonic = clock.monotonic
        self.sleep = clock.sleep
        self._clock = clock

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall(), UTC)


def collect_content(w: World, r: Random) -> None:
    """Delete content that nothing names: after some days, or at once where nobody else is at work."""
    alone, dry_run = r.random() < 0.4, r.random() < 0.2
    w.said = ("collect", alone, dry_run)
    stores = _stores(w, w.use(r))
    if alone:
        w.clock.sleep(KEPT.total_seconds() + 1)  # no handle has an old copy of the record then
        plan = CollectionPlan(timedelta(0), dry_run, alone=True)
    else:
        w.clock.sleep(86_400 * r.randint(0, 3))
        plan = CollectionPlan(timedelta(days=1), dry_run)
    repository = repositories.get(stores.kv, stores.clock, stores.ids, w.handles[0].repo.id)
    done = collect(stores, repository, plan)
    if alone and not dry_run:
        w.equal("condemned and left", done.waiting, 0)
    if r.random() < 0.3:
        for emptied in empty_namespaces(stores, plan):
            w.require(emptied.uri != w.namespace, "the namespace of a repository was emptied", emptied)
    _require_content(w, stores)


def stage_again(w: World, r: Random) -> None:
    """Stage content by its address. Where something names it, that is allowed; else it may be collected."""
    if not w.contents:
        return
    known = _named(w)
    loose = [address for address in w.contents if address not in known]
    address = r.choice(loose if loose and r.random() < 0.7 else [*w.contents])
    entry, data = w.contents[address]
    name, path = pick(w, r), w.names.path(r)
    w.said = ("stage again", name, path, address)
    handle, branch, may = w.use(r), w.model.branches.get(name), w.model.forbidden(name, "write")
    lenient = may | {UNKNOWN} if may else set(may)
    try:
        with any_path():
            w.branch(handle, name).stage(path, entry)
    except GravelerError as error:
        said = (type(error).__name__, str(error.kind))
        if address not in known:
            lenient |= {COLLECTED, UNKNOWN}
        w.require(said in lenient, "refused", said, lenient, str(error))
        if said == UNKNOWN and branch is not None:
            adopt(w, handle, branch, path)
        return
    w.require(not may, "succeeded, and should be refused", may)
    assert branch is not None
    w.model.stage(branch, {path: staged_value(replace(entry, path=path))}, layer=False)
    w.equal("read", w.branch(handle, name).read(path), data)


def _named(w: World) -> set[str]:
    """Addresses of content that commits and branches name."""
    states = [commit.content for commit in w.model.commits.values()]
    for branch in w.model.branches.values():
        states += [branch.shown, branch.base or {}]
    addresses = {value.entry.address for state in states for value in state.values()}
    return addresses & w.contents.keys()


def _require_content(w: World, stores: Stores) -> None:
    blobs = stores.blobs.at(w.namespace)
    for address in sorted(_named(w)):
        try:
            w.equal("content", blobs.read(address), w.contents[address][1])
        except NotFound:
            w.require(False, "content is gone that something names", address)


def _stores(w: World, handle: Handle) -> Stores:
    return replace(handle.graveler._stores, clock=_Wall(w.clock))
