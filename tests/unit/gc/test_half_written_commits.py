"""Commits that a killed process has written only in part: collections and erasures of the whole store go on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from graveler_core.errors import CorruptData
from graveler_core.facade.repository import Repository
from graveler_core.gc.collection import collect
from graveler_core.gc.half_written import release_half_written
from graveler_core.gc.named_addresses import named_addresses
from graveler_core.gc.sweep import GRACE
from graveler_core.kv import bulk
from graveler_core.kv.store import Item, Store
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.model.index import RunLocation
from graveler_core.model.references import FormerHead
from graveler_core.objects.commits import CommitCache, prepare, read_commit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.layout import OBJECTS
from graveler_core.testing.plain_store import PlainStore
from graveler_core.transfer import restore
from tests.unit.engine.flows import table
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.gc.lake import NOW, Lake
from tests.unit.gc.lost_commits import DAY, headers, layouts, lose

ROWS = {f"row/{number}": number for number in range(5)}
"""Changes that become a run in the key-value store."""


class DyingBetweenPartitions(PlainStore):
    """Writes rows in the order of their partitions and keys, and dies after the rows of the repository's partition."""

    def __init__(self, inner: Store, partition: bytes) -> None:
        super().__init__(inner)
        self.partition = partition

    def set_many(self, items: Sequence[Item]) -> None:
        left = sum(item[0] == self.partition for item in items)
        for partition, key, value in sorted(items):
            self.inner.set(partition, key, value)
            left -= partition == self.partition
            if partition == self.partition and left == 0:
                raise Crash


def adopted(root: Path) -> tuple[Lake, Repository]:
    """Two repositories whose collections know which commits were never reached."""
    lake = Lake(root / "lake")
    lake.branch().put("a", b"a")
    lake.branch().commit("first")
    other = lake.world.graveler().create_repository("other", (root / "other").as_uri())
    other.branch("main").put("o", b"o")
    lake.collect(NOW)
    return lake, other


def half_written(lake: Lake) -> tuple[CommitId, tuple[bytes, bytes]]:
    """Have a process killed before the swap of a commit with a run, and lose the run. Return the commit and where its
    run was.
    """
    lake.branch().stage_many(table(ROWS))
    made = lose(lake)
    run = run_of(lake, made)
    lake.world.kv.delete(*run)
    return made, run


def run_of(lake: Lake, commit: CommitId) -> tuple[bytes, bytes]:
    """Return where the changes of a commit are."""
    held = access.read(lake.world.kv, keys.commit_layout(lake.record, commit))
    assert held is not None
    run = held.value.index.runs[0]
    assert run.place is RunLocation.OBJECT
    return keys.stored_object(lake.record, run.id)


def collect_other(lake: Lake, other: Repository) -> None:
    held = access.read(lake.world.kv, keys.repository(other.id))
    assert held is not None
    collect(lake.world.stores(), held.value)


def removes(lake: Lake, made: CommitId) -> None:
    """Two collections remove the commit, and collections and erasures work until then."""
    lake.branch().reset()
    lake.sleep(GRACE + DAY)
    other = lake.world.graveler().repository("other")
    collect_other(lake, other)
    other.branch("main").put("erased", b"erased")
    assert other.erase(["erased"], why="a request").objects == 1
    lake.branch().put("erased", b"erased")
    assert lake.repo.erase(["erased"], why="a request").objects == 1
    assert lake.collect().unreached == 1
    lake.sleep(GRACE)
    assert lake.collect().removed == 1
    assert made not in headers(lake) | layouts(lake)
    assert lake.branch().read("a") == b"a"


def test_a_run_is_written_before_the_layout_that_names_it(tmp_path: Path) -> None:
    """A process that dies between two steps leaves no layout whose run is missing."""
    lake, _ = adopted(tmp_path)
    before = headers(lake)
    lake.branch().stage_many(table(ROWS))
    dying = DyingBetweenPartitions(lake.world.kv, keys.partition(lake.record))
    with suppress(Crash):
        lake.world.graveler(dying).repository("repo").branch("main").commit("lost")
    (made,) = headers(lake) - before
    assert lake.world.kv.get(*run_of(lake, made)) is not None
    removes(lake, made)


def test_a_commit_without_its_run_stops_nothing(tmp_path: Path) -> None:
    """Processes of earlier versions may have left it."""
    lake, _ = adopted(tmp_path)
    made, _ = half_written(lake)
    removes(lake, made)


def test_a_layout_without_header_and_run_stops_nothing(tmp_path: Path) -> None:
    """A store may have written the layout alone."""
    lake, other = adopted(tmp_path)
    made, _ = half_written(lake)
    where = keys.commit(lake.record, made)
    lake.world.kv.delete(where.partition, where.key)
    lake.branch().reset()
    lake.sleep(GRACE + DAY)
    collect_other(lake, other)
    assert lake.collect().unreached == 0


def test_it_loses_no_content_that_something_else_names(tmp_path: Path) -> None:
    """Its changes are still staged, or another commit has them."""
    lake, other = adopted(tmp_path)
    for number in range(5):
        lake.branch().put(f"row/{number}", b"%d" % number)
    half_written_objects = lake.objects
    made = lose(lake)
    lake.world.kv.delete(*run_of(lake, made))
    for _ in range(3):
        lake.sleep(GRACE + DAY)
        collect_other(lake, other)
        lake.collect()
    assert half_written_objects <= lake.objects
    lake.branch().commit("again")
    for _ in range(3):
        lake.sleep(GRACE + DAY)
        lake.collect()
    assert half_written_objects <= lake.objects
    assert not lake.missing()


def test_a_run_that_a_reached_commit_lacks_is_damage(tmp_path: Path) -> None:
    """Even if a commit that nothing reached refers to it, too, and is read first."""
    lake, other = adopted(tmp_path)
    lake.branch().stage_many(table(ROWS))
    reached = CommitId(lake.branch().commit("reached").id)
    stored = read_commit(lake.world.kv, CommitCache(), lake.record, reached)
    twins = (stored.header.model_copy(update={"nonce": Nonce(str(number))}) for number in count())
    twin, writes = next(
        made for made in (prepare(lake.record, each, stored.layout) for each in twins) if made[0].id < reached
    )
    bulk.set_many(lake.world.kv, writes)
    run = run_of(lake, twin.id)
    assert run == run_of(lake, reached)
    lake.world.kv.delete(*run)
    lake.sleep(GRACE + DAY)
    with pytest.raises(CorruptData, match="is missing"):
        lake.collect()
    with pytest.raises(CorruptData, match="is missing"):
        collect_other(lake, other)


@pytest.mark.parametrize("how", ["branch", "tag", "former head", "before the adoption", "damaged header"])
def test_a_commit_that_may_have_been_reached_is_damage(tmp_path: Path, how: str) -> None:
    lake = Lake(tmp_path / "lake")
    lake.branch().put("a", b"a")
    first = CommitId(lake.branch().commit("first").id)
    if how != "before the adoption":
        lake.collect(NOW)
    made, run = half_written(lake)
    assert lake.world.kv.get(*run) is None
    lake.branch().reset()
    match how:
        case "branch":
            lake.repo.create_branch("new", source=made)
        case "tag":
            lake.repo.create_tag("v1", made)
        case "former head":
            lake.repo.create_tag("v1", made)
            lake.repo.delete_tag("v1")
        case "damaged header":
            where = keys.commit(lake.record, first)
            lake.world.kv.set(where.partition, where.key, b"damaged")
    with pytest.raises(CorruptData, match="is missing"):
        list(named_addresses(lake.world.stores(), lake.record, lambda more: None))


def stuck(root: Path) -> tuple[Lake, Repository, CommitId]:
    """Two repositories, and a half-written commit of the first one from before its second collection."""
    lake = Lake(root / "lake")
    lake.branch().put("a", b"a")
    lake.branch().commit("first")
    other = lake.world.graveler().create_repository("other", (root / "other").as_uri())
    other.branch("main").put("o", b"o")
    with_run = lose(lake, "an unreached parent")
    lake.repo.create_branch("dev", source=with_run)
    lake.branch("dev").stage_many(table(ROWS))
    made = lose(lake, branch="dev")
    lake.branch("dev").reset()
    unrecorded(lake, "dev")
    lake.world.kv.delete(*run_of(lake, made))
    lake.branch().reset()
    for _ in range(2):
        lake.sleep(GRACE + DAY)
        with pytest.raises(CorruptData, match=rf"repository 'repo': commit {made}: object .* is missing"):
            lake.collect()
    return lake, other, made


def unrecorded(lake: Lake, branch: str) -> None:
    """Delete a branch as an earlier version did, without a former head."""
    lake.repo.delete_branch(branch)
    for id in former_heads(lake):
        where = keys.former_heads(lake.record).at(id)
        lake.world.kv.delete(where.partition, where.key)


def former_heads(lake: Lake) -> set[CommitId]:
    return {CommitId(id) for id, _ in access.scan(lake.world.kv, keys.former_heads(lake.record))}


def released(lake: Lake, kv: Store | None = None) -> tuple[CommitId, ...]:
    return release_half_written(lake.world.stores(kv), lake.record, lambda more: None)


def test_a_release_lets_collections_go_on_and_remove_the_commit(tmp_path: Path) -> None:
    """Its parents stay, because a branch may have reached them."""
    lake, other, made = stuck(tmp_path)
    (parent,) = lake.repo.commit(made).parents
    with pytest.raises(CorruptData, match=rf"repository 'repo': commit {made}: "):
        collect_other(lake, other)
    done = lake.repo.remove_damaged_layouts()
    assert (done.removed, done.named, done.released) == ((), (), (made,))
    assert former_heads(lake) == {parent}
    collect_other(lake, other)
    assert lake.collect().unreached == 1
    lake.sleep(GRACE)
    assert lake.collect().removed == 1
    assert made not in headers(lake) | layouts(lake)
    assert lake.repo.at(parent).read("x") == b"an unreached parent"
    assert released(lake) == ()


@pytest.mark.parametrize("how", ["branch", "tag", "child", "run of the parent", "layout of the parent", "whole"])
def test_a_commit_that_may_have_been_complete_is_not_released(tmp_path: Path, how: str) -> None:
    lake, _, made = stuck(tmp_path)
    stored = read_commit(lake.world.kv, CommitCache(), lake.record, made)
    parent = keys.commit_layout(lake.record, CommitId(stored.header.parents[0]))
    match how:
        case "branch":
            lake.repo.create_branch("new", source=made)
        case "tag":
            lake.repo.create_tag("v1", made)
        case "child":
            header = stored.header.model_copy(
                update={"parents": (made,), "generation": stored.header.generation + 1, "nonce": Nonce("child")}
            )
            bulk.set_many(lake.world.kv, prepare(lake.record, header, stored.layout)[1])
        case "run of the parent":
            access.write(lake.world.kv, parent, stored.layout)
        case "layout of the parent":
            lake.world.kv.set(parent.partition, parent.key, b"damaged")
        case "whole":
            run = stored.layout.index.runs[0]
            lake.world.kv.set(*keys.stored_object(lake.record, run.id), b"not missing")
    assert released(lake) == ()
    assert former_heads(lake) == {made}


def test_a_damaged_header_prevents_a_release(tmp_path: Path) -> None:
    """It may name the commit as a parent."""
    lake, _, made = stuck(tmp_path)
    where = keys.commits(lake.record).at("5" * 64)
    lake.world.kv.set(where.partition, where.key, b"damaged")
    with pytest.raises(CorruptData, match=f"commit {'5' * 64}"):
        lake.repo.remove_damaged_layouts()
    assert former_heads(lake) == {made}


def test_a_reference_may_come_to_lead_to_it_between_any_two_calls(tmp_path: Path) -> None:
    """A tag for a moment records the commit as a former head again."""
    lake, _, made = stuck(tmp_path)
    where = keys.former_heads(lake.record).at(made)
    counted = Interposed(lake.world.kv)
    assert released(lake, counted) == (made,)
    read = counted.verbs.index("scan")
    assert read < len(counted.verbs) - 1
    for call in range(len(counted.verbs)):
        access.write(lake.world.kv, where, FormerHead(since=lake.world.clock.now()))

        def tag() -> None:
            lake.repo.create_tag("v1", made)
            lake.repo.delete_tag("v1")

        kv = Interposed(lake.world.kv)
        kv.before[call] = tag
        assert released(lake, kv) == ((made,) if call <= read else ()), call
        assert (made in former_heads(lake)) == (call > read), call


def test_a_release_that_crashes_is_repeated(tmp_path: Path) -> None:
    lake, _, made = stuck(tmp_path)
    (parent,) = lake.repo.commit(made).parents
    where, above = (keys.former_heads(lake.record).at(CommitId(id)) for id in (made, parent))
    counted = Interposed(lake.world.kv)
    released(lake, counted)
    for call in range(len(counted.verbs)):
        access.write(lake.world.kv, where, FormerHead(since=lake.world.clock.now()))
        lake.world.kv.delete(above.partition, above.key)
        kv = Interposed(lake.world.kv)
        kv.fail[call] = Crash()
        with pytest.raises(Crash):
            released(lake, kv)
        assert former_heads(lake) & {made, parent}
        released(lake)
        assert former_heads(lake) == {parent}


class DyingBeforeRuns(PlainStore):
    """Dies when a batch with runs is to be written."""

    def set_many(self, items: Sequence[Item]) -> None:
        if any(key.startswith(OBJECTS) for _, key, _ in items):
            raise Crash
        bulk.set_many(self.inner, items)


def test_an_incomplete_restoration_stops_no_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes the layouts before the runs."""
    lake, other = adopted(tmp_path)
    lake.branch().stage_many(table(ROWS))
    lake.branch().commit("with a run")
    dump = (tmp_path / "dump").as_uri()
    lake.repo.dump_refs(dump)
    monkeypatch.setattr(restore, "BATCH_ROWS", 1)
    lake.world.graveler().create_bare_repository("copy", (tmp_path / "copy").as_uri())
    dying = DyingBeforeRuns(lake.world.kv)
    with suppress(Crash):
        lake.world.graveler(dying).repository("copy").restore_refs(dump)
    copied = lake.world.graveler().repository("copy")
    assert any(lake.world.kv.scan(keys.partition(copied._record), prefix=b"layouts/"))
    lake.sleep(GRACE + DAY)
    collect_other(lake, other)
    lake.collect()
    copied.restore_refs(dump)
    assert len(list(copied.at("main").list())) == len(ROWS) + 1
