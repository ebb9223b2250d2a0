"""Partitioned scans: all partitions together are the listing, in any process, whatever moves meanwhile."""

from __future__ import annotations

import pickle
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.codec.entry import entries
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.facade.scan import Scan
from graveler_core.model.changes import CHANGE_SCHEMA, Change
from graveler_core.model.entry import ENTRY_SCHEMA, Entry
from graveler_core.model.key_intervals import KeyInterval
from graveler_core.model.scan import ScanPartition
from tests.examples import examples
from tests.unit.engine.world import World, entry

REFS = ["main", "main@", "main$", "main~1", "v1", "dev"]
PREFIXES = ["", "p/", "p/01", "p/007", "nothing/", "q"]


@pytest.fixture(scope="module")
def scene() -> World:
    """`main` has 40 entries, a commit that changes some, and staged changes; `dev` is clean; `empty` is empty."""
    world = World()
    repo = world.repository()
    repo.create_branch("empty", "main")
    main = repo.branch("main")
    for number in range(40):
        main.stage(f"p/{number:03}", entry(number))
    main.stage("q", entry(99))
    main.commit("forty")
    repo.create_tag("v1", "main")
    repo.create_branch("dev", "main")
    main.remove_many([f"p/{number:03}" for number in range(5, 9)])
    for number in range(30, 36):
        main.stage(f"p/{number:03}", entry(number + 1_000))
    main.stage("r", entry(100))
    main.commit("changes")
    main.stage("p/0071", entry(101))
    main.remove_prefix("p/02")
    return world


@pytest.fixture
def world(scene: World) -> World:
    return scene.fork()


@pytest.fixture
def repo(world: World) -> Repository:
    return world.graveler().repository("repo")


def elsewhere(world: World, scan: Scan) -> Scan:
    """The same scan, in another process."""
    plan = pickle.loads(pickle.dumps(scan.plan))
    return world.graveler().repository("repo").open_scan(plan)


def rows(world: World, scan: Scan, size: int = 4) -> list[pa.RecordBatch]:
    """The batches of all partitions, each of which another process reads."""
    found: list[pa.RecordBatch] = []
    for partition in scan.partitions(size):
        sent: ScanPartition = pickle.loads(pickle.dumps(partition))
        reader = elsewhere(world, scan).read(sent)
        assert reader.schema == scan.schema
        found += reader
    assert all(batch.num_rows for batch in found)
    return found


def shown(world: World, scan: Scan, size: int = 4) -> list[Entry]:
    assert scan.schema == ENTRY_SCHEMA
    return [*entries(pa.Table.from_batches(rows(world, scan, size), ENTRY_SCHEMA))]


def changed(world: World, scan: Scan, size: int = 4) -> list[tuple[str, str, str | None, str | None]]:
    """Path, kind, and the addresses before and after."""
    assert scan.schema == CHANGE_SCHEMA
    table = pa.Table.from_batches(rows(world, scan, size), CHANGE_SCHEMA)
    return [
        (row["key"].decode(), row["kind"], *(row[side] and row[side]["address"] for side in ("before", "after")))
        for row in table.to_pylist()
    ]


def listed(changes: list[Change]) -> list[tuple[str, str, str | None, str | None]]:
    return [(c.path, str(c.kind), c.before and c.before.address, c.after and c.after.address) for c in changes]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("ref", REFS)
def test_all_partitions_are_the_listing(world: World, repo: Repository, ref: str, prefix: str) -> None:
    at = repo.at(ref)
    scan = at.scan(prefix)
    assert shown(world, scan) == [*at.list(prefix)]
    assert [*entries(scan.read().read_all())] == [*at.list(prefix)]
    assert scan.plan.commit_id == at.commit_id


@settings(max_examples=examples(25))
@given(
    prefix=st.sampled_from(PREFIXES),
    start=st.sampled_from(["", "p", "p/005", "p/0071", "p/02", "r", "z"]),
    end=st.sampled_from([None, "", "p/006", "p/0071", "p/031", "q", "z"]),
    size=st.integers(1, 50),
)
def test_partitions_have_each_row_once_in_order(
    scene: World, prefix: str, start: str, end: str | None, size: int
) -> None:
    branch = scene.graveler().repository("repo").branch("main")
    scan = branch.scan(prefix, start, end)
    wanted = [e for e in branch.list(prefix) if start <= e.path and (end is None or e.path < end)]
    assert shown(scene, scan, size) == wanted
    intervals = [interval for partition in scan.partitions(size) for interval in partition.intervals]
    assert all(one.end is not None and one.end <= other.start for one, other in pairwise(intervals))


def test_partitions_have_about_the_entries_that_are_asked_for(repo: Repository) -> None:
    scan = repo.at("v1").scan()
    assert len(scan.partitions()) == 1
    parted = scan.partitions(10)
    assert 4 <= len(parted) <= 8
    assert max(partition.entries for partition in parted) <= 10
    assert sum(partition.entries for partition in parted) == 41
    assert max(len(pickle.dumps(partition)) for partition in parted) < 500


def test_a_scan_shows_the_moment_of_its_opening(world: World, repo: Repository) -> None:
    scans = [repo.at("main").scan(), repo.branch("main").scan("p/"), repo.at("dev").scan()]
    before = [[*repo.at("main").list()], [*repo.at("main").list("p/")], [*repo.at("dev").list()]]
    repo.branch("main").commit("what was staged")
    repo.branch("main").remove_prefix("")
    repo.branch("main").commit("nothing is left")
    repo.delete_branch("dev")
    assert [shown(world, scan) for scan in scans] == before


def test_changes_that_were_committed_since_the_ref_was_resolved_are_shown(world: World, repo: Repository) -> None:
    at = repo.at("main")
    wanted = [*repo.at("main").list()]
    head = repo.branch("main").commit("what was staged").id
    assert shown(world, at.scan()) == wanted
    assert at.scan().plan.commit_id == head


def test_a_scan_of_an_empty_ref(world: World, repo: Repository) -> None:
    for scan in (repo.at("empty").scan(), repo.branch("empty").scan("p/"), repo.at("main").scan(start="b", end="a")):
        assert shown(world, scan) == []
        assert scan.read().read_all().num_rows == 0
    assert changed(world, repo.scan_diff(None, "empty")) == []


def test_keys_that_are_given_are_read_alone(world: World, repo: Repository) -> None:
    keys = [KeyInterval(f"p/{n:03}".encode(), f"p/{n:03}\0".encode()) for n in (17, 3, 77, 18)]
    scan = repo.at("v1").scan("p/").within([*keys, (b"p/038", None)])
    assert [found.path for found in shown(world, scan)] == ["p/003", "p/017", "p/018", "p/038", "p/039"]
    assert shown(world, scan.within([])) == []


def test_a_partition_of_another_scan_shows_nothing_outside_of_this_one(repo: Repository) -> None:
    (whole,) = repo.at("v1").scan().partitions()
    found = repo.at("v1").scan("p/01").read(whole)
    assert found.read_all().column("key").to_pylist() == [f"p/{n:03}".encode() for n in range(10, 20)]


@pytest.mark.parametrize(("left", "right"), [("v1", "main"), ("main", "v1"), ("dev", "main"), ("v1", "v1")])
@pytest.mark.parametrize("prefix", ["", "p/00", "r"])
def test_a_scan_of_a_diff_is_the_diff(world: World, repo: Repository, left: str, right: str, prefix: str) -> None:
    wanted = listed([*repo.diff(left, right, prefix)])
    assert changed(world, repo.scan_diff(left, right, prefix)) == wanted
    assert changed(world, repo.scan_diff(left, right, prefix, start="p/007", end="p/032")) == [
        change for change in wanted if "p/007" <= change[0] < "p/032"
    ]


def test_a_scan_of_a_diff_since_the_merge_base(world: World, repo: Repository) -> None:
    repo.branch("dev").stage("d", entry(7))
    repo.branch("dev").commit("d")
    wanted = listed([*repo.diff("main", "dev", since_merge_base=True)])
    assert [change[0] for change in wanted] == ["d"]
    assert changed(world, repo.scan_diff("main", "dev", since_merge_base=True)) == wanted
    with pytest.raises(InvalidInput, match="requires a ref as 'left'"):
        repo.scan_diff(None, "dev", since_merge_base=True)


@pytest.mark.parametrize("ref", ["main", "v1", "main~2"])
def test_the_changes_of_each_commit(world: World, repo: Repository, ref: str) -> None:
    entry = next(repo.log(ref))
    parent = entry.parents[0] if entry.parents else None
    assert changed(world, repo.scan_diff(parent, entry.id)) == listed([*entry.changes()])


def test_without_a_left_side_everything_is_added(world: World, repo: Repository) -> None:
    wanted = [(e.path, "added", None, e.address) for e in repo.at("main@").list("p/")]
    assert changed(world, repo.scan_diff(None, "main", "p/")) == wanted
    assert len(repo.scan_diff(None, "main").partitions(10)) > 2


def test_a_change_has_all_columns_of_both_states(repo: Repository) -> None:
    (row,) = repo.scan_diff("v1", "main", "p/031").read().read_all().to_pylist()
    before, after = (next(entries(repo.at(ref).scan("p/031").read().read_all())) for ref in ("v1", "main@"))
    for state, wanted in ((row["before"], before), (row["after"], after)):
        assert (state["identity"], state["size"], state["mtime"]) == (wanted.identity, wanted.size, wanted.mtime)
        assert dict(state["metadata"] or ()) == wanted.metadata
        assert "key" not in state


def test_offsets_follow_first_parents(repo: Repository) -> None:
    ids = [commit.id for commit in repo.log("main", first_parent=True)][::-1]
    assert [repo.next_offset("main", None, most) for most in (1, 2, 9)] == [ids[0], ids[1], ids[-1]]
    assert [repo.next_offset("main", ids[0], most) for most in (1, 2, 9)] == [ids[1], ids[2], ids[2]]
    assert repo.next_offset("main", ids[-1], 1) == repo.next_offset("main", ids[-1]) == ids[-1]
    assert repo.next_offset("main", ids[0], 9, until=ids[1]) == ids[1]
    repo.branch("dev").stage("d", entry(7))
    aside = repo.branch("dev").commit("d").id
    assert repo.next_offset("main", aside, 1) == ids[-1]
    with pytest.raises(InvalidInput, match="max_commits 0"):
        repo.next_offset("main", max_commits=0)
    with pytest.raises(NotFound):
        repo.next_offset("nothing")


def test_an_offset_beside_the_first_parents_leads_to_the_end(world: World, repo: Repository) -> None:
    """The end may have the offset as its second parent, and a first parent that is older than the offset."""
    merged = repo.merge("main", "empty").id
    offset = repo.commit("main").id
    assert [repo.next_offset("empty", offset, most) for most in (1, 2, 9)] == [merged] * 3


def test_a_reader_that_follows_offsets_sees_each_state(world: World, repo: Repository) -> None:
    state: dict[str, str | None] = {}
    offset: str | None = None
    while (end := repo.next_offset("main", offset, max_commits=1)) != offset:
        for path, kind, _, address in changed(world, repo.scan_diff(offset, end)):
            if kind == "removed":
                del state[path]
            else:
                state[path] = address
        assert state == {e.path: e.address for e in repo.at(end).list()}
        offset = end
    assert offset == repo.commit("main").id


def test_a_deleted_branch_is_not_scanned(repo: Repository) -> None:
    at, branch = repo.at("dev"), repo.branch("dev")
    repo.delete_branch("dev")
    for opened in (at, branch):
        with pytest.raises(NotFound) as missing:
            opened.scan()
        assert missing.value.kind is Kind.BranchNotFound


def test_a_deleted_repository_is_not_read(world: World, repo: Repository) -> None:
    scan = repo.at("main").scan()
    (partition,) = scan.partitions()
    world.graveler().delete_repository("repo")
    with pytest.raises(NotFound):
        scan.read(partition).read_all()
    world.graveler().create_repository("repo", world.namespace("other"), adopt=True)
    for opened in (scan, elsewhere(world, scan)):
        with pytest.raises(NotFound, match="deleted and created again") as missing:
            opened.partitions()
        assert missing.value.kind is Kind.RepositoryNotFound


def test_wrong_arguments(world: World, repo: Repository) -> None:
    scan = repo.at("main").scan()
    with pytest.raises(InvalidInput, match="rows 0: must be at least 1"):
        scan.partitions(0)
    with pytest.raises(InvalidInput):
        repo.at("main").scan("a\0")
    other = world.repository("other", adopt=True)
    with pytest.raises(InvalidInput, match="is from repository 'repo', but was opened in 'other'"):
        other.open_scan(scan.plan)
    assert repr(repo.at("v1").scan("p/")) == f"Scan('repo', {repo.commit('v1').id!r}, prefix='p/')"
