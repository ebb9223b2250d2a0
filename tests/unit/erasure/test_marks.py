"""Marks of erased content are found one by one and all at once, and count only if their erasure says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from graveler_core.errors import Conflict
from graveler_core.facade.branch import Branch
from graveler_core.kv.store import KeyValue
from graveler_core.kv.wrappers.passing import Passing
from graveler_core.model.erasure import ErasedContent, Erasure, ErasureState
from graveler_core.model.ids import Nonce
from graveler_core.objects.erased import ErasedContents, erased_contents
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from tests import smallest
from tests.unit.erasure.lake import PREFIX, Lake

LIMITS = ("graveler_core.objects.erased.LOOKED_UP", "graveler_core.erasure.branches.REMOVED_AT_ONCE")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def marks_of(lake: Lake) -> ErasedContents:
    held = repositories.find(lake.world.kv, lake.repo.id)
    assert held is not None
    return erased_contents(lake.world.kv, held.value)


@pytest.mark.parametrize("size", [1, 2, 1_000])
def test_every_size_finds_the_same(lake: Lake, size: int) -> None:
    entries = lake.branch().put_many({f"{PREFIX}{n}": b"%d" % n for n in range(5)})
    lake.branch().commit("five")
    with smallest.patched(dict.fromkeys(LIMITS, size)):
        done = lake.repo.erase(prefix=PREFIX, why="all")
        assert done.objects == 8
        assert len([branch for branch, _ in done.commits if branch == "main"]) == {1: 6, 2: 3, 1_000: 1}[size]
        erased = marks_of(lake).of([str(entry.address) for entry in entries] + ["data/other"])
        assert sorted(erased) == sorted(str(entry.address) for entry in entries)
        for entry in entries:
            with pytest.raises(Conflict):
                stage(lake.branch(), entry.address)
    assert not lake.broken()


@pytest.mark.parametrize("many", [0, 3, 6, 7, 200])
def test_the_number_of_marks_does_not_decide_what_a_check_costs(lake: Lake, many: int) -> None:
    repo = lake.repo
    access.write(lake.world.kv, keys.erasing(repo.id, repo.uid), erasure("now", ErasureState.ERASING, lake, "r"))
    for number in range(many):
        assert marks_of(lake).mark(ErasedContent(address=f"{number}", size=1, erasure="now", round="r"))
    read = list[int]()

    class Noting(Passing):
        def scan(self, *args: Any, **more: Any) -> Iterator[KeyValue]:
            for row in self.inner.scan(*args, **more):
                read.append(1)
                yield row

        def get_many(self, keys: Any) -> Any:
            assert len(keys) <= 2
            read.append(len(keys))
            return self.inner.get_many(keys)

    asked = ["0", "1", "2", "x", "y", "z"]
    with smallest.patched({LIMITS[0]: 2}):
        found = ErasedContents(Noting(lake.world.kv), repo.id, repo.uid).of(asked)
    assert sorted(found) == asked[: min(many, 3)]
    assert sum(read) <= 2 * len(asked)


def stage(branch: Branch, address: str | None) -> None:
    from graveler_core.model.entry import Entry

    branch.stage("q", Entry(address, 1))


def erasure(id: str, state: ErasureState, lake: Lake, *rounds: str) -> Erasure:
    now = lake.world.clock.now()
    ended = None if state is ErasureState.ERASING else now
    fields = {"prefix": "x", "why": "x", "since": now, "rounds": rounds, "ended": ended, "nonce": Nonce("1")}
    return Erasure(id=id, state=state, **fields)  # type: ignore[arg-type]


def test_a_mark_counts_if_its_erasure_lists_its_round(lake: Lake) -> None:
    repo = lake.repo
    folder = keys.erasures(repo.id, repo.uid)
    for one in (
        erasure("done", ErasureState.DONE, lake, "listed"),
        erasure("withdrawn", ErasureState.WITHDRAWN, lake, "listed"),
    ):
        access.write(lake.world.kv, folder.at(one.id), one)
    access.write(lake.world.kv, keys.erasing(repo.id, repo.uid), erasure("now", ErasureState.ERASING, lake, "listed"))
    marked = {
        f"{id}/{round}": ErasedContent(address=f"{id}/{round}", size=1, erasure=id, round=round)
        for id in ("done", "withdrawn", "now", "unknown")
        for round in ("listed", "late")
    }
    for mark in marked.values():
        assert marks_of(lake).mark(mark)
    assert set(marks_of(lake).of([*marked])) == {"done/listed", "now/listed"}
    again = {
        address: marks_of(lake).mark(ErasedContent(address=address, size=1, erasure="next", round="r"))
        for address in marked
    }
    kept = {"done/listed", "now/listed", "now/late"}
    assert again == {address: address not in kept for address in marked}
    for address in ("now/late", "now/listed"):
        mark = ErasedContent(address=address, size=1, erasure="now", round="another")
        assert marks_of(lake).mark(mark) == (address == "now/late")
    rounds = {mark.address: mark.rounds for mark in marks_of(lake).marks() if mark.erasure == "now"}
    assert rounds == {"now/listed": ("listed",), "now/late": ("late", "another")}


def test_a_process_that_was_late_erases_nothing_that_another_path_has_got(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stalls between two marks of a round. Meanwhile another process completes the erasure."""
    main = lake.branch()
    last = max(main.put_many({"w/x": b"x", "w/y": b"y"}), key=lambda entry: str(entry.address))
    content, right, stalled = main.read(last.path), ErasedContents.mark, list[str]()

    def mark(self: ErasedContents, mark: ErasedContent) -> bool:
        if mark.address == last.address and not stalled:
            stalled.append(last.path)
            main.stage("q", replace(last, path=""))
            main.remove(last.path)
            lake.repo.collect(grace=timedelta(0), alone=True)
            assert [erasure.state for erasure in lake.repo.erasures()] == [ErasureState.DONE]
        return right(self, mark)

    monkeypatch.setattr(ErasedContents, "mark", mark)
    assert lake.repo.erase(prefix="w/", why="late").objects == 1
    assert stalled
    assert main.read("q") == content
    main.stage("r", replace(last, path=""))
    assert not [finding for finding in lake.repo.fsck(data=True) if finding.damage]
