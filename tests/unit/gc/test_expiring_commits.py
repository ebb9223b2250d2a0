"""Commits that no retention rule keeps lose their content, after a grace period in which any flow may still need it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest

from graveler_core.codec.records import encode
from graveler_core.engine.reading import expired
from graveler_core.errors import Conflict, CorruptData, InvalidInput, Kind, NotFound, OutcomeUnknown
from graveler_core.facade.repository import Repository
from graveler_core.gc.collected import Collected
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.sweep import GRACE
from graveler_core.kv.limits import MAX_VALUE
from graveler_core.model.collection import REMEMBERED, Collections, CollectionState, CondemnedSet, Expiry
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.model.retention import Days, Retention, RetentionRules, retention_rules
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests import smallest
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.templates import Template
from tests.unit.engine.world import START, World
from tests.unit.gc.lake import NOW, Lake

DAY = timedelta(days=1)


def follow(lake: Lake, days: Days, branches: Mapping[str, Days] | None = None) -> None:
    """Have the repository follow retention rules."""
    rules = retention_rules(days, branches or {})
    access.write(
        lake.world.kv, keys.retention(lake.record), Retention(rules=rules, nonce=Nonce(lake.world.ids.fresh()))
    )


def commit(lake: Lake, content: str, branch: str = "main") -> CommitId:
    """Overwrite a path, commit, and let a day pass."""
    lake.branch(branch).put("x", content.encode())
    made = lake.branch(branch).commit(content).id
    lake.sleep(DAY)
    return CommitId(made)


def expiries(lake: Lake, *commits: CommitId) -> list[bool | None]:
    """For each commit: true if it has expired, false if it is about to, or `None`."""
    found = expired.expiries(lake.world.stores(), lake.record, commits)
    return [found[id].final if id in found else None for id in commits]


def record(lake: Lake) -> Collections:
    held = access.read(lake.world.kv, keys.collections(lake.record.id, lake.record.uid))
    assert held is not None
    return held.value


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def history(lake: Lake) -> list[CommitId]:
    """Commits that are 40, 39, … days old. Each has overwritten the one object of the former. The first of all is the
    empty one of the repository.
    """
    made = [commit(lake, f"content {number}") for number in range(4)]
    lake.sleep(36 * DAY)
    return made


def test_without_rules_nothing_expires(lake: Lake, history: list[CommitId]) -> None:
    assert lake.collect(NOW) == Collected(dry_run=False, named=4, named_size=36, history=3, history_size=27)
    assert expiries(lake, *history) == [None] * 4


def test_content_of_expired_commits_is_deleted(lake: Lake, history: list[CommitId]) -> None:
    follow(lake, 30)
    first = lake.collect()
    assert (first.expiring, first.condemned, first.condemned_expired, first.condemned_expired_size) == (4, 3, 3, 27)
    assert (first.named, first.history, first.expired) == (1, 0, 0)
    assert expiries(lake, *history) == [False, False, False, None]
    assert len(lake.objects) == 4
    lake.sleep(GRACE)
    last = lake.collect()
    assert (last.expired, last.revived, last.deleted, last.deleted_expired, last.deleted_expired_size) == (
        4,
        0,
        3,
        3,
        27,
    )
    assert (len(lake.objects), lake.missing()) == (1, [])
    assert expiries(lake, *history) == [True, True, True, None]
    assert lake.collect(NOW) == Collected(dry_run=False, named=1, named_size=9)


def test_content_that_another_commit_names_stays(lake: Lake, history: list[CommitId]) -> None:
    """The objects of a kept commit, whoever else names them. An expired commit may still have some of its content."""
    lake.branch().put("y", b"y")
    lake.branch().commit("a second path")
    lake.sleep(31 * DAY)
    commit(lake, "last")
    follow(lake, 30)
    done = lake.collect(NOW)
    assert (done.expired, done.deleted, done.named) == (5, 3, 3)
    assert lake.repo.at(history[3]).read("x") == b"content 3", "the commit after it still names this"


def test_a_rule_is_for_the_branches_that_it_matches(lake: Lake, history: list[CommitId]) -> None:
    lake.repo.create_branch("dev", source=history[1])
    lost = commit(lake, "dev", "dev")
    lake.branch("dev").hard_reset(history[1])
    lake.sleep(31 * DAY)
    follow(lake, None, {"main": 30})
    assert lake.collect(NOW).expired == 1, "dev keeps its history for ever"
    assert expiries(lake, *history, lost) == [None, None, True, None, None]


def test_the_content_at_the_beginning_of_the_time_stays(lake: Lake, history: list[CommitId]) -> None:
    commit(lake, "young")
    follow(lake, 30)
    assert lake.collect(NOW).expired == 4
    assert expiries(lake, *history) == [True, True, True, None]
    assert lake.repo.at(history[3]).read("x") == b"content 3"


def test_commits_of_a_slow_clock_are_as_young_as_their_ancestors(lake: Lake, history: list[CommitId]) -> None:
    """They lose no content before the time of the rule is over."""
    commit(lake, "with a right clock")
    lake.sleep(-60 * DAY)
    slow = [commit(lake, f"with a slow clock {number}") for number in range(6)]
    lake.sleep(60 * DAY)
    commit(lake, "newest")
    follow(lake, 30)
    lake.collect()
    lake.sleep(GRACE)
    assert lake.collect().expired == 4
    assert expiries(lake, *history[:3], *slow) == [True] * 3 + [None] * 6
    lake.sleep(30 * DAY)
    assert lake.collect(NOW).expired == 8
    assert expiries(lake, *slow) == [True] * 6


def test_a_dry_run_says_what_a_run_does(lake: Lake, history: list[CommitId]) -> None:
    follow(lake, 30)
    lake.branch().upload("y", b"never staged")
    for number in range(4):
        would = lake.collect(CollectionPlan(dry_run=True))
        did = lake.collect()
        waits = {name: getattr(did, name) for name in ("waiting", "waiting_size", "due")}
        files = {name: getattr(did, name) for name in ("files", "waiting_files")}
        assert replace(would, dry_run=False, **waits, **files) == did
        assert bool(did.files) == bool(did.deleted)
        lake.sleep(GRACE)
        commit(lake, f"more {number}")
    assert lake.objects
    assert expiries(lake, history[0]) == [True]


def test_other_rules_are_for_dry_runs(lake: Lake, history: list[CommitId]) -> None:
    """They tell what they would reclaim."""
    rules = RetentionRules(days=30)
    would = lake.collect(CollectionPlan(dry_run=True, rules=rules))
    assert (would.expiring, would.condemned_expired, would.condemned_expired_size) == (4, 3, 27)
    assert lake.collect(CollectionPlan(dry_run=True)).expiring == 0
    with pytest.raises(InvalidInput, match="only be applied in a dry run"):
        CollectionPlan(rules=rules)


def test_what_names_the_content_when_the_grace_ends_keeps_it(lake: Lake, history: list[CommitId]) -> None:
    """A reference that a flow has made which had read the record before the announcement."""
    follow(lake, 30)
    lake.collect()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graveler_core.engine.references.branching.require_content", lambda *_, **__: None)
        lake.repo.create_branch("dev", source=history[1])
    lake.sleep(GRACE)
    done = lake.collect()
    assert (done.expired, done.revived, done.spared, done.deleted) == (3, 1, 1, 2)
    assert expiries(lake, *history) == [True, None, True, None]
    assert (lake.branch("dev").read("x"), lake.missing()) == (b"content 1", [])


def test_longer_rules_revive(lake: Lake, history: list[CommitId]) -> None:
    follow(lake, 30)
    lake.collect()
    follow(lake, 46)
    lake.sleep(GRACE)
    done = lake.collect()
    assert (done.expired, done.revived, done.deleted, done.spared) == (2, 2, 1, 2)
    follow(lake, None)
    assert lake.collect().expiring == 0
    assert expiries(lake, *history) == [True, None, None, None], "what has expired stays so"


def prepare(root: Path) -> tuple[Lake, CommitId]:
    """A repository with branches for all flows, and the commit on which they depend."""
    lake = Lake(root)
    lake.repo.create_branch("other", source="main")
    history = [commit(lake, f"content {number}") for number in range(3)]
    lake.repo.create_branch("dev", source="main")
    lake.repo.create_branch("old", source=history[1])
    lake.repo.delete_branch("old")
    commit(lake, "head")
    lake.sleep(36 * DAY)
    follow(lake, 30)
    return lake, history[1]


def depend(repo: Repository, how: str, on: CommitId) -> None:
    """Have something depend on the content of an old commit."""
    match how:
        case "branch":
            repo.create_branch("new", source=on)
        case "tag":
            repo.create_tag("v1", on)
        case "tag of a tree":
            repo.create_tag("v1", on, target="tree")
        case "hard reset":
            repo.branch("main").hard_reset(on)
        case "undelete":
            repo.undelete_branch("old")
        case "merge":
            repo.merge(on, into="other")
        case "squash":
            repo.merge(on, into="other", squash=True)
        case "replay":
            repo.merge("main", into="other", replay=True)
        case "transplant":
            repo.transplant([on], "other", strategy="source")
        case "revert":
            repo.revert("dev", "dev")


REFERENCES = ["branch", "tag", "tag of a tree", "hard reset", "undelete"]
FLOWS = [*REFERENCES, "merge", "squash", "replay", "transplant", "revert"]


@pytest.mark.parametrize("how", FLOWS)
def test_a_flow_that_needs_an_announced_commit_revives_it(tmp_path: Path, how: str) -> None:
    lake, needed = prepare(tmp_path / "lake")
    lake.collect()
    assert expiries(lake, needed) == [False]
    depend(lake.repo, how, needed)
    assert needed in record(lake).current.revived  # type: ignore[union-attr]
    lake.sleep(GRACE)
    assert lake.collect().revived >= 1
    for _ in range(3):
        lake.sleep(GRACE)
        lake.collect()
    assert intact(lake, how, needed, done=True)


@pytest.mark.parametrize("how", FLOWS)
def test_a_flow_that_needs_an_expired_commit_is_refused(tmp_path: Path, how: str) -> None:
    lake, needed = prepare(tmp_path / "lake")
    lake.collect(NOW)
    before = list(lake.repo.branches()), list(lake.repo.tags())
    with pytest.raises(NotFound, match=r"the content expired on .* \(default rule: 30 days\)") as caught:
        depend(lake.repo, how, needed)
    assert caught.value.kind is Kind.ContentExpired
    assert caught.value.details["commit"] == (lake.repo.commit("main~3").id if how == "replay" else needed)
    assert (list(lake.repo.branches()), list(lake.repo.tags())) == before


def test_a_check_of_a_merge_revives_nothing(tmp_path: Path) -> None:
    lake, needed = prepare(tmp_path / "lake")
    lake.collect()
    lake.repo.check_merge(needed, into="other")
    assert record(lake).current.revived == ()  # type: ignore[union-attr]
    lake.collect(NOW)
    with pytest.raises(NotFound, match="the content expired"):
        lake.repo.check_merge(needed, into="other")


def intact(lake: Lake, how: str, needed: CommitId, *, done: bool) -> bool:
    """All branches and tags can be read, and a commit has expired if the flow that needs it was refused."""
    for tag in lake.repo.tags():
        assert lake.repo.at(tag.id).read("x") == b"content 1"
    assert not lake.missing()
    if done and how not in REFERENCES:
        return True  # the content has other names
    return expiries(lake, needed) == [None if done else True]


def test_a_revived_commit_stays_until_the_flow_has_ended(lake: Lake, history: list[CommitId]) -> None:
    """A flow that is slower than the rest of the grace period: it has revived the commit, and made nothing yet."""
    follow(lake, 30)
    lake.collect()
    lake.sleep(GRACE)
    expired.require_content(lake.world.stores(), lake.record, [history[1]])
    done = lake.collect()
    assert (done.expired, done.revived, done.deleted, done.spared) == (3, 1, 2, 1)
    assert expiries(lake, *history) == [True, False, True, None], "it is announced again"
    lake.sleep(GRACE - DAY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graveler_core.engine.references.branching.require_content", lambda *_, **__: None)
        lake.repo.create_branch("dev", source=history[1])
    lake.sleep(DAY)
    assert lake.collect().revived == 1
    assert (lake.branch("dev").read("x"), lake.missing()) == (b"content 1", [])


def test_when_many_are_needed_nothing_expires(lake: Lake, history: list[CommitId]) -> None:
    follow(lake, 30)
    lake.collect()
    with smallest.patched({"graveler_core.engine.reading.expired.MAX_REVIVED": 1}):
        expired.require_content(lake.world.stores(), lake.record, history[:2])
    lake.sleep(GRACE)
    done = lake.collect()
    assert (done.expired, done.deleted, done.spared) == (0, 0, 3)
    assert len(lake.objects) == 4


def test_when_the_record_is_full_nothing_expires(lake: Lake, history: list[CommitId]) -> None:
    """An earlier version of graveler listed files without a limit. A branch can still be created."""
    follow(lake, 30)
    lake.collect()
    listed = record(lake)
    where = keys.collections(lake.record.id, lake.record.uid)
    full = CondemnedSet(id="1" * 32, state=CollectionState.DELETED, since=START, files=(), objects=0, size=0)
    room = MAX_VALUE - len(encode(listed.model_copy(update={"past": (full,)})))
    past = full.model_copy(update={"id": "1" * (32 + room)})
    held = access.read(lake.world.kv, where)
    access.replace(lake.world.kv, where, held, listed.model_copy(update={"past": (past,)}))
    expired.require_content(lake.world.stores(), lake.record, history[:2])
    assert expiries(lake, *history) == [None] * 4


def attempted(act: Callable[[], object]) -> bool:
    """Act. Return `False` if the content has expired."""
    try:
        act()
    except NotFound as refused:
        if refused.kind is not Kind.ContentExpired:
            raise
        return False
    return True


def collected(lake: Lake, times: int) -> None:
    """Collect, and let the grace period pass, that often."""
    for _ in range(times):
        lake.collect()
        lake.sleep(GRACE)


@pytest.mark.parametrize("how", ["tag", "merge"])
@pytest.mark.parametrize("run", [0, 1])
def test_flows_between_any_two_calls(tmp_path: Path, how: str, run: int) -> None:
    """What a flow has made has its content for ever. A flow that is too late is told."""
    made, needed = prepare(tmp_path / "lake")
    collected(made, run)
    template = Template(made)
    outcomes, at, calls = set[bool](), 0, 1
    while at < calls:
        lake, done = template.copy(), list[bool]()
        kv = Interposed(lake.world.kv)
        act = partial(depend, lake.repo, how, needed)
        kv.before[at] = lambda act=act, done=done: done.append(attempted(act))  # type: ignore[misc]
        lake.collect(None, kv)
        lake.sleep(GRACE)
        collected(lake, 2)
        if done:  # a flow that makes the collection read its record again is the cause of one more call
            assert intact(lake, how, needed, done=done[0]), at
            outcomes.add(done[0])
        calls, at = len(kv.verbs), at + 1
    assert at > 10
    assert outcomes == ({True} if run == 0 else {True, False})


@pytest.mark.parametrize("how", FLOWS)
def test_collections_between_any_two_calls_of_a_flow(tmp_path: Path, how: str) -> None:
    """A collection that announces commits, or ends, while a flow is under way which needs one."""
    made, needed = prepare(tmp_path / "lake")
    template = Template(made)
    for run in (0, 1):
        if run:
            collected(made := template.copy(), 1)
            template = Template(made)
        at, calls = 0, 1
        while at < calls:
            lake = template.copy()
            kv = Interposed(lake.world.kv)
            kv.before[at] = lake.collect
            done = attempted(partial(depend, lake.world.graveler(kv).repository("repo"), how, needed))
            calls, at = len(kv.verbs), at + 1
            lake.sleep(GRACE)
            collected(lake, 2)
            assert intact(lake, how, needed, done=done), (run, at)


@pytest.fixture
def small(tmp_path: Path) -> tuple[Template[Lake], list[CommitId]]:
    """A repository with two commits, of which one has to expire."""
    lake = Lake(tmp_path / "lake")
    history = [commit(lake, f"content {number}") for number in range(2)]
    lake.sleep(36 * DAY)
    follow(lake, 30)
    return Template(lake), history


def test_a_collector_dies_at_any_call_and_the_next_goes_on(small: tuple[Template[Lake], list[CommitId]]) -> None:
    template, history = small
    at = reached = 0
    while at == reached:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.fail[at] = Crash()
        try:
            lake.collect(NOW, kv)
        except Crash:
            reached += 1
        lake.collect(NOW)
        assert (len(lake.objects), lake.missing(), expiries(lake, *history)) == (1, [], [True, None]), at
        at += 1
    assert at > 15


@pytest.mark.parametrize("done", [True, False])
def test_a_reply_is_lost(small: tuple[Template[Lake], list[CommitId]], done: bool) -> None:
    template, history = small
    lake = template.copy()
    rehearsal = Interposed(lake.world.kv)
    lake.collect(NOW, rehearsal)
    for at in rehearsal.writes:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.lose[at] = done
        with suppress(OutcomeUnknown):
            lake.collect(NOW, kv)
        lake.collect(NOW)
        assert (len(lake.objects), lake.missing(), expiries(lake, *history)) == (1, [], [True, None]), at


def test_two_collectors_between_any_two_calls(small: tuple[Template[Lake], list[CommitId]]) -> None:
    template, history = small
    at, calls = 0, 1
    while at < calls:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.before[at] = partial(lake.collect, NOW)
        lake.collect(NOW, kv)
        lake.collect(NOW)
        calls, at = len(kv.verbs), at + 1
        assert (len(lake.objects), lake.missing(), expiries(lake, *history)) == (1, [], [True, None]), at


def test_addresses_of_expired_commits_are_never_forgotten(lake: Lake, history: list[CommitId]) -> None:
    """The metadata of an expired commit shows its entries for ever. They cannot be staged."""
    follow(lake, 30)
    lake.collect(NOW)
    with smallest.patched({"graveler_core.gc.deleted_sets.FALLEN": 1}):
        for number in range(3):
            lake.sleep(REMEMBERED + DAY)
            commit(lake, f"next {number}")
            lake.sleep(31 * DAY)
            lake.collect(NOW)
    assert len(record(lake).past) <= 1
    for id in history[:3]:
        entry = lake.repo.at(id).get("x")
        assert entry is not None
        with pytest.raises(Conflict) as caught:
            lake.branch().stage("again", entry)
        assert caught.value.kind is Kind.ContentCollected


def test_addresses_are_not_forgotten_if_clocks_differ(lake: Lake, history: list[CommitId]) -> None:
    """The machine that entered the set before had a clock that was ahead, so that set becomes old later."""

    def collect_a_reset() -> None:
        lake.branch().put("y", b"y")
        lake.branch().reset()
        assert lake.collect(NOW).deleted > 0

    ahead = timedelta(hours=5)
    lake.sleep(ahead)
    collect_a_reset()
    lake.sleep(-ahead)
    follow(lake, 30)
    assert lake.collect(NOW).expired > 0
    lake.sleep(REMEMBERED + ahead / 2)
    with smallest.patched({"graveler_core.gc.deleted_sets.FALLEN": 1}):
        collect_a_reset()
    forever = record(lake).forever
    assert forever is not None
    for id in history[:3]:
        entry = lake.repo.at(id).get("x")
        assert entry is not None
        with pytest.raises(Conflict) as caught:
            lake.branch().stage("again", entry)
        assert caught.value.kind is Kind.ContentCollected


def test_damage_ends_it(lake: Lake, history: list[CommitId]) -> None:
    """A missing header could be that of a commit which keeps others."""
    follow(lake, 30)
    where = keys.commits(lake.record).at(history[2])
    lake.world.kv.delete(where.partition, where.key)
    with pytest.raises(CorruptData, match=history[2]):
        lake.collect(NOW)
    assert len(lake.objects) == 4


def test_checks_know_expired_commits(lake: Lake, history: list[CommitId]) -> None:
    follow(lake, 30)
    lake.collect()
    assert not list(lake.repo.fsck(data=True))
    lake.collect(NOW)
    assert not list(lake.repo.fsck(data=True))
    lake.collect(NOW)
    assert not list(lake.repo.fsck(data=True))


def test_old_files_go(lake: Lake, history: list[CommitId]) -> None:
    """The files of former sets, and only those."""
    follow(lake, 38)
    lake.collect(NOW)
    lake.sleep(20 * DAY)
    lake.collect(NOW)
    lake.sleep(GRACE)
    lake.collect(NOW)
    assert expiries(lake, *history) == [True, True, True, None]
    files = (lake.root / "_graveler" / "expired").glob("*/*")
    assert [path.parent.name for path in files] == [record(lake).expired.id]  # type: ignore[union-attr]


def test_reading_through_an_expired_commit(lake: Lake, history: list[CommitId]) -> None:
    """It tells the rule and the date. Metadata, listings and differences stay."""
    lake.repo.create_tag("kept", history[0])
    follow(lake, 30)
    lake.collect(NOW)
    at = lake.repo.at(history[1])
    reads: list[Callable[[], object]] = [
        lambda: at.read("x"),
        lambda: at.read("x", 2, 3),
        lambda: at.download("x", BytesIO()),
        lambda: at.open("x").read(),
        lambda: at.dataset("x", "csv").to_table(),
    ]
    for read in reads:
        with pytest.raises(NotFound) as caught:
            read()
        assert caught.value.kind is Kind.ContentExpired
        assert caught.value.details["commit"] == history[1]
        assert caught.value.details["rule"] == "default rule: 30 days"
        assert f"path 'x' in commit {history[1]}: the content expired on " in str(caught.value)
    assert at.get("x").size == len(b"content 1")
    assert [entry.path for entry in at.list()] == ["x"]
    assert [change.path for change in lake.repo.diff(history[1], "main")] == ["x"]
    assert lake.repo.at("kept").read("x") == b"content 0"


def test_a_missing_object_of_a_kept_commit_is_damage(lake: Lake, history: list[CommitId]) -> None:
    follow(lake, 30)
    lake.collect(NOW)
    for name in lake.objects:
        (lake.root / name).unlink()
    for ref in ("main", history[3]):
        with pytest.raises(NotFound) as caught:
            lake.repo.at(ref).read("x")
        assert caught.value.kind is Kind.ObjectNotFound


def test_commits_are_marked(lake: Lake, history: list[CommitId]) -> None:
    follow(lake, 30)
    lake.collect()
    announced = record(lake).current
    assert announced is not None
    mark = Expiry(since=announced.since, rule="default rule: 30 days")
    marked = {entry.id: entry.expired for entry in lake.repo.log("main")}
    assert [marked[id] is not None and not marked[id].final for id in history] == [True, True, True, False]
    assert abs(marked[history[0]].since - mark.since) < DAY
    lake.collect(NOW)
    for entry in (*lake.repo.log("main"), *lake.repo.commits(), *map(lake.repo.commit, history)):
        assert (entry.expired is None) == (entry.id == history[3])
        assert entry.expired is None or (entry.expired.final, entry.expired.rule) == (True, mark.rule)


def test_marks_take_one_read_for_a_batch(lake: Lake) -> None:
    """And none before the first collection."""
    for number in range(70):
        commit(lake, f"content {number}")
    calls = list[int]()
    for _ in range(2):
        kv = Interposed(lake.world.kv)
        assert len(list(lake.world.graveler(kv).repository("repo").log("main"))) == 71
        calls.append(len(kv.verbs))
        follow(lake, 30)
        lake.sleep(36 * DAY)
        lake.collect()
    assert calls[1] - calls[0] == 7, "batches of 1, 2, 4, … commits"


def test_a_restored_dump_has_rules_and_marks(lake: Lake, history: list[CommitId], tmp_path: Path) -> None:
    """Also the marks of commits that have expired after the dump."""
    lake.repo.set_retention(30)
    dumped = lake.repo.dump_refs((tmp_path / "dump").as_uri())
    lake.collect(NOW)
    there = World(blobs=lake.world.blobs)
    there.ids.skip(1_000_000)
    repo = there.graveler().create_bare_repository("repo", lake.root.as_uri(), adopt=True, ephemeral=True)
    repo.restore_refs(dumped.uri)
    assert repo.retention().days == 30
    assert [repo.commit(id).expired is not None for id in history] == [True, True, True, False]
    assert repo.branch("main").read("x") == b"content 3"
    with pytest.raises(NotFound) as caught:
        repo.create_branch("dev", source=history[1])
    assert caught.value.kind is Kind.ContentExpired
    with pytest.raises(NotFound, match="the content expired"):
        repo.at(history[1]).read("x")
    assert not [finding for finding in repo.fsck(data=True) if finding.damage]


def test_a_restored_dump_knows_what_was_deleted(lake: Lake, history: list[CommitId], tmp_path: Path) -> None:
    """Also content that no commit has named. What was condemned and still exists can be staged."""
    old = lake.repo.at(history[1]).get("x")
    lost = lake.branch().put("y", b"never committed")
    lake.branch().reset()
    lake.repo.set_retention(30)
    dumped = lake.repo.dump_refs((tmp_path / "dump").as_uri())
    lake.collect(NOW)
    waiting = lake.branch().put("y", b"condemned, and still there")
    lake.branch().reset()
    lake.sleep(GRACE)
    assert lake.collect().waiting == 1
    there = World(blobs=lake.world.blobs)
    there.ids.skip(1_000_000)
    repo = there.graveler().create_bare_repository("repo", lake.root.as_uri(), adopt=True, ephemeral=True)
    for _ in range(2):
        repo.restore_refs(dumped.uri)
    for entry in (old, lost):
        with pytest.raises(Conflict) as refused:
            there.graveler().repository("repo").branch("main").stage("again", entry)
        assert refused.value.kind is Kind.ContentCollected
    repo.branch("main").stage("again", waiting)
    assert repo.branch("main").read("again") == b"condemned, and still there"


def test_a_commit_of_a_killed_process_may_have_no_layout(lake: Lake, history: list[CommitId]) -> None:
    """On stores that write several records one after the other. It names nothing, and ends no collection."""
    lake.repo.create_branch("dev", source="main")
    lake.branch("dev").put("x", b"of a process that was killed")
    lost = lake.branch("dev").commit("killed").id
    lake.branch("dev").hard_reset(history[-1])
    where = keys.commit_layout(lake.record, CommitId(lost))
    lake.world.kv.delete(where.partition, where.key)
    follow(lake, 0)
    lake.sleep(36 * DAY)
    done = lake.collect(NOW)
    assert (done.expired, done.deleted) == (5, 4)
    assert lake.branch().read("x") == b"content 3"
