"""Removal of commits beside flows, slow writers and other collectors, which come between any two calls."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import combinations
from pathlib import Path

import pytest

from graveler_core.erasure.flow import erase
from graveler_core.erasure.standing import ErasurePlan
from graveler_core.errors import CorruptData, NotFound, OutcomeUnknown
from graveler_core.gc import unreached
from graveler_core.gc.data_check import DataCheckPlan, DataProgress, check_data
from graveler_core.gc.fsck import fsck
from graveler_core.gc.index_repair import repair_indexes
from graveler_core.gc.sweep import GRACE, SweepPlan, sweep
from graveler_core.kv.store import Store
from graveler_core.model.erasure import ErasureRule
from graveler_core.model.ids import CommitId
from graveler_core.objects.build_time import BUILT_WITHIN
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.testing.plain_store import PlainStore
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.templates import Template
from tests.unit.gc.lake import Lake
from tests.unit.gc.lost_commits import (
    DAY,
    FLOWS,
    attempted,
    depend,
    headers,
    later,
    layouts,
    lose,
    prepared,
    slow_commit,
    whole,
)

SLOW_JOBS = ("sweep", "fsck", "erasure", "index repair")


def unannounced(root: Path) -> tuple[Template[Lake], CommitId, set[CommitId]]:
    """A template of `prepared`."""
    lake, made, others = prepared(root / "lake")
    return Template(lake), made, others


def announced(root: Path) -> tuple[Template[Lake], CommitId, set[CommitId]]:
    """The same, and the next collection removes the lost commit."""
    lake, made, others = prepared(root / "lake")
    lake.collect()
    lake.sleep(GRACE)
    return Template(lake), made, others


@pytest.mark.parametrize("how", ["tag", "merge", "tag for a moment"])
@pytest.mark.parametrize("run", [0, 1])
@pytest.mark.ci
def test_flows_between_any_two_calls(tmp_path: Path, how: str, run: int) -> None:
    template, made, others = announced(tmp_path) if run else unannounced(tmp_path)
    outcomes, at, calls = set[bool](), 0, 1
    while at < calls:
        lake, could = template.copy(), list[bool]()
        kv = Interposed(lake.world.kv)
        act = partial(depend, lake.repo, how, made)
        kv.before[at] = lambda act=act, could=could: could.append(attempted(act))  # type: ignore[misc]
        lake.collect(None, kv)
        later(lake)
        whole(lake, others | ({made} if could == [True] else set()))
        outcomes.update(could)
        calls, at = len(kv.verbs), at + 1
    assert at > 10
    assert outcomes == ({True} if run == 0 else {True, False})


@pytest.mark.parametrize("how", FLOWS)
def test_collections_between_any_two_calls_of_a_flow(tmp_path: Path, how: str) -> None:
    for start in (unannounced, announced):
        template, made, others = start(tmp_path / start.__name__)
        at, calls = 0, 1
        while at < calls:
            lake = template.copy()
            kv = Interposed(lake.world.kv)
            kv.before[at] = lake.collect
            done = attempted(partial(depend, lake.world.graveler(kv).repository("repo"), how, made))
            calls, at = len(kv.verbs), at + 1
            later(lake)
            whole(lake, others | ({made} if done else set()))


@pytest.mark.ci
def test_a_writer_that_is_slower_than_the_grace_period_is_refused(tmp_path: Path) -> None:
    """It may swap at any call of the collection that removes its commit."""
    template, _, others = unannounced(tmp_path)
    outcomes, at, calls = set[bool](), 0, 1
    while at < calls:
        lake, reached = template.copy(), list[int]()

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

    assert slow_commit(lake, partial(pause, BUILT_WITHIN + DAY)) is None
    assert slow_commit(lake, partial(pause, timedelta(hours=1))) is not None


def test_a_collector_dies_at_any_call_and_the_next_goes_on(tmp_path: Path) -> None:
    template, _, others = announced(tmp_path)
    at = reached = 0
    while at == reached:
        lake = template.copy()
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
    template, _, others = announced(tmp_path)
    lake = template.copy()
    rehearsal = Interposed(lake.world.kv)
    lake.collect(None, rehearsal)
    for at in rehearsal.writes:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.lose[at] = done
        with suppress(OutcomeUnknown):
            lake.collect(None, kv)
        lake.collect()
        assert headers(lake) == others, at


def test_two_collectors_between_any_two_calls(tmp_path: Path) -> None:
    template, _, others = announced(tmp_path)
    at, calls = 0, 1
    while at < calls:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.before[at] = lake.collect
        lake.collect(None, kv)
        calls, at = len(kv.verbs), at + 1
        lake.collect()
        assert (headers(lake), layouts(lake)) == (others, others), at


def test_a_late_adoption_blocks_no_later_collection(tmp_path: Path) -> None:
    """Before any of its calls, another collection adopts, and a commit is lost. Before any later one, this commit is
    removed. The late collector dies when it would note its adoption.
    """
    lake, noting = Lake(tmp_path / "lake"), 8
    lake.branch().put("a", b"a")
    lake.branch().commit("first")
    lose(lake, "old")
    lake.collect()
    lake.sleep(GRACE)
    template, late = Template(lake), 0
    for adopted, removed in combinations(range(noting), 2):
        lake = template.copy()
        kv = Interposed(lake.world.kv)

        def overtake(lake: Lake = lake) -> None:
            lake.collect()
            lake.branch().reset()
            lose(lake)

        kv.before = {adopted: overtake, removed: partial(later, lake)}
        kv.fail[noting] = Crash()
        with suppress(Crash):
            lake.collect(None, kv)
        late += not former_heads(lake) <= headers(lake)
        lake.branch().reset()
        lost = lose(lake, "later")
        later(lake)
        assert former_heads(lake) <= headers(lake)
        assert lost not in headers(lake)
    assert late > 0


def former_heads(lake: Lake) -> set[CommitId]:
    return {CommitId(name) for name, _ in access.scan(lake.world.kv, keys.former_heads(lake.record))}


def test_a_dump_beside_a_removal(tmp_path: Path) -> None:
    """It has all that was reached, and nothing else, so no removal disturbs it."""
    template, _, others = announced(tmp_path)
    at, calls = 0, 1
    while at < calls:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.before[at] = lake.collect
        dumped = lake.world.graveler(kv).repository("repo").dump_refs((tmp_path / f"dump {at}").as_uri())
        assert dumped.commits == len(others)
        calls, at = max(calls, len(kv.verbs)), at + 1
    assert at > 10


@pytest.mark.parametrize(
    "what",
    ["check of data", "history", *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW_JOBS)],
)
def test_another_job_beside_a_removal(tmp_path: Path, what: str) -> None:
    """It finds no damage, and loses nothing."""
    template, made, others = announced(tmp_path)
    at, calls = 0, 1
    while at < calls:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.before[at] = lake.collect
        job(lake, PlainStore(kv), what, made)
        done = {CommitId(branch.commit_id) for branch in lake.repo.branches()}
        calls, at = len(kv.verbs), at + 1
        assert others | done <= headers(lake)
        assert made not in headers(lake)
        later(lake)
        whole(lake, others | done)


def job(lake: Lake, kv: Store, what: str, made: CommitId) -> None:
    """Do something that reads commits."""
    stores = lake.world.stores(kv)
    match what:
        case "sweep":
            sweep(stores, lake.record, SweepPlan())
        case "fsck":
            assert not [finding for finding in fsck(stores, lake.record) if finding.damage]
        case "check of data":
            found = check_data(stores, lake.record, DataCheckPlan(), DataProgress())
            assert not [finding for finding in found if finding.damage]
        case "erasure":
            erase(stores, lake.record, ErasurePlan(ErasureRule(paths=("a",)), "no longer allowed"))
        case "index repair":
            assert not repair_indexes(stores, lake.record).unrepaired
        case "history":
            with suppress(NotFound):
                lake.world.graveler(kv).repository("repo").commit(made)
