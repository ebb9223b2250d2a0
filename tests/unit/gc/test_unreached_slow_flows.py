"""Removal of commits while a flow that leads to them pauses for days: in its hooks, or anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from graveler_core.errors import SlowDown
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.gc import unreached
from graveler_core.gc.sweep import GRACE
from graveler_core.kv import bulk
from graveler_core.kv.store import Item, Predicate, Store
from graveler_core.model.collection import REMEMBERED
from graveler_core.model.ids import CommitId
from graveler_core.objects.build_time import BUILT_WITHIN
from graveler_core.records import layout as keys
from graveler_core.stores import Hook, Hooks
from tests.unit.engine.interposed import Interposed
from tests.unit.gc.lake import Lake
from tests.unit.gc.lost_commits import (
    DAY,
    attempted,
    depend,
    headers,
    later,
    lose,
    prepared,
    record,
    whole,
)

EVENTS = ("pre-commit", "pre-merge", "pre-create-branch", "pre-create-tag")


def hooked(lake: Lake, act: Callable[[], object], told: list[Any], kv: Store | None = None) -> Repository:
    """A process with a hook that notes commits, and acts when it is called first."""

    def run(request: Any, _: Any) -> None:
        told.append(request.commit_id)
        if len(told) == 1:
            act()

    hooks = Hooks(functions=(Hook("slow", run, EVENTS),))
    return Graveler(replace(lake.world.stores(kv), hooks=hooks)).repository("repo")


def removal(lake: Lake) -> None:
    """Days in which a commit is announced and removed."""
    for _ in range(2):
        lake.collect()
        lake.sleep(GRACE)


def divided(root: Path) -> tuple[Lake, CommitId, set[CommitId]]:
    """As `prepared`, and the head of `dev` is not the parent of the lost commit."""
    lake, made, others = prepared(root)
    lake.branch("dev").put("d", b"d")
    return lake, made, others | {CommitId(lake.branch("dev").commit("dev").id)}


class Stalled(Interposed):
    """A plain store. The process pauses before its first swap of a branch, or before it stores its nth headers."""

    def __init__(self, inner: Store, pause: Callable[[], object], *, headers: int = 0) -> None:
        super().__init__(inner)
        self.pause: Callable[[], object] | None = pause
        self.left = headers

    def set_many(self, items: Sequence[Item]) -> None:
        if any(key.startswith(b"commits/") for _, key, _ in items):
            self.left -= 1
            if self.left == 0:
                self._stall()
        bulk.set_many(self.inner, items)

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        if self.left < 0 and key.startswith(b"branches/"):
            self._stall()
        return self.inner.set_if(partition, key, value, predicate)

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        if self.left == 0 and swapped[1].startswith(b"branches/"):
            self._stall()
        return bulk.write_and_swap(self.inner, items, swapped, predicate)

    def _stall(self) -> None:
        pause, self.pause = self.pause, None
        if pause is not None:
            pause()


@pytest.mark.parametrize("how", ["branch", "tag", "assignment"])
def test_a_hook_takes_so_long_that_the_commit_is_removed(tmp_path: Path, how: str) -> None:
    lake, made, others = prepared(tmp_path / "lake")
    if how == "assignment":
        lake.repo.create_tag("v1", "main")
    repo = hooked(lake, partial(removal, lake), [])
    expected = lake.repo.tag("v1").commit_id if how == "assignment" else ""
    assert not attempted(
        partial(repo.assign_tag, "v1", made, expected=expected)
        if how == "assignment"
        else partial(depend, repo, how, made)
    )
    later(lake)
    whole(lake, others)


@pytest.mark.parametrize("how", ["branch", "tag"])
def test_a_commit_that_is_announced_during_a_hook_is_revived(tmp_path: Path, how: str) -> None:
    lake, made, others = prepared(tmp_path / "lake")
    depend(hooked(lake, lake.collect, []), how, made)
    assert made in record(lake).current.revived  # type: ignore[union-attr]
    later(lake)
    whole(lake, others | {made})


@pytest.mark.parametrize("how", ["hard reset", "merge", "transplant"])
def test_a_flow_pauses_before_its_swap(tmp_path: Path, how: str) -> None:
    """Its branch need not have a parent of the removed commit as its head."""
    lake, made, others = divided(tmp_path / "lake")
    kv = Stalled(lake.world.kv, partial(removal, lake))
    assert not attempted(partial(depend, lake.world.graveler(kv).repository("repo"), how, made))
    assert kv.pause is None
    later(lake)
    whole(lake, others)


def test_hooks_are_not_told_a_merge_whose_source_was_removed(tmp_path: Path) -> None:
    lake, made, others = divided(tmp_path / "lake")
    told: list[Any] = []
    kv = Stalled(lake.world.kv, partial(removal, lake), headers=1)
    assert not attempted(partial(depend, hooked(lake, lambda: None, told, kv), "merge", made))
    assert kv.pause is None
    assert not told
    later(lake)
    whole(lake, others)


@pytest.mark.parametrize("how", ["branch", "tag", "hard reset", "merge", "transplant"])
def test_a_child_that_was_stored_after_its_parent_was_removed(tmp_path: Path, how: str) -> None:
    """Its writer had paused. Somebody may know its id from an error, and is refused."""
    lake, made, others = divided(tmp_path / "lake")
    kv = Stalled(lake.world.kv, partial(removal, lake), headers=1)
    assert not attempted(partial(depend, hooked(lake, lambda: None, [], kv), "merge", made))
    (child,) = headers(lake) - others
    assert not attempted(partial(depend, lake.repo, how, child))
    later(lake)
    whole(lake, others)


def test_a_hook_takes_longer_than_removed_commits_are_remembered(tmp_path: Path) -> None:
    lake, made, others = prepared(tmp_path / "lake")

    def pause() -> None:
        removal(lake)
        lake.sleep(REMEMBERED + DAY)
        lake.branch().reset()
        lose(lake, "more")
        lake.sleep(GRACE + DAY)
        removal(lake)

    assert not attempted(partial(depend, hooked(lake, pause, []), "tag", made))
    whole(lake, others)


@pytest.mark.parametrize("how", ["merge", "squash", "replay", "transplant", "commit"])
def test_a_hook_takes_so_long_that_the_content_may_have_expired(tmp_path: Path, how: str) -> None:
    """What the flow has checked before its hooks need not be true any more."""
    lake, made, others = divided(tmp_path / "lake")
    into = "main" if how == "commit" else "dev"
    before, told = lake.repo.branch(into).record().commit_id, list[Any]()

    def pause() -> None:
        removal(lake)
        lake.sleep(DAY)

    repo = hooked(lake, pause, told)
    calls: dict[str, Callable[[], object]] = {
        "merge": partial(repo.merge, made, into="dev"),
        "squash": partial(repo.merge, made, into="dev", squash=True),
        "replay": partial(repo.merge, made, into="dev", replay=True),
        "transplant": partial(repo.transplant, [made], "dev"),
        "commit": partial(repo.branch("main").commit, "late", allow_empty=True),
    }
    with pytest.raises(SlowDown, match="took more than"):
        calls[how]()
    assert len(told) == 1
    assert lake.repo.branch(into).record().commit_id == before
    later(lake)
    whole(lake, others)


def test_hooks_are_not_told_a_replay_that_paused_between_its_commits(tmp_path: Path) -> None:
    lake, made, _ = prepared(tmp_path / "lake")
    lake.branch().reset()
    for number in range(4):
        lake.branch("dev").put(f"d{number}", b"%d" % number)
        lake.branch("dev").commit(f"dev {number}")
    lake.repo.create_branch("into", source="main")
    lake.branch("into").put("i", b"i")
    lake.branch("into").commit("into")
    before, told = headers(lake), list[Any]()
    kv = Stalled(lake.world.kv, lambda: lake.sleep(BUILT_WITHIN), headers=2)
    with pytest.raises(SlowDown, match="took more than"):
        hooked(lake, lambda: None, told, kv).merge("dev", into="into", replay=True)
    assert kv.pause is None
    assert not told
    assert 0 < len(headers(lake) - before) < 4
    later(lake)
    whole(lake, before - {made})
    assert headers(lake) == before - {made}


def test_a_collector_pauses_until_removed_commits_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It deletes the rest of one batch. What somebody has stored again meanwhile stays."""
    monkeypatch.setattr(unreached, "_BATCH", 1)
    lake, made, others = prepared(tmp_path / "lake")
    lake.branch().reset()
    lost = {made, lose(lake, "more")}
    lake.sleep(GRACE + DAY)
    lake.collect()
    saved = [lake.world.kv.get(at.partition, at.key) for at in (keys.commit(lake.record, id) for id in sorted(lost))]
    lake.sleep(GRACE)
    kv = Interposed(lake.world.kv)

    def pause() -> None:
        lake.collect()
        lake.sleep(REMEMBERED + DAY)
        for id, stored in zip(sorted(lost), saved, strict=True):
            assert stored is not None
            lake.world.kv.set(keys.commit(lake.record, id).partition, keys.commit(lake.record, id).key, stored.value)

    at = _call_of_first_deletion(tmp_path / "dry", lost)
    kv.before[at] = pause
    lake.collect(None, kv)
    assert not kv.before
    assert len(lost & headers(lake)) == 1
    assert others <= headers(lake)


def _call_of_first_deletion(root: Path, lost: set[CommitId]) -> int:
    """The number of the call, from an equal repository."""
    lake, _, _ = prepared(root)
    lake.branch().reset()
    lose(lake, "more")
    lake.sleep(GRACE + DAY)
    lake.collect()
    lake.sleep(GRACE)
    kv = Interposed(lake.world.kv)
    lake.collect(None, kv)
    assert kv.verbs.count("delete") == 2 * len(lost)
    return kv.verbs.index("delete")


def test_a_clock_is_set_back_between_removals(tmp_path: Path) -> None:
    lake, _, others = prepared(tmp_path / "lake")
    removal(lake)
    lake.branch().reset()
    lake.sleep(-4 * GRACE)
    lose(lake, "more")
    lake.sleep(GRACE + DAY)
    removal(lake)
    assert headers(lake) == others
