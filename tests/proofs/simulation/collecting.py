"""Actors that store content, name it again by its address, and collect what nothing names, while days pass.

The condition of a collection is that no flow lasts longer than the grace period. Time passes in steps of half of it,
and each step waits until all flows have ended that were running at the last one. So a flow may be running during one
step, never during two. A collector may be slower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from graveler_core.blobs.port import Data
from graveler_core.codec.records import encode
from graveler_core.engine.cleaning import CleaningPlan, clean
from graveler_core.engine.committing import commit
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.references import branching, reset, tagging
from graveler_core.engine.repositories import creation as repository
from graveler_core.engine.repositories import deletion, undeletion
from graveler_core.engine.staging import write
from graveler_core.engine.staging.content import Content
from graveler_core.gc.collection import collect
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.collection_record import PREFIXES
from graveler_core.gc.namespaces import empty_namespaces
from graveler_core.gc.uploads import purge
from graveler_core.model.entities import RepositoryRecord, Tag
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.ids import BranchId, Nonce, RepositoryUid, TagId
from graveler_core.model.retention import Retention, retention_rules
from graveler_core.objects.uploads import Uploads
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests.proofs.simulation.cast import MAIN, OTHER, PATHS, WORK, Cast
from tests.proofs.simulation.cleaning import NOBODY, WALKS
from tests.proofs.simulation.content import ContentJudge
from tests.proofs.simulation.history import REPO
from tests.proofs.simulation.sweeping import over
from tests.proofs.simulation.uploading import upload_and_commit
from tests.proofs.simulation.world import World

THEME = "collections"
REPOSITORIES = "collections and repositories"
RACES = "collectors"
EMPTIED = "emptied namespaces"
RETENTION = "collections and retention"
LONG = "collections and long jobs"
ERASURES = "erasures"
ERASED_PUTS = "erasures and puts"
THEMES = (THEME, REPOSITORIES, RACES, EMPTIED, RETENTION, LONG, ERASURES, ERASED_PUTS)
GRACE = timedelta(days=1)
COLLECT, ELSEWHERE = "collect", "name elsewhere"
COLLECTIONS = 3
"""After so many nothing is left: what waits is deleted, and what another one has spared is condemned and deleted."""
SLOW = (COLLECT, "clean")
"""Calls that may take longer than the grace period."""


@dataclass(frozen=True, slots=True)
class _Known:
    """Content that somebody has stored."""

    namespace: str
    address: str
    size: int
    owner: RepositoryUid

    @property
    def uri(self) -> str:
        return f"{self.namespace}/{self.address}"


@dataclass
class Lake:
    """Content that was stored, and the step at which time passed last."""

    world: World
    cast: Cast
    content: ContentJudge
    known: list[_Known] = field(default_factory=list)
    passed: int = -1

    def __post_init__(self) -> None:
        self.cast.stored, self.cast.lake = self.entry, self

    def entry(self, size: int, *, full: bool | None = None) -> Entry:
        """Entry of new content, or of content that was stored before: in one of the two spellings of its address."""
        chance, repo = self.cast.chance, self._active()
        known = [one for one in self.known if self._may_be_named(one)]
        if known and chance.random() < 0.5:
            named = self.content.names() if chance.random() < 0.7 else {}
            loose = [one for one in known if one.uri not in named]
            one = chance.choice(loose or known)
        elif repo is None:
            return Entry(f"data/{chance.getrandbits(128):032x}", size, str(size))
        else:
            one = self._note(repo, f"data/{chance.getrandbits(128):032x}", size)
            self.world.held[one.uri] = text(size)
        outside = repo is None or one.namespace != repo.storage_namespace
        if outside or (chance.random() < 0.25 if full is None else full):
            return Entry(one.uri, one.size, str(one.size), address_type=AddressType.FULL)
        return Entry(one.address, one.size, str(one.size))

    def note(self, entry: Entry) -> None:
        """Note content that the engine has stored."""
        repo = self._active()
        if repo is not None and entry.address is not None:
            self._note(repo, entry.address, entry.size)

    def may_pass(self) -> bool:
        """Whether half of a grace period may pass."""
        step, history, scheduler = self.cast.scheduler.step, self.cast.history, self.cast.scheduler
        flows = (one for one in history.operations if one.start <= self.passed and one.kind not in SLOW)
        return all(over(one, scheduler) <= step for one in flows)

    def _active(self) -> RepositoryRecord | None:
        repo = self.cast.observer.repo()
        return repo if repo is not None and repo.state == "active" else None

    def _note(self, repo: RepositoryRecord, address: str, size: int) -> _Known:
        self.known.append(_Known(repo.storage_namespace, address, size, repo.uid))
        return self.known[-1]

    def _may_be_named(self, one: _Known) -> bool:
        """Whether content exists, or the active repository that stored it, which remembers what was deleted. A cleaner
        makes a deleted one forget, and then nobody can know that the content is gone.
        """
        owners = self.cast.observer.records.scan(keys.REPOSITORIES)
        return one.uri in self.world.held or any(repo.uid == one.owner for _, repo in owners)


@dataclass
class _Pausing:
    """Objects in all namespaces. The process pauses after it has written the first file of a collection."""

    inner: Any
    pause: Callable[[], None] | None

    def at(self, namespace: str) -> _Pausing:
        """The objects of a namespace."""
        return _Pausing(self.inner.at(namespace), self.pause)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def create(self, address: str, data: Data, *, sure: bool = False) -> bool:
        """Store an object."""
        made: bool = self.inner.create(address, data, sure=sure)
        pause, self.pause = self.pause, None
        if pause is not None and address.startswith(PREFIXES):
            pause()
        return made


def text(size: int) -> bytes:
    """Content of a size, which no other content has."""
    return b"%d " % size + bytes(size - len(b"%d " % size))


def begin(world: World, cast: Cast, content: ContentJudge) -> None:
    """Another repository, and content that is old, or already condemned."""
    stores, chance = world.process(), cast.chance
    Lake(world, cast, content)
    repository.create_repository(stores, repository.NewRepository(OTHER, "memory://bucket/other", MAIN, adopt=True))
    for _ in range(chance.randint(1, 6)):
        path, entry = chance.choice(PATHS), cast.entry()
        with cast.history.operation("put", "somebody", sets={path: entry.size}):
            write.stage(stores, REPO, WORK, path, entry)
        if chance.random() < 0.3:
            with cast.history.operation("commit", "somebody", mark=cast.mark()) as operation:
                operation.answer = commit.commit(stores, REPO, WORK, Draft(operation.mark)).id
    if chance.random() < 0.85:
        world.scheduler.jump(GRACE + timedelta(seconds=1))
    if chance.random() < 0.4:
        collect_all(cast, stores, "somebody")


def put_content(cast: Cast, stores: Stores, name: str) -> None:
    """Content that the engine stores and stages in one call."""
    path, number = cast.chance.choice(cast.paths), next(cast.numbers)
    with cast.history.operation("put", name, sets={path: number}):
        entry = write.put(stores, REPO, WORK, path, Content(text(number)))
        cast.lake.note(entry)


def store_content(cast: Cast, stores: Stores, name: str) -> None:
    """Content that is stored, to be staged later or never."""
    with cast.history.operation("store", name):
        entry = write.upload_entry(stores, REPO, WORK, cast.paths[0], Content(text(next(cast.numbers))), to_stage=False)
        cast.lake.note(entry)


def name_elsewhere(cast: Cast, stores: Stores, name: str) -> None:
    """Another repository names content by its full address, and perhaps commits it."""
    path, entry = cast.chance.choice(PATHS), cast.lake.entry(next(cast.numbers), full=True)
    with cast.history.operation(ELSEWHERE, name, repository=OTHER) as staged:
        write.stage(stores, OTHER, MAIN, path, entry)
    if staged.error is None and cast.chance.random() < 0.5:
        with cast.history.operation(ELSEWHERE, name, repository=OTHER):
            commit.commit(stores, OTHER, MAIN, Draft(cast.mark()))


def forget_elsewhere(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation(ELSEWHERE, name, repository=OTHER):
        reset.reset(stores, OTHER, MAIN)


def collect_all(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation(COLLECT, name):
        repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
        collect(stores, repo, CollectionPlan(GRACE, dry_run=cast.chance.random() < 0.05))


def days_pass(cast: Cast, stores: Stores, name: str) -> None:
    for _ in range(cast.chance.choice([1, 2, 2])):
        cast.scheduler.wait(cast.lake.may_pass)
        cast.lake.passed = cast.scheduler.step
        cast.scheduler.jump(GRACE / 2)


def collect_twice(cast: Cast, stores: Stores, name: str) -> None:
    """As a schedule does: with the grace period between."""
    collect_all(cast, stores, name)
    days_pass(cast, stores, name)
    collect_all(cast, stores, name)


def collect_slowly(cast: Cast, stores: Stores, name: str) -> None:
    """A collector that pauses for days between its first file and the record that lists it."""

    def pause() -> None:
        for _ in range(2):
            days_pass(cast, stores, name)

    collect_all(cast, replace(stores, blobs=_Pausing(stores.blobs, pause)), name)


def delete_other(cast: Cast, stores: Stores, name: str) -> None:
    """The other repository is deleted for some days, mostly soon after it has named something."""
    if cast.chance.random() < 0.7:
        name_elsewhere(cast, stores, name)
    with cast.history.operation("delete repository", name, repository=OTHER):
        deletion.delete_repository(stores, OTHER)
    collect_twice(cast, stores, name)
    with cast.history.operation("undelete repository", name, repository=OTHER) as operation:
        operation.answer = undeletion.undelete_repository(stores, OTHER).uid


def set_rules(cast: Cast, stores: Stores, name: str) -> None:
    """Retention rules that most of what is older than some days does not meet."""
    days = cast.chance.choice([None, 0, 0, 1, 2])
    branches = cast.chance.choice([{}, {}, {"w*": cast.chance.choice([None, 0, 2])}])
    with cast.history.operation("set rules", name):
        where = keys.retention(get_repository(stores.kv, stores.clock, stores.ids, REPO))
        record = Retention(rules=retention_rules(days, branches), nonce=Nonce(stores.ids.fresh()))
        stores.kv.set(where.partition, where.key, encode(record))


def name_old(cast: Cast, stores: Stores, name: str) -> None:
    """A branch or a tag at a former head, which may be about to expire."""
    targets = cast.observer.targets()
    if not targets:
        return
    target, number = cast.chance.choice(targets)[0], next(cast.numbers)
    with cast.history.operation("name old", name) as operation:
        if cast.chance.random() < 0.5:
            operation.answer = branching.create_branch(stores, REPO, BranchId(f"old-{number}"), target).commit_id
        else:
            tag = Tag(id=TagId(f"old-{number}"), commit_id=target)
            operation.answer = tagging.create_tag(stores, REPO, tag, target).commit_id


def upload_for_days(cast: Cast, stores: Stores, name: str) -> None:
    """A job that takes longer than the grace period. The record of its upload keeps its objects."""

    def meanwhile() -> None:
        days_pass(cast, stores, name)
        collect_all(cast, stores, name)

    upload_and_commit(cast, stores, name, meanwhile)


def empty_all(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation("empty", name):
        list(empty_namespaces(stores, CollectionPlan(GRACE)))


def collect_to_the_end(world: World, theme: str) -> None:
    """Long after all others have ended: uploads are purged, deleted repositories are removed, the rest is collected."""
    stores = world.process()
    plan = CleaningPlan(NOBODY, late=NOBODY, building=NOBODY, keys_for=NOBODY)
    for _ in range(WALKS if theme in (REPOSITORIES, EMPTIED) else COLLECTIONS):
        world.scheduler.jump(2 * GRACE)
        clean(stores, plan)
        for _, held in access.scan(stores.kv, keys.REPOSITORIES):
            repo = held.value
            if repo.state == "active":
                blobs = stores.blobs.at(repo.storage_namespace)
                purge(
                    Uploads(stores.kv, blobs, repo, stores.clock, stores.ids), stores.clock.now(), 1_000, dry_run=False
                )
                collect(stores, repo, CollectionPlan(GRACE))
        list(empty_namespaces(stores, CollectionPlan(GRACE)))
