"""What users see of commits that a collection has removed, and what dumps and checks make of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graveler_core.codec.records import commit_id
from graveler_core.errors import Kind, NotFound
from graveler_core.gc.sweep import GRACE, SweepPlan, sweep
from graveler_core.model.collection import NEVER_REACHED, REMEMBERED
from graveler_core.model.ids import CommitId
from graveler_core.model.migration import ORIGIN
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.transfer.files import dump_file
from graveler_core.transfer.format import RowKind
from graveler_core.transfer.reading import rows
from tests import smallest
from tests.unit.engine.flows import table
from tests.unit.engine.world import World
from tests.unit.gc.lake import NOW, Lake
from tests.unit.gc.lost_commits import DAY, headers, later, lose, prepared, record


def removed(root: Path) -> tuple[Lake, CommitId]:
    """A repository, and the commit that a collection has removed."""
    lake, made, _ = prepared(root)
    for _ in range(2):
        lake.collect()
        lake.sleep(GRACE)
    return lake, made


def refused(act: Callable[[], object]) -> NotFound:
    with pytest.raises(NotFound) as caught:
        act()
    return caught.value


def test_whoever_names_one_is_told_so_for_a_time(tmp_path: Path) -> None:
    lake, made = removed(tmp_path / "lake")
    repo = lake.repo
    day = f"{record(lake).removed.since:%Y-%m-%d}"  # type: ignore[union-attr]
    calls = {
        "commit": lambda: repo.commit(made),
        "log": lambda: list(repo.log(made)),
        "read": lambda: repo.at(made).read("a"),
        "branch": lambda: repo.create_branch("new", source=made),
        "tag": lambda: repo.create_tag("v1", f"{made}~1"),
        "reset": lambda: repo.branch("dev").hard_reset(made),
        "merge": lambda: repo.merge(made, into="dev"),
        "diff": lambda: list(repo.diff(made, "main")),
    }
    for name, call in calls.items():
        error = refused(call)
        assert error.kind is Kind.CommitNotFound, name
        assert error.message == f"commit {made}: the commit was removed on {day}, because {NEVER_REACHED}", name
    assert refused(lambda: repo.commit("0" * 64)).kind is Kind.RefNotFound, "nobody has ever heard of this one"
    assert refused(lambda: repo.commit(made[:12])).kind is Kind.RefNotFound
    lake.sleep(REMEMBERED + DAY)
    lake.branch().reset()
    lose(lake, "more")
    later(lake)
    assert refused(lambda: lake.repo.commit(made)).kind is Kind.RefNotFound, "it is forgotten"


def test_listings_mark_announced_ones_and_have_no_removed_ones(tmp_path: Path) -> None:
    lake, made, _ = prepared(tmp_path / "lake")
    lake.collect()
    marks = {commit.id: commit.expired for commit in lake.repo.commits()}
    assert [id for id, mark in marks.items() if mark is not None and mark.removes] == [made]
    lake.sleep(GRACE)
    lake.collect()
    assert {commit.id for commit in lake.repo.commits()} == marks.keys() - {made}
    assert all(commit.expired is None for commit in lake.repo.commits())


def test_a_check_reports_a_missing_parent_and_no_removed_commit(tmp_path: Path) -> None:
    lake, _ = removed(tmp_path / "lake")
    assert not [finding for finding in lake.repo.fsck(deep=True) if finding.damage or finding.thing == "commit"]
    parent = CommitId(lake.repo.commit("main~1").id)
    where = keys.commit(lake.record, parent)
    lake.world.kv.delete(where.partition, where.key)
    found = [(finding.trouble, finding.id) for finding in lake.repo.fsck() if finding.damage]
    assert ("missing", parent) in found


def test_dumps_have_what_stays(tmp_path: Path) -> None:
    """And all commits, as long as it is unknown which ones references have left."""
    lake = Lake(tmp_path / "lake")
    lake.branch().put("a", b"a")
    lake.branch().commit("first")
    before = lose(lake, "before")
    lake.branch().reset()
    assert dumped(lake, tmp_path / "first") == headers(lake)
    lake.collect(NOW)
    lake.repo.create_branch("dev", source="main")
    lake.branch("dev").put("y", b"y")
    left = CommitId(lake.branch("dev").commit("left by its branch").id)
    lake.repo.delete_branch("dev")
    migrated = lose(lake, "migrated", metadata={ORIGIN: "c1"})
    lost = lose(lake)
    assert dumped(lake, tmp_path / "second") == headers(lake) - {lost}
    assert {before, left, migrated} < headers(lake)


def dumped(lake: Lake, file: Path) -> set[CommitId]:
    """Dump the repository, and return the commits of the dump."""
    lake.repo.dump_refs(file.as_uri())
    found = rows(dump_file(lake.world.blobs, file.as_uri()))
    return {commit_id(row.data) for row in found if row.kind is RowKind.COMMIT}


def test_an_old_dump_is_restored_after_a_removal(tmp_path: Path) -> None:
    """It does not need the files of the commits that were removed since."""
    lake, _, _ = prepared(tmp_path / "lake")
    lake.branch().stage_many(table({f"{number:04}": number for number in range(300)}))
    large = lose(lake, "large")
    lake.branch().reset()
    lake.sleep(GRACE + DAY)
    assert large not in dumped(lake, tmp_path / "dump")
    later(lake)
    assert sweep(lake.world.stores(), lake.record, SweepPlan()).blobs > 0
    world = World(blobs=lake.world.blobs)
    copy = world.graveler().create_bare_repository("copy", lake.root.as_uri(), adopt=True)
    copy.restore_refs((tmp_path / "dump").as_uri())
    assert copy.branch("main").read("a") == b"a"
    assert not [finding for finding in copy.fsck(deep=True) if finding.damage]


@pytest.mark.parametrize("batch", [1, 1_000])
def test_batches_of_any_size(tmp_path: Path, batch: int) -> None:
    """Of former heads that are recorded, and of commits that are deleted."""

    def lose_three(word: str) -> set[CommitId]:
        found = set[CommitId]()
        for number in range(3):
            lake.branch().reset()
            found.add(lose(lake, f"{word} {number}"))
        return found

    lake = Lake(tmp_path / "lake")
    with smallest.patched({"graveler_core.gc.unreached._BATCH": batch}):
        before = lose_three("before")
        lake.collect(NOW)
        assert {name for name, _ in access.scan(lake.world.kv, keys.former_heads(lake.record))} == before
        lost, done = lose_three("lost"), lake.collect(NOW)
    assert (done.unreached, done.removed) == (3, 3)
    assert before <= headers(lake)
    assert not lost & headers(lake)
