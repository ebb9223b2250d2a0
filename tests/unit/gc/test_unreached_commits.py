"""Commits that no branch or tag has ever reached are removed after a grace period. All others stay for ever."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from graveler_core.engine.reading import expired
from graveler_core.errors import Kind, NotFound
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.sweep import GRACE, SweepPlan, sweep
from graveler_core.kv import bulk
from graveler_core.model.collection import NEVER_REACHED, REMEMBERED
from graveler_core.model.entities import Commit, Layout
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.model.index import Index
from graveler_core.model.migration import ORIGIN
from graveler_core.objects.commits import prepare
from graveler_core.records import layout as keys
from tests.unit.engine.flows import table
from tests.unit.engine.interposed import Crash
from tests.unit.gc.lake import Lake
from tests.unit.gc.lost_commits import (
    DAY,
    FLOWS,
    GONE,
    Killed,
    attempted,
    depend,
    headers,
    later,
    layouts,
    lose,
    prepared,
    record,
    whole,
)


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


def test_the_time_from_a_clock_far_ahead_before_an_adoption_begins_again(tmp_path: Path) -> None:
    """Else no commit would be removed until that time."""
    lake = Lake(tmp_path / "lake")
    lake.sleep(365 * DAY)
    lake.collect()
    lake.sleep(-365 * DAY)
    lake.collect()
    lake.sleep(GRACE - DAY)
    lake.collect()
    assert not record(lake).adopted
    lake.sleep(DAY)
    lake.collect()
    assert record(lake).adopted


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
