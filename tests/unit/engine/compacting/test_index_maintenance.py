"""Heads whose layers are folded beside: what branches show stays, and so does what was built on the old layout."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import pytest

from graveler_core.committed.index.indexes import Sizes
from graveler_core.engine.compacting import index_maintenance
from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.model.entities import Layout
from graveler_core.model.entry import Entry
from graveler_core.model.hook_runs import HookRequest
from graveler_core.model.ids import MetarangeId
from graveler_core.model.index import Index
from graveler_core.model.webhooks import HookEvent
from graveler_core.objects.build_time import BUILT_WITHIN
from graveler_core.objects.commits import CommitCache
from graveler_core.stores import Aside, Hook, HookCalls, Hooks, Stores
from graveler_core.testing.invariants import check_history
from tests.unit.engine.interposed import Interposed, unavailable
from tests.unit.engine.world import World, entry

SIZES = Sizes(inline_bytes=400, object_bytes=900, fan_out=3, fold_elements=12, fold_share=2, small_elements=50)
DUE = 20
"""So many commits of one entry make a fold due."""


@dataclass
class Later:
    """A background that does nothing until it is told to."""

    waiting: list[Callable[[], object]] = field(default_factory=list)

    def start(self, work: Callable[[], object]) -> None:
        self.waiting.append(work)

    def close(self) -> None:
        """Nothing goes on by itself."""

    def work(self) -> None:
        while self.waiting:
            self.waiting.pop()()


@dataclass
class Tended:
    """A process whose background waits, and the branch it works on."""

    world: World = field(default_factory=World)
    later: Later = field(default_factory=Later)
    shown: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world.repository()
        self.stores = replace(self.world.stores(), sizes=SIZES, background=self.later)

    def branch(self, stores: Stores | None = None) -> Branch:
        return Graveler(stores or self.stores).repository("repo").branch("main")

    def commits(self, count: int, stores: Stores | None = None) -> None:
        for _ in range(count):
            number = len(self.shown)
            self.branch(stores).stage(f"k{number:03}", entry(number))
            self.branch(stores).commit(f"change {number}")
            self.shown[f"k{number:03}"] = number

    def layout(self) -> Layout:
        """That of the head, as it is stored."""
        stores = self.world.stores()
        record = self.branch().record()
        return commit_of(stores, self.branch()._record, record.commit_id).layout

    def check(self) -> None:
        """Every commit is whole, and the branch shows what was committed, to this process and to a new one."""
        check_history(self.world.stores(), self.branch()._record)
        for stores in (self.stores, replace(self.world.stores(), sizes=SIZES)):
            items = list(self.branch(stores).list())
            assert {item.path: item.size for item in items if isinstance(item, Entry)} == self.shown


def elements(index: Index) -> int:
    return sum(run.elements for run in index.runs)


def test_a_fold_is_begun_once_and_put_in_place() -> None:
    tended = Tended()
    tended.commits(DUE)
    assert len(tended.later.waiting) == 1
    before = tended.layout()
    tended.later.work()
    after = tended.layout()
    assert after.index.metarange_id != before.index.metarange_id
    assert elements(after.index) < elements(before.index)
    assert [old.index.metarange_id for old in after.superseded] == [before.index.metarange_id]
    tended.check()
    tended.commits(3)
    assert tended.layout().index.metarange_id == after.index.metarange_id
    tended.check()


def test_many_runs_of_one_size_are_folded() -> None:
    tended = Tended()
    tended.stores = replace(tended.stores, sizes=replace(SIZES, fan_out=64, fold_elements=80))
    while not tended.later.waiting:
        tended.commits(1)
    before = tended.layout().index
    assert len(before.runs) > 16
    tended.later.work()
    assert tended.layout().index.metarange_id != before.metarange_id
    tended.check()


def test_a_fold_that_was_suspended_changes_nothing() -> None:
    """A sweep may have deleted its files."""
    tended = Tended()
    tended.commits(DUE)
    before = tended.layout()
    fold = index_maintenance.fold

    def slow(*arguments: Any, **options: Any) -> MetarangeId:
        tended.world.clock.time += BUILT_WITHIN
        return fold(*arguments, **options)

    with patch.object(index_maintenance, "fold", slow):
        tended.later.work()
    assert tended.layout() == before
    tended.commits(1)
    tended.later.work()
    assert tended.layout().superseded
    tended.check()


def test_commits_made_meanwhile_are_kept() -> None:
    tended = Tended()
    tended.commits(DUE)
    before = tended.layout().index
    tended.commits(2)
    tended.later.work()
    assert tended.layout().index.metarange_id != before.metarange_id
    tended.check()


def test_a_fold_of_runs_that_were_merged_meanwhile_changes_nothing() -> None:
    tended = Tended()
    tended.commits(DUE)
    tended.commits(5)
    before = tended.layout()
    tended.later.work()
    assert tended.layout() == before
    tended.check()
    tended.commits(1)
    tended.later.work()
    assert tended.layout().index.metarange_id != before.index.metarange_id
    tended.check()


def test_a_commit_on_the_old_layout_while_it_is_put_in_place() -> None:
    """Another process commits on what it had read before: the new head repeats the old layout, and is replaced too."""
    tended = Tended()
    tended.commits(DUE)
    other = replace(tended.world.stores(), sizes=SIZES, background=Later())
    tended.commits(1, other)
    before = tended.layout().index
    tended.later.work()
    replaced = tended.layout().index
    assert replaced.metarange_id != before.metarange_id
    tended.commits(1, other)
    assert tended.layout().index.metarange_id == before.metarange_id
    tended.check()


def test_a_fold_that_fails_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    tended = Tended()
    tended.commits(DUE)
    before = tended.layout().index

    def broken(*_: object, **__: object) -> None:
        raise Unavailable("planted")

    with monkeypatch.context() as patch:
        patch.setattr("graveler_core.engine.compacting.index_maintenance.fold", broken)
        tended.later.work()
    assert tended.layout().index == before
    tended.commits(1)
    tended.later.work()
    assert tended.layout().index.metarange_id != before.metarange_id
    tended.check()


def test_a_commit_folds_by_itself_where_nobody_does() -> None:
    tended = Tended()
    for _ in range(8):
        tended.commits(DUE)
        tended.later.waiting.clear()
        assert elements(tended.layout().index) <= (SIZES.fold_at_once + 1) * SIZES.fold_beyond(len(tended.shown))
    tended.check()


def test_a_branch_that_is_gone() -> None:
    tended = Tended()
    tended.commits(DUE)
    Graveler(tended.stores).delete_repository("repo")
    tended.later.work()
    assert not tended.later.waiting


def test_a_commit_that_is_made_does_not_fail_for_its_tending() -> None:
    """The look at what was committed, whether a fold is due, may be refused: the head has moved by then."""
    world = World()
    world.repository()
    world.branch().stage("a", entry(1))
    rehearsed, kv = Interposed(world.fork().kv), Interposed(world.kv)
    for store in (rehearsed, kv):
        main = Graveler(replace(world.stores(store), commits=CommitCache(capacity=0))).repository("repo").branch("main")
        if store is kv:
            last_swap = len(rehearsed.verbs) - rehearsed.verbs[::-1].index("write_and_swap") - 1
            assert rehearsed.verbs[last_swap + 1] == "get_many"
            kv.fail[last_swap + 1] = unavailable()
        made = main.commit("made")
    assert world.branch().record().commit_id == made.id


def test_a_fold_holds_the_same_with_and_without_the_small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    left = {}
    for share in (2, 1 << 40):
        monkeypatch.setattr(index_maintenance, "_SMALL_SHARE", share)
        tended = Tended()
        tended.commits(DUE)
        tended.later.work()
        index = tended.layout().index
        assert index.metarange_id is not None
        left[share] = sum(run.elements for run in index.runs[index.own_run :])
        tended.check()
    assert left[2] > left[1 << 40] == 0


def test_a_hook_that_never_returns_does_not_prevent_maintenance() -> None:
    begun, released = threading.Event(), threading.Event()

    def hangs(request: HookRequest, repository: object) -> None:
        begun.set()
        released.wait()

    tended = Tended()
    hook = Hook("hangs", hangs, (HookEvent.POST_COMMIT,))
    calls = HookCalls()
    stores = replace(tended.stores, background=Aside(), hook_calls=calls, hooks=Hooks(functions=(hook,)))
    tended.commits(1, stores)
    begun.wait()
    before = tended.layout().index.metarange_id
    tended.commits(DUE, stores)
    stores.background.close()
    assert tended.layout().index.metarange_id != before
    released.set()
    calls.close()
    tended.check()
