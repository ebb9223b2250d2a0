"""The flows of many steps, each on a branch that was made ready for it, for `test_crash_points`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal
from unittest.mock import patch

from graveler_core.codec.entry import record_table
from graveler_core.engine.cleaning import CleaningPlan, clean
from graveler_core.engine.committing import commit, transact
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.compacting import compaction
from graveler_core.engine.merging import merge, transplant
from graveler_core.engine.merging.sides import MergeRequest
from graveler_core.engine.reading.snapshot import get as get_committed
from graveler_core.engine.references import branching, reset
from graveler_core.engine.repositories import creation as repository
from graveler_core.engine.repositories import deletion
from graveler_core.engine.repositories import undeletion as undelete
from graveler_core.engine.staging import bulk, restore, write
from graveler_core.engine.staging import remove as removing
from graveler_core.errors import Conflict, GravelerError, NoChanges, NotFound, NotUnique, SlowDown
from graveler_core.model.changes import MergeForm
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.model.operations import Put
from graveler_core.records import layout
from graveler_core.refs import branches, repositories
from graveler_core.stores import Stores
from tests.proofs.simulation.cast import MAIN, OTHER, SIDE, WORK
from tests.proofs.simulation.cleaning import NOBODY
from tests.proofs.simulation.history import REPO, Value

KEYED = Draft("the call", "me", idempotency_key="once")
Sets = dict[str, Value]


def entry(number: int) -> Entry:
    """An entry known by its size."""
    return Entry(address=f"data/{number}", size=number, checksum=str(number))


def head_of(stores: Stores) -> CommitId:
    """The head of the branch that is worked on."""
    repo = repositories.get(stores.kv, stores.clock, stores.ids, REPO)
    return branches.get_branch(stores.kv, repo, WORK).value.commit_id


def stage(stores: Stores, path: str, number: int) -> None:
    """One staged entry."""
    write.stage(stores, REPO, WORK, path, entry(number))


def one_staged(stores: Stores) -> None:
    """b/1 is staged on top of what is committed."""
    committed(stores)
    stage(stores, "b/1", 7)


def committed(stores: Stores) -> None:
    """a/1 and a/2 are committed, nothing is staged."""
    stage(stores, "a/1", 1)
    stage(stores, "a/2", 2)
    commit.commit(stores, REPO, WORK, Draft("first"))


def staged(stores: Stores) -> None:
    """On top of it, layers of every kind."""
    committed(stores)
    stage(stores, "a/1", 3)
    _put_many(stores, {"a/2": 4, "b/1": 5}, segments=True)
    bulk.restore_prefix(stores, REPO, WORK, "a/2")
    stage(stores, "a/1", 6)
    _put_many(stores, {"b/1": 7}, segments=False)
    removing.remove(stores, REPO, WORK, ["a/1"])


def compacted(stores: Stores) -> None:
    """What is staged is compacted, and more is staged on top."""
    staged(stores)
    compaction.compact(stores, REPO, WORK)
    stage(stores, "a/2", 8)


def compacted_only(stores: Stores) -> None:
    """What is staged is compacted, on b/1 alone."""
    committed(stores)
    stage(stores, "b/1", 9)
    compaction.compact(stores, REPO, WORK)


def beside(stores: Stores) -> None:
    """A commit on another branch."""
    committed(stores)
    write.stage(stores, REPO, SIDE, "b/1", entry(11))
    commit.commit(stores, REPO, SIDE, Draft("side"))


def twice_beside(stores: Stores) -> None:
    """Two commits on another branch."""
    beside(stores)
    write.stage(stores, REPO, SIDE, "a/2", entry(13))
    commit.commit(stores, REPO, SIDE, Draft("side again"))


def emptied(stores: Stores) -> None:
    """The branch is gone."""
    committed(stores)
    branching.delete_branch(stores, REPO, WORK)


def _put_many(stores: Stores, numbers: dict[str, int], *, segments: bool) -> None:
    rows = [(path.encode(), entry(number)) for path, number in sorted(numbers.items())]
    with patch.object(bulk, "SEGMENT_ROWS", 1 if segments else 1_000):
        bulk.stage_records(stores, REPO, WORK, record_table(rows))


def _merge(stores: Stores, form: MergeForm = MergeForm.COMMIT) -> object:
    return merge.merge(stores, REPO, MergeRequest(SIDE, WORK, form=form), KEYED).id


def _transact(stores: Stores) -> object:
    found = get_committed(stores, REPO, head_of(stores), "a/1")
    new = entry(12)
    operations = [Put("a/1", new if found is None else _like(new, found), found)]
    return transact.transact(stores, REPO, WORK, transact.Transaction(operations), KEYED).id


def _like(new: Entry, found: Entry) -> Entry:
    return replace(new, content_id=found.content_id)


def _replay(stores: Stores, ref: BranchId, verb: Literal["cherry-pick", "revert"]) -> object:
    return transplant.transplant(stores, REPO, WORK, transplant.Replay([str(ref)], verb=verb), KEYED).id


def _compact_in_time(stores: Stores) -> object:
    """What gave way to a compaction that died waits, and is done then."""
    every = timedelta(minutes=5)
    try:
        return compaction.compact(stores, REPO, WORK, every)
    except SlowDown:
        stores.clock.sleep(every.total_seconds())
        return compaction.compact(stores, REPO, WORK, every)


def _hard_reset(stores: Stores) -> object:
    return reset.hard_reset(stores, REPO, WORK, str(MAIN)).id


def _create_other(stores: Stores) -> object:
    """A creation that died is declared failed after a while; it is deleted then, and made elsewhere."""
    for place in ("memory://bucket/there", "memory://bucket/elsewhere"):
        try:
            return repository.create_repository(stores, repository.NewRepository(OTHER, place, MAIN, adopt=True)).id
        except NotUnique:
            if repositories.find(stores.kv, OTHER) is None:
                continue
            if any(repo.id == OTHER for repo in repositories.active(stores.kv)):
                raise
            stores.clock.sleep(timedelta(minutes=3).total_seconds())
            deletion.delete_repository(stores, OTHER)
        except NotFound:
            deletion.delete_repository(stores, OTHER)
    raise AssertionError("no place was free")


def deleted(stores: Stores) -> None:
    """The repository is deleted, with layers of every kind and a compacted tree."""
    compacted(stores)
    deletion.delete_repository(stores, REPO)


def _undelete(stores: Stores) -> object:
    """A restoration that died is over after a while; what it leaves takes the way of a deletion."""
    for _ in range(3):
        try:
            return undelete.undelete_repository(stores, REPO).uid
        except (Conflict, NotFound):
            stores.clock.sleep(timedelta(minutes=3).total_seconds())
            clean(stores)
    return undelete.undelete_repository(stores, REPO).uid


def _clean(stores: Stores) -> object:
    """Nobody is waited for, but for whom the registers say."""
    stores.clock.sleep(timedelta(minutes=3).total_seconds())
    all_partitions = layout.object_partitions
    with patch.object(layout, "object_partitions", lambda repo: all_partitions(repo)[:4]):
        done = clean(stores, CleaningPlan(NOBODY, late=NOBODY, building=NOBODY))
    assert not done.failures
    return done.repositories


@dataclass(frozen=True, slots=True)
class Flow:
    """A call, what it needs, how it is judged, and what it may answer when it was done before."""

    kind: str
    ready: Callable[[Stores], None]
    call: Callable[[Stores], object]
    sets: tuple[tuple[str, Value], ...] = ()
    done: tuple[type[GravelerError], ...] = ()
    discards: str | None = None


FLOWS = {
    "put": Flow("put", committed, lambda s: stage(s, "a/1", 10), (("a/1", 10),)),
    "remove": Flow("remove", staged, lambda s: removing.remove(s, REPO, WORK, ["a/2"]), (("a/2", None),)),
    "remove what was never committed": Flow(
        "remove", one_staged, lambda s: removing.remove(s, REPO, WORK, ["b/1"]), (("b/1", None),)
    ),
    "put many": Flow(
        "put many", staged, lambda s: _put_many(s, {"a/1": 10, "b/1": 11}, segments=False), (("a/1", 10), ("b/1", 11))
    ),
    "put many files": Flow(
        "put many", staged, lambda s: _put_many(s, {"a/1": 10, "b/1": 11}, segments=True), (("a/1", 10), ("b/1", 11))
    ),
    "remove prefix": Flow(
        "remove prefix", staged, lambda s: bulk.remove_prefix(s, REPO, WORK, "a/"), (("a/1", None), ("a/2", None))
    ),
    "reset prefix": Flow("reset prefix", staged, lambda s: bulk.restore_prefix(s, REPO, WORK, "a/"), discards="a/"),
    "reset path": Flow("reset prefix", staged, lambda s: restore.restore_path(s, REPO, WORK, "a/2"), discards="a/2"),
    "reset path of a row": Flow(
        "reset prefix", one_staged, lambda s: restore.restore_path(s, REPO, WORK, "b/1"), discards="b/1"
    ),
    "commit": Flow("commit", staged, lambda s: commit.commit(s, REPO, WORK, KEYED).id),
    "commit on a compacted tree": Flow("commit", compacted, lambda s: commit.commit(s, REPO, WORK, KEYED).id),
    "commit without a key": Flow(
        "commit", staged, lambda s: commit.commit(s, REPO, WORK, Draft("x")).id, (), (NoChanges,)
    ),
    "compact": Flow("compact", staged, lambda s: compaction.compact(s, REPO, WORK), (), (NoChanges,)),
    "compact again": Flow("compact", compacted, lambda s: compaction.compact(s, REPO, WORK), (), (NoChanges,)),
    "compact at intervals": Flow("compact", compacted, _compact_in_time, (), (NoChanges,)),
    "merge": Flow("merge", beside, _merge, (("b/1", 11),)),
    "squash": Flow("merge", beside, lambda s: _merge(s, MergeForm.SQUASH), (("b/1", 11),)),
    "merge of repeated commits": Flow(
        "merge", twice_beside, lambda s: _merge(s, MergeForm.REPLAY), (("b/1", 11), ("a/2", 13)), (Conflict,)
    ),
    "transact": Flow("transact", committed, _transact, (("a/1", 12),)),
    "transact on a compacted tree": Flow("transact", compacted_only, _transact, (("a/1", 12),)),
    "cherry-pick": Flow("replay", beside, lambda s: _replay(s, SIDE, "cherry-pick"), (("b/1", 11),)),
    "revert": Flow("replay", committed, lambda s: _replay(s, WORK, "revert"), (("a/1", None), ("a/2", None))),
    "reset": Flow("reset", compacted, lambda s: reset.reset(s, REPO, WORK), discards=""),
    "hard reset": Flow("hard reset", committed, _hard_reset, (("a/1", None), ("a/2", None), ("b/1", None))),
    "create branch": Flow(
        "create branch",
        emptied,
        lambda s: branching.create_branch(s, REPO, WORK, MAIN),
        (("a/1", None), ("a/2", None), ("b/1", None)),
        (NotUnique,),
    ),
    "delete branch": Flow(
        "delete branch", compacted, lambda s: branching.delete_branch(s, REPO, WORK), (), (NotFound,)
    ),
    "create repository": Flow("create repository", committed, _create_other, (), (NotUnique,)),
    "delete repository": Flow(
        "delete repository", compacted, lambda s: deletion.delete_repository(s, REPO), (), (NotFound, Conflict)
    ),
    "undelete repository": Flow(
        "undelete repository", deleted, _undelete, (("a/1", None), ("a/2", 8), ("b/1", 7)), (NotUnique,)
    ),
    "clean a deleted repository": Flow("clean", deleted, _clean),
    "clean an active repository": Flow("clean", compacted, _clean),
}
