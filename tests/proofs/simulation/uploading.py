"""Actors that store objects and name them in a commit, and one that takes any of them for dead; the judge of both.

The one who purges has no grace: whether an upload is given up does not rest on time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from graveler_core.codec.entry import entries
from graveler_core.committed.index.scan import scan
from graveler_core.engine.committing import transact
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.reading.snapshot import get as get_committed
from graveler_core.errors import GravelerError, OutcomeUnknown, SlowDown, Unavailable
from graveler_core.gc.uploads import purge
from graveler_core.model.entities import Upload
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put
from graveler_core.objects.uploads import Uploads, prefix
from graveler_core.records.access import Held
from graveler_core.refs.branches import get_branch
from graveler_core.refs.repositories import find
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests.proofs.simulation.cast import WORK, Cast
from tests.proofs.simulation.history import REPO, History, Outcome
from tests.proofs.simulation.observe import Observer
from tests.proofs.simulation.world import World

THEME = "uploads"
UPLOAD = "upload"
PURGE = "purge"


def upload_and_commit(cast: Cast, stores: Stores, name: str, meanwhile: Callable[[], object] = lambda: None) -> None:
    """As a job does: several uploads, of which one is handed to the commit, after what happens meanwhile."""
    path, number = cast.chance.choice(cast.paths), next(cast.numbers)
    ids, named = list[str](), dict[str, Held[Upload]]()
    with cast.history.operation(UPLOAD, name) as stored:
        uploads = _uploads(stores)
        for _ in range(cast.chance.choice([1, 2])):
            ids.append(_stored(uploads))
    if stored.error is not None:
        return
    meanwhile()
    with cast.history.operation("transact", name, mark=cast.mark(), sets={path: number}) as operation:
        head = get_branch(stores.kv, get_repository(stores.kv, stores.clock, stores.ids, REPO), WORK).value.commit_id
        found = get_committed(stores, REPO, head, path)
        operation.expected = {path: None if found is None else found.size}
        entry = Entry(address=f"{prefix(ids[0])}0", size=number, checksum=str(number))
        new = entry if found is None else replace(entry, content_id=found.content_id)
        named = uploads.name(ids[:1])
        try:
            transaction = transact.Transaction([Put(path, new, found)])
            operation.answer = transact.transact(stores, REPO, WORK, transaction, Draft(operation.mark, name)).id
        except OutcomeUnknown:
            raise
        except GravelerError:
            with cast.history.operation(UPLOAD, name):
                uploads.give_up(named, named)
            raise
    with cast.history.operation(UPLOAD, name):
        if operation.error is None:
            uploads.settle(named)
        uploads.give_up(ids[1:])


def purge_all(cast: Cast, stores: Stores, name: str) -> None:
    with cast.history.operation(PURGE, name):
        purge(_uploads(stores), stores.clock.now(), 1_000, dry_run=False)


def violations(world: World, history: History, observer: Observer) -> Iterator[str]:
    """What any commit names is there; after all others and three purges nothing else is, unless something failed."""
    if not any(operation.kind == UPLOAD for operation in history.operations):
        return
    stores = world.process()
    held = find(stores.kv, REPO)
    if held is None or held.value.state != "active":
        return
    for _ in range(3):
        purge(_uploads(stores), stores.clock.now(), 1_000, dry_run=False)
    there = {blob.address for blob in stores.blobs.at(held.value.storage_namespace).list("data/")}
    named = set[str]()
    for commit, (repo, _) in observer.heads.items():
        index = observer.layout(repo, commit).index
        for page in scan(stores.indexes(repo), index):
            for entry in entries(page):
                if entry.address is not None and entry.address.count("/") == 2:
                    named.add(entry.address)
                    if entry.address not in there:
                        yield f"commit {commit[:8]} names {entry.address} at {entry.path}, which was deleted"
    if any(True for _ in _uploads(stores).standing()):
        yield "an upload is left after all authors and three purges"
    faults = (SlowDown, Unavailable, OutcomeUnknown)
    disturbed = any(o.outcome is Outcome.PENDING or isinstance(o.error, faults) for o in history.operations)
    # Without a grace, what an author stores after two purges is found by no third.
    disturbed |= any(o.kind == PURGE for o in history.operations)
    if not disturbed and there - named:
        yield f"{sorted(there - named)} are named by nothing"


def _stored(uploads: Uploads) -> str:
    id = uploads.begin()
    uploads.blobs.create(f"{prefix(id)}0", b"content")
    return id


def _uploads(stores: Stores) -> Uploads:
    repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
    return Uploads(stores.kv, stores.blobs.at(repo.storage_namespace), repo, stores.clock, stores.ids)
