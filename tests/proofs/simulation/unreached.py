"""Actors whose commits no reference reaches, others who know the ids of these commits, and collectors, while days pass.

Writers are killed between the records of a commit and the swap, pause there for days, or their swap arrives days later.
Hooks learn the ids of commits, and take days, too. Users make branches, tags, merges, replays and hard resets of
commits that nobody reaches, or that were removed.

Only a creation of a branch or tag, and an assignment of a tag, must not take longer than a grace period, after its
hooks. Time passes in steps of half of it, so each of them may be running during one step, never during two. All other
calls may take as long as they like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from graveler_core.engine.committing import transact
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.merging import merge, transplant
from graveler_core.engine.merging.sides import MergeRequest
from graveler_core.engine.references import branching, reset, tagging
from graveler_core.errors import OutcomeUnknown
from graveler_core.gc.collection import collect
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.collection import REMEMBERED
from graveler_core.model.entities import Tag
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, CommitId, TagId
from graveler_core.model.operations import Put
from graveler_core.refs.branches import get_tag
from graveler_core.refs.repositories import find
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Hook, Hooks, Stores
from tests.proofs.simulation.actors import cherry_pick, commit_all, hard_reset, put, revert, transact_one
from tests.proofs.simulation.cast import WORK, Act, Cast
from tests.proofs.simulation.days import ASIDE, GRACE, NAME, Days, collect_once
from tests.proofs.simulation.headers import HeaderJudge
from tests.proofs.simulation.history import NEVER, REPO
from tests.proofs.simulation.merging import form_of, merge_side
from tests.proofs.simulation.odd_writers import ODDITIES, Oddity, OldStore, odd, survived
from tests.proofs.simulation.world import World

THEME = "unreached commits"
REPOSITORIES = "unreached commits and repositories"
THEMES = (THEME, REPOSITORIES)
EVENTS = ("pre-commit", "pre-merge", "pre-create-branch", "pre-create-tag")
COLLECTIONS = 4
"""After so many, with a long time between, no commit is left that no reference has reached."""


def begin(world: World, cast: Cast, judge: HeaderJudge) -> None:
    """Some branches, and commits that nobody reaches. Most repositories have adopted the commits of earlier times."""
    chance, cast.days = cast.chance, Days(world, cast, judge)
    stores = world.process()
    branching.create_branch(stores, REPO, ASIDE, WORK)
    adopted = chance.random() < 0.8
    if not adopted:
        _leave_as_before(cast, stores)
    else:
        for _ in range(2):
            collect_once(cast, stores, "somebody", dry_run=False)
            world.scheduler.jump(GRACE)
    for _ in range(chance.randint(1, 5)):
        survived(partial(_commit_on, cast, odd(stores, Oddity.KILLED, _never, _never), "somebody", ASIDE))
    world.scheduler.jump(GRACE + timedelta(seconds=1))
    if adopted and chance.random() < 0.8:
        collect_once(cast, stores, "somebody", dry_run=False)
        world.scheduler.jump(chance.choice([GRACE / 2, GRACE, GRACE]))


def _leave_as_before(cast: Cast, stores: Stores) -> None:
    """A process of an earlier version made a commit, and reset the branch, which nothing records."""
    before = replace(stores, kv=OldStore(stores.kv))
    _commit_on(cast, before, "somebody", ASIDE)
    _reset_to(cast, before, "somebody", ASIDE, str(WORK))


def _never(*_: object) -> None:
    raise AssertionError("nobody pauses before a history begins")


def strange(cast: Cast, stores: Stores, name: str, oddity: Oddity | None = None) -> Stores:
    """The stores of a process that swaps the next branch oddly, or tells hooks."""
    chance, days = cast.chance, cast.days
    if chance.random() < 0.35:
        stores = replace(stores, hooks=Hooks(functions=(Hook("told", partial(_told, cast, name), EVENTS),)))
    if oddity is None and chance.random() < 0.4:
        return stores

    def later(call: Callable[[], object]) -> None:
        def come() -> None:
            days.pause(name)
            call()

        cast.scheduler.later("swap", come)

    return odd(stores, oddity or chance.choice(ODDITIES), partial(days.pause, name), later)


def _told(cast: Cast, name: str, request: Any, _repository: Any) -> None:
    """A hook. It may take days."""
    cast.days.told.add(CommitId(request.commit_id))
    cast.days.hooked[name] = NEVER
    if cast.chance.random() < 0.5:
        cast.days.pause(name)
    cast.days.hooked[name] = cast.scheduler.step


def lose_commits(cast: Cast, stores: Stores, name: str) -> None:
    """A process, or several, are killed between the records of a commit and the swap."""
    for _ in range(cast.chance.randint(1, 3)):
        killed = strange(cast, stores, name, Oddity.KILLED)
        if cast.chance.random() < 0.3:
            survived(partial(transact_one, cast, killed, name))
        else:
            survived(partial(_commit_on, cast, killed, name, cast.days.branch()))


def write_oddly(cast: Cast, stores: Stores, name: str) -> None:
    """An ordinary change of the branch, by a strange process."""
    act: Act = cast.chance.choice([commit_all, commit_all, transact_one, merge_side, cherry_pick, revert, hard_reset])
    if act is commit_all:
        put(cast, stores, name)
    survived(partial(act, cast, strange(cast, stores, name), name))


def name_told(cast: Cast, stores: Stores, name: str) -> None:
    """A branch or a tag at a commit whose id somebody knows."""
    id, drawn = cast.days.some_id(), cast.chance.random()
    if id is None:
        return
    number, known = next(cast.numbers), cast.days.tag()
    if cast.chance.random() < 0.5:
        cast.scheduler.wait(cast.days.amid_collection(name))
    if cast.chance.random() < 0.4:
        stores = replace(stores, hooks=Hooks(functions=(Hook("told", partial(_told, cast, name), EVENTS),)))
    with cast.history.operation(NAME, name):
        if drawn < 0.6:
            branching.create_branch(stores, REPO, BranchId(f"u{number}"), id)
        elif drawn < 0.8 or known is None:
            tagging.create_tag(stores, REPO, Tag(id=TagId(f"t{number}"), commit_id=id), id)
        else:
            repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
            left = get_tag(stores.kv, repo, known).value.commit_id
            tagging.assign_tag(stores, REPO, Tag(id=known, commit_id=id), id, left)


def move_told(cast: Cast, stores: Stores, name: str) -> None:
    """A change of a branch to a commit whose id somebody knows, or on it, by a strange process."""
    id, branch = cast.days.some_id(), cast.days.branch()
    if id is not None:
        act = cast.chance.choice([_commit_on, _reset_to, _reset_to, _merge_of, _merge_of, _replay_of, _revert_of])
        survived(lambda: act(cast, strange(cast, stores, name), name, branch, id))


def drop_some(cast: Cast, stores: Stores, name: str) -> None:
    """A branch or a tag is deleted, or a branch is undeleted."""
    drawn, tag = cast.chance.random(), cast.days.tag()
    if drawn < 0.5 or tag is None:
        branch = cast.days.branch()
        with cast.history.operation("drop", name):
            branching.delete_branch(stores, REPO, branch)
        if cast.chance.random() < 0.3:
            with cast.history.operation(NAME, name):
                branching.undelete_branch(stores, REPO, branch)
    else:
        with cast.history.operation("drop", name):
            tagging.delete_tag(stores, REPO, tag)


def collect_for_days(cast: Cast, stores: Stores, name: str) -> None:
    """As a schedule does, with time between."""
    for _ in range(cast.chance.randint(1, 4)):
        collect_once(cast, stores, name, dry_run=cast.chance.random() < 0.05)
        cast.days.some_pass()


def months_pass(cast: Cast, stores: Stores, name: str) -> None:
    cast.days.many_pass()


def _commit_on(cast: Cast, stores: Stores, name: str, branch: BranchId, _id: CommitId | None = None) -> None:
    """A commit without staged changes, so that the next call finds a clean branch."""
    put = Put(f"n/{next(cast.numbers)}", Entry(address="data/0", size=0, checksum="0"), None)
    with cast.history.operation("commit aside", name) as operation, _heard(cast):
        made = transact.transact(stores, REPO, branch, transact.Transaction([put]), Draft(cast.mark(), name))
        operation.answer = made.id


def _reset_to(cast: Cast, stores: Stores, name: str, branch: BranchId, id: str) -> None:
    with cast.history.operation("reset aside", name) as operation:
        operation.answer = reset.hard_reset(stores, REPO, branch, id).id


def _merge_of(cast: Cast, stores: Stores, name: str, branch: BranchId, id: CommitId) -> None:
    with cast.history.operation("merge aside", name) as operation:
        request = MergeRequest(id, branch, MergeStrategy.SOURCE, form=form_of(cast))
        with _heard(cast):
            operation.answer = merge.merge(stores, REPO, request, Draft(cast.mark(), name)).id


def _replay_of(cast: Cast, stores: Stores, name: str, branch: BranchId, id: CommitId) -> None:
    """Often a branch moves to the commit itself, because its head is the parent."""
    with cast.history.operation("replay aside", name) as operation:
        replay = transplant.Replay([id], MergeStrategy.SOURCE)
        operation.answer = transplant.transplant(stores, REPO, branch, replay, Draft("")).id


def _revert_of(cast: Cast, stores: Stores, name: str, branch: BranchId, id: CommitId) -> None:
    with cast.history.operation("revert aside", name) as operation:
        replay = transplant.Replay([id], MergeStrategy.SOURCE, verb="revert")
        operation.answer = transplant.transplant(stores, REPO, branch, replay, Draft(cast.mark())).id


@contextmanager
def _heard(cast: Cast) -> Iterator[None]:
    """Note the commit that an error names."""
    try:
        yield
    except OutcomeUnknown as error:
        if "commit" in error.details:
            cast.days.told.add(error.details["commit"])
        raise


def collect_to_the_end(world: World) -> None:
    """Long after all others have ended, what no reference has reached is removed."""
    stores = world.process()
    for _ in range(COLLECTIONS):
        world.scheduler.jump(REMEMBERED + GRACE)
        held = find(stores.kv, REPO)
        if held is not None and held.value.state == "active":
            collect(stores, held.value, CollectionPlan(GRACE))
