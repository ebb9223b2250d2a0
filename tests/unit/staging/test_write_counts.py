"""Counting in memory: what is handed out, when, and what a process keeps to itself."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import count
from threading import Thread

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.model.ids import BranchId, RepositoryUid
from graveler_core.staging.write_counts import LOOK, BranchLayer, Due, WriteCounts
from tests.unit.records.samples import REPOSITORY

MAIN = BranchLayer(REPOSITORY, BranchId("main"), "t1")
DEV = BranchLayer(REPOSITORY, BranchId("dev"), "d1")
OTHER = BranchLayer(REPOSITORY.model_copy(update={"uid": RepositoryUid("u2")}), BranchId("main"), "o1")


def counts(every: int = 10, seconds: float = 30.0, branches: int = 9) -> WriteCounts:
    numbers = count()
    return WriteCounts(every, seconds, branches, names=lambda: f"w{next(numbers)}")


def add(to: WriteCounts, times: int, place: BranchLayer = MAIN, at: float = 0.0) -> list[Due]:
    return [due for _ in range(times) for due in one(to, place, 1, 0, at)]


def one(to: WriteCounts, place: BranchLayer, writes: int, tombstones: int, at: float) -> list[Due]:
    """As the engine does it."""
    return [] if to.counted(place.layer, writes, tombstones) else to.add(place, writes, tombstones, at)


def test_nothing_is_handed_out_before_it_is_worth_it() -> None:
    assert add(counts(), 9) == []


def test_every_so_many_writes_all_of_them_are_handed_out() -> None:
    found = counts()
    assert [due.writes for due in add(found, 35)] == [10, 20, 30]
    assert [due.writes for due in found.rest()] == [35]
    assert found.rest() == []


def test_tombstones_are_counted_among_the_writes() -> None:
    found = counts()
    one(found, MAIN, 4, 3, 5.0)
    assert one(found, MAIN, 6, 6, 6.0) == [Due(MAIN, 5.0, 10, 9)]


def test_what_waits_too_long_goes_with_the_next_look_of_any_branch() -> None:
    found = counts(every=10 * LOOK)
    add(found, 1, DEV, at=100.0)
    add(found, 1, MAIN, at=120.0)
    assert [due.place for due in add(found, LOOK, MAIN, at=130.0)] == [DEV]
    assert [due.place for due in add(found, LOOK, MAIN, at=150.0)] == [MAIN]
    assert add(found, LOOK, MAIN, at=150.0) == []


def test_a_new_token_begins_anew_and_the_old_one_is_forgotten() -> None:
    found = counts()
    add(found, 9)
    assert add(found, 9, replace(MAIN, layer="t2")) == []
    assert [(due.place.layer, due.writes) for due in found.rest()] == [("t2", 9)]


def test_branches_and_repositories_of_one_name_are_told_apart() -> None:
    found = counts()
    for place in (MAIN, DEV, OTHER):
        add(found, 9, place)
    assert {(due.place, due.writes) for due in found.rest()} == {(MAIN, 9), (DEV, 9), (OTHER, 9)}


def test_the_branch_that_was_new_longest_ago_gives_way() -> None:
    found = counts(branches=2)
    add(found, 3, MAIN)
    add(found, 3, DEV)
    assert [(due.place, due.writes) for due in add(found, 1, OTHER)] == [(MAIN, 3)]


def test_a_token_that_has_left_its_branch_is_forgotten() -> None:
    found = counts()
    add(found, 7)
    assert found.ended(REPOSITORY, MAIN.branch, {"another"}) == 0
    assert found.ended(REPOSITORY, MAIN.branch, {"t1"}) == 7
    assert found.rest() == []


@given(st.lists(st.tuples(st.sampled_from([MAIN, DEV, OTHER]), st.integers(1, 25), st.integers(0, 20)), max_size=60))
def test_what_is_kept_back_is_bounded(writes: list[tuple[BranchLayer, int, int]]) -> None:
    found, at = counts(), 0.0
    written, handed = {}, {}
    for place, rows, seconds in writes:
        at += seconds
        written[place] = written.get(place, 0) + rows
        for due in one(found, place, rows, 0, at):
            handed[due.place] = due.writes
        assert written[place] - handed.get(place, 0) < found.every
    handed |= {due.place: due.writes for due in found.rest()}
    assert handed == written


def test_threads_lose_no_count() -> None:
    found = counts(every=7)
    threads = [Thread(target=add, args=(found, 500)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one(found, MAIN, 1, 0, 0.0)
    assert [due.writes for due in found.rest()] in ([2_001], [])
    assert found.ended(REPOSITORY, MAIN.branch, {"t1"}) == 2_001


def test_a_forked_child_counts_under_another_name_and_only_its_own() -> None:
    found = counts()
    add(found, 5)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        add(found, 2)
        os.write(write, f"{found.writer} {[due.writes for due in found.rest()]}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"w1 [2]"
    assert (found.writer, [due.writes for due in found.rest()]) == ("w0", [5])
    os.close(read)
    os.close(write)
