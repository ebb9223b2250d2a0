"""Commits that no branch or tag has ever reached are removed after a grace period. All others stay for ever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from graveler_core.engine.committing import head
from graveler_core.engine.reading import expired
from graveler_core.errors import Conflict, CorruptData, Kind, NotFound, OutcomeUnknown, SlowDown
from graveler_core.facade.repository import Repository
from graveler_core.gc import unreached
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.commits import HistoryGraph
from graveler_core.gc.sweep import GRACE, SweepPlan, sweep
from graveler_core.kv import bulk
from graveler_core.kv.store import Item, Predicate, Store
from graveler_core.model.collection import NEVER_REACHED, REMEMBERED, Collections
from graveler_core.model.entities import Commit, Layout
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.model.index import Index
from graveler_core.model.migration import ORIGIN
from graveler_core.objects.commits import prepare
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.flows import table
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.gc.lake import NOW, Lake

DAY = timedelta(days=1)
GONE = Kind.CommitNotFound, Kind.RefNotFound
"""Kinds of the error for a commit that was removed: its id is looked up among the stored ones, or was known before."""


class Killed(Interposed):
    """A plain store whose process is killed between the records of a commit and the swap."""

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        bulk.set_many(self.inner, items)
        raise Crash


def headers(lake: Lake) -> set[CommitId]:
    """All stored headers."""
    return {CommitId(name) for name, _ in access.scan(lake.world.kv, keys.commits(lake.record))}


def layouts(lake: Lake) -> set[str]:
    return {name for name, _ in access.scan(lake.world.kv, keys.commit_layouts(lake.record))}


def lose(lake: Lake, message: str = "lost", branch: str = "main", **texts: object) -> CommitId:
    """Have a process killed before the swap of a commit. Return the commit. Its content stays staged."""
    before = headers(lake)
    lake.branch(branch).put("x", message.encode())
    with suppress(Crash):
        lake.world.graveler(Killed(lake.world.kv)).repository("repo").branch(branch).commit(message, **texts)
    (made,) = headers(lake) - before
    return made


def prepared(root: Path) -> tuple[Lake, CommitId, set[CommitId]]:
    """A repository that has adopted old commits, a lost commit that is older than the grace period, and the others."""
    lake = Lake(root)
    lake.branch().put("a", b"a")
    lake.branch().commit("first")
    lake.repo.create_branch("dev", source="main")
    lake.collect(NOW)
    made = lose(lake)
    lake.sleep(GRACE + DAY)
    return lake, made, headers(lake) - {made}


def record(lake: Lake) -> Collections:
    held = access.read(lake.world.kv, keys.collections(lake.record.id, lake.record.uid))
    assert held is not None
    return held.value


def whole(lake: Lake, once: set[CommitId]) -> None:
    """References lead to commits that exist, with all ancestors and layouts, and nothing that was reached is gone."""
    here = headers(lake)
    assert once <= here
    graph = HistoryGraph(lake.world.kv, keys.history(lake.record), lambda more: None)
    for reference in (*lake.repo.branches(), *lake.repo.tags()):
        assert not list(graph.reach(CommitId(reference.commit_id), reference.id))
    assert graph.reachable <= layouts(lake)
    assert not lake.missing()


def test_a_lost_commit_is_announced_and_removed(tmp_path: Path) -> None:
    lake, made, others = prepared(tmp_path / "lake")
    first = lake.collect()
    assert (first.unreached, first.removed) == (1, 0)
    marked = lake.repo.commit(made).expired
    assert marked is not None
    assert (marked.rule, marked.final) == (NEVER_REACHED, False)
    lake.sleep(GRACE)
    last = lake.collect()
    assert (last.unreached, last.removed, last.revived) == (0, 1, 0)
    assert headers(lake) == others
    assert layouts(lake) == others
    with pytest.raises(NotFound) as caught:
        lake.repo.commit(made)
    assert caught.value.kind in GONE
    assert not [finding for finding in lake.repo.fsck() if finding.damage]
    lake.sleep(GRACE)
    assert lake.collect().unreached == 0


def test_its_trees_and_its_content_follow(tmp_path: Path) -> None:
    lake, _, _ = prepared(tmp_path / "lake")
    lake.branch().reset()
    lake.branch().put("x", b"lost, too")
    lake.branch().stage_many(table({f"{number:04}": number for number in range(300)}))
    with suppress(Crash):
        lake.world.graveler(Killed(lake.world.kv)).repository("repo").branch("main").commit("large")
    lake.branch().reset()
    lake.sleep(GRACE + DAY)
    sweep(lake.world.stores(), lake.record, SweepPlan())  # the layer that was reset
    files = {path for path in (lake.root / "_graveler").glob("*") if path.is_file()}
    assert sweep(lake.world.stores(), lake.record, SweepPlan()).blobs == 0, "its layout refers to them"
    for _ in range(2):
        lake.collect()
        lake.sleep(GRACE)
    swept = sweep(lake.world.stores(), lake.record, SweepPlan())
    assert swept.blobs > 0
    assert {path for path in files if path.is_file()} < files
    for _ in range(3):
        lake.collect()
        lake.sleep(GRACE)
    assert len(lake.objects) == 1
    assert lake.branch().read("a") == b"a"


def test_what_was_reached_stays(tmp_path: Path) -> None:
    """Whatever became of the references."""
    lake, _, _ = prepared(tmp_path / "lake")
    once = set[CommitId]()
    for number in range(2):
        lake.branch("dev").put("x", b"%d" % number)
        once.add(CommitId(lake.branch("dev").commit(f"dev {number}").id))
    lake.branch("dev").hard_reset("main")
    lake.repo.create_branch("gone", source="dev")
    lake.branch("gone").put("x", b"gone")
    once.add(CommitId(lake.branch("gone").commit("gone").id))
    lake.repo.create_tag("v1", "gone")
    lake.repo.delete_branch("gone")
    lake.repo.assign_tag("v1", "main", expected=lake.repo.tag("v1").commit_id)
    lake.repo.create_tag("v2", next(iter(once)))
    lake.repo.delete_tag("v2")
    lake.sleep(GRACE + DAY)
    for _ in range(4):
        lake.collect()
        lake.sleep(GRACE + DAY)
    assert once <= headers(lake)
    lake.repo.undelete_branch("gone")
    whole(lake, once)


def test_what_nothing_reaches_before_the_first_collections_stays(tmp_path: Path) -> None:
    """It may have been reached: earlier versions did not record what references left."""
    lake = Lake(tmp_path / "lake")
    old = lose(lake)
    lake.branch().reset()
    lake.sleep(2 * GRACE)
    lake.collect()
    assert (lake.record.former_heads, record(lake).adopted) == (True, False)
    between = lose(lake, "between")
    lake.branch().reset()
    lake.sleep(GRACE)
    lake.collect()
    assert record(lake).adopted
    after = lose(lake, "after")
    lake.sleep(GRACE + DAY)
    for _ in range(3):
        lake.collect()
        lake.sleep(GRACE)
    assert {old, between, after} & headers(lake) == {old, between}


def test_migrated_commits_stay(tmp_path: Path) -> None:
    """Their ids in the source lead to them, also before a branch does."""
    lake, _, _ = prepared(tmp_path / "lake")
    lake.branch().reset()
    migrated = lose(lake, "migrated", metadata={ORIGIN: "c1"})
    lake.sleep(GRACE + DAY)
    for _ in range(3):
        lake.collect()
        lake.sleep(GRACE)
    assert migrated in headers(lake)


def test_damage_keeps_everything(tmp_path: Path) -> None:
    """A missing header may have led to the commit."""
    lake, made, _ = prepared(tmp_path / "lake")
    lake.branch("dev").put("y", b"y")
    lake.branch("dev").commit("y")
    lake.collect()
    lake.sleep(GRACE)
    where = keys.commit(lake.record, CommitId(lake.repo.commit("dev").id))
    lake.world.kv.delete(where.partition, where.key)
    assert lake.collect().removed == 0
    assert made in headers(lake)


def test_a_dry_run_says_what_a_run_does(tmp_path: Path) -> None:
    lake, _, _ = prepared(tmp_path / "lake")
    for number in range(4):
        would = lake.collect(CollectionPlan(dry_run=True))
        did = lake.collect()
        assert (would.unreached, would.removed) == (did.unreached, did.removed)
        assert (did.unreached, did.removed) == ((1, 0) if number == 0 else (1, 1))
        lake.branch().reset()
        lose(lake, f"more {number}")
        lake.sleep(GRACE + DAY)


def depend(repo: Repository, how: str, on: CommitId) -> None:
    """Make something lead to a commit whose id somebody has told."""
    match how:
        case "branch":
            repo.create_branch("new", source=on)
        case "tag":
            repo.create_tag("v1", on)
        case "hard reset":
            repo.branch("dev").hard_reset(on)
        case "merge":
            repo.merge(on, into="dev")
        case "transplant":
            repo.transplant([on], "dev")
        case "tag for a moment":
            repo.create_tag("v1", on)
            repo.delete_tag("v1")


FLOWS = ["branch", "tag", "hard reset", "merge", "transplant", "tag for a moment"]


def attempted(act: Callable[[], object]) -> bool:
    """Act. Return `False` if the commit was removed."""
    try:
        act()
    except NotFound as refused:
        if refused.kind not in GONE:
            raise
        return False
    return True


def later(lake: Lake) -> None:
    for _ in range(3):
        lake.sleep(GRACE + DAY)
        lake.collect()


@pytest.mark.parametrize("how", FLOWS)
def test_a_flow_that_names_an_announced_commit_revives_it(tmp_path: Path, how: str) -> None:
    lake, made, others = prepared(tmp_path / "lake")
    lake.collect()
    depend(lake.repo, how, made)
    assert made in record(lake).current.revived  # type: ignore[union-attr]
    lake.sleep(GRACE)
    assert lake.collect().revived == 1
    later(lake)
    whole(lake, others | {made})


@pytest.mark.parametrize("how", FLOWS)
def test_a_flow_that_names_a_removed_commit_is_refused(tmp_path: Path, how: str) -> None:
    lake, made, others = prepared(tmp_path / "lake")
    for _ in range(2):
        lake.collect()
        lake.sleep(GRACE)
    assert not attempted(partial(depend, lake.repo, how, made))
    with pytest.raises(NotFound, match=f"was removed on .*, because {NEVER_REACHED}") as caught:
        expired.require_content(lake.world.stores(), lake.record, [made])
    assert caught.value.kind is Kind.CommitNotFound
    whole(lake, others)


@pytest.mark.parametrize("how", ["tag", "merge", "tag for a moment"])
@pytest.mark.parametrize("run", [0, 1])
def test_flows_between_any_two_calls(tmp_path: Path, how: str, run: int) -> None:
    outcomes, at, calls = set[bool](), 0, 1
    while at < calls:
        lake, made, others = prepared(tmp_path / str(at))
        could = list[bool]()
        for number in range(2):
            kv = Interposed(lake.world.kv)
            if number == run:
                act = partial(depend, lake.repo, how, made)
                kv.before[at] = lambda act=act, could=could: could.append(attempted(act))  # type: ignore[misc]
            lake.collect(None, kv)
            if number == run:
                calls = len(kv.verbs)
            lake.sleep(GRACE)
        later(lake)
        whole(lake, others | ({made} if could == [True] else set()))
        outcomes.update(could)
        at += 1
    assert at > 10
    assert outcomes == ({True} if run == 0 else {True, False})


@pytest.mark.parametrize("how", FLOWS)
def test_collections_between_any_two_calls_of_a_flow(tmp_path: Path, how: str) -> None:
    for run in (0, 1):
        at, calls = 0, 1
        while at < calls:
            lake, made, others = prepared(tmp_path / f"{run}-{at}")
            if run:
                lake.collect()
                lake.sleep(GRACE)
            kv = Interposed(lake.world.kv)
            kv.before[at] = lake.collect
            done = attempted(partial(depend, lake.world.graveler(kv).repository("repo"), how, made))
            calls, at = len(kv.verbs), at + 1
            later(lake)
            whole(lake, others | ({made} if done else set()))


class Slow(Interposed):
    """A plain store. The process pauses between the records of its first commit and the swap."""

    def __init__(self, inner: Store, pause: Callable[[], object]) -> None:
        super().__init__(inner)
        self.pause: Callable[[], object] | None = pause

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        bulk.set_many(self.inner, items)
        pause, self.pause = self.pause, None
        if pause is not None:
            pause()
        return self.inner.set_if(*swapped, predicate)


def slow_commit(lake: Lake, pause: Callable[[], object]) -> CommitId | None:
    """Commit on `dev` with a pause before the swap. Return the commit, or `None` if the call was refused."""
    lake.branch("dev").put("x", b"slow")
    slow = lake.world.graveler(Slow(lake.world.kv, pause)).repository("repo").branch("dev")
    with suppress(SlowDown):
        return CommitId(slow.commit("slow").id)
    return None


def test_a_writer_that_is_slower_than_the_grace_period_is_refused(tmp_path: Path) -> None:
    """It may swap at any call of the collection that removes its commit."""
    outcomes, at, calls = set[bool](), 0, 1
    while at < calls:
        lake, _, others = prepared(tmp_path / str(at))
        reached = list[int]()

        def pause(lake: Lake = lake, at: int = at, reached: list[int] = reached) -> None:
            lake.sleep(GRACE + DAY)
            lake.collect()
            lake.sleep(GRACE)
            kv = Interposed(lake.world.kv)
            kv.fail[at] = Crash()
            with suppress(Crash):
                lake.collect(None, kv)
            reached.append(len(kv.verbs))

        made = slow_commit(lake, pause)
        calls, at = max(calls, reached[0] + (reached[0] == at + 1)), at + 1
        outcomes.add(made is not None)
        later(lake)
        whole(lake, others | ({made} if made is not None else set()))
    assert at > 10
    assert outcomes == {True, False}


def test_without_fresh_nonces_a_slow_writer_dangles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unreached.UnreachedCommits, "_renew_branches", lambda self: None)
    with pytest.raises((AssertionError, CorruptData)):
        test_a_writer_that_is_slower_than_the_grace_period_is_refused(tmp_path)


def test_a_writer_does_not_try_again_for_too_long(tmp_path: Path) -> None:
    """Another swap comes first, and the commit is not written again after hours."""
    lake, _, _ = prepared(tmp_path / "lake")

    def pause(time: timedelta) -> None:
        lake.sleep(time)
        lake.branch("dev").remove_prefix("y/")

    assert slow_commit(lake, partial(pause, head.RETRIED_WITHIN + DAY)) is None
    assert slow_commit(lake, partial(pause, timedelta(hours=1))) is not None


def test_a_collector_dies_at_any_call_and_the_next_goes_on(tmp_path: Path) -> None:
    at = reached = 0
    while at == reached:
        lake, _, others = prepared(tmp_path / str(at))
        lake.collect()
        lake.sleep(GRACE)
        kv = Interposed(lake.world.kv)
        kv.fail[at] = Crash()
        try:
            lake.collect(None, kv)
        except Crash:
            reached += 1
        lake.collect()
        assert headers(lake) == others, at
        assert layouts(lake) == others
        at += 1
    assert at > 10


@pytest.mark.parametrize("done", [True, False])
def test_a_reply_is_lost(tmp_path: Path, done: bool) -> None:
    at, calls = 0, 1
    while at < calls:
        lake, _, others = prepared(tmp_path / str(at))
        lake.collect()
        lake.sleep(GRACE)
        kv = Interposed(lake.world.kv)
        kv.lose[at] = done
        with suppress(OutcomeUnknown):
            lake.collect(None, kv)
        calls, at = max(calls, len(kv.verbs)), at + 1
        lake.collect()
        assert headers(lake) == others, at


def test_two_collectors_between_any_two_calls(tmp_path: Path) -> None:
    at, calls = 0, 1
    while at < calls:
        lake, _, others = prepared(tmp_path / str(at))
        lake.collect()
        lake.sleep(GRACE)
        kv = Interposed(lake.world.kv)
        kv.before[at] = lake.collect
        lake.collect(None, kv)
        calls, at = len(kv.verbs), at + 1
        lake.collect()
        assert (headers(lake), layouts(lake)) == (others, others), at


def test_a_child_that_was_not_announced_keeps_its_ancestors(tmp_path: Path) -> None:
    """Its writer stored it after the announcement, and may have told its id."""
    lake, made, _ = prepared(tmp_path / "lake")
    lake.collect()
    parent = lake.repo.commit(made)
    header = Commit(
        committer="",
        message="child",
        creation_date=lake.world.clock.now(),
        parents=(made,),
        generation=9,
        nonce=Nonce("n"),
        operations="0" * 64,
    )
    header = header.model_copy(update={"generation": parent.generation + 1})
    child, writes = prepare(lake.record, header, Layout(index=Index(metarange_id=lake.repo.at("main").tree_id())))
    bulk.set_many(lake.world.kv, writes)
    lake.sleep(GRACE)
    assert lake.collect().removed == 0
    assert {made, child.id} <= headers(lake)
    later(lake)
    assert not {made, child.id} & headers(lake), "both are announced together then"


def test_removed_commits_are_remembered_for_a_time(tmp_path: Path) -> None:
    lake, made, _ = prepared(tmp_path / "lake")
    lake.collect()
    lake.sleep(GRACE)
    lake.collect()
    first = record(lake).removed
    assert first is not None
    assert first.done
    lake.sleep(REMEMBERED + DAY)
    lake.branch().reset()
    lose(lake, "more")
    lake.sleep(GRACE + DAY)
    for _ in range(2):
        lake.collect()
        lake.sleep(GRACE)
    second = record(lake).removed
    assert second is not None
    assert sum(file.count for file in second.files) == 1
    assert made not in {file.first for file in second.files}


def test_a_dump_beside_a_removal(tmp_path: Path) -> None:
    """It has all that was reached, or says that it has to be repeated."""
    at, calls, results = 0, 1, set[str]()
    while at < calls:
        lake, _, others = prepared(tmp_path / str(at))
        lake.collect()
        lake.sleep(GRACE)
        kv = Interposed(lake.world.kv)
        kv.before[at] = lake.collect
        try:
            dumped = lake.world.graveler(kv).repository("repo").dump_refs((tmp_path / f"dump {at}").as_uri())
            assert dumped.commits in (len(others), len(others) + 1)
            results.add("dumped")
        except Conflict:
            results.add("refused")
        calls, at = max(calls, len(kv.verbs)), at + 1
    assert results == {"dumped", "refused"}
