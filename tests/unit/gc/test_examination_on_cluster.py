"""A collection whose objects and names are compared on a cluster: the same report as without one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from graveler_core.blobs.inventory import InventoryFile
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.errors import CorruptData
from graveler_core.gc import examination_on_cluster, name_references, object_listing
from graveler_core.gc.collected import Collected
from graveler_core.gc.collection import collect
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.object_listing import KeyRange, estimated_rows
from graveler_core.gc.sweep import GRACE
from graveler_core.model.address import namespace
from graveler_core.model.entry import AddressType
from graveler_core.model.retention import RetentionRules
from graveler_core.objects.uploads import Uploads
from tests.unit.engine.in_parts import Scattered
from tests.unit.engine.world import CountedIds, World
from tests.unit.gc.lake import Lake

DRY = CollectionPlan(dry_run=True)


class SpreadIds(CountedIds):
    """Ids that can be repeated, and that are spread as random ones are."""

    def fresh(self) -> str:
        return hashlib.md5(super().fresh().encode(), usedforsecurity=False).hexdigest()


def on_cluster(lake: Lake, plan: CollectionPlan | None = None, least: int = 1) -> tuple[Collected, Scattered]:
    """A collection with a cluster, which is used from a number of rows on."""
    cluster = Scattered(lake.world.stores, least, into=5)
    return collect(replace(lake.world.stores(), cluster=cluster), lake.record, plan), cluster


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Content that heads, tags, old commits, layers, trees, uploads and another repository name, or nothing."""
    world = World(blobs=OpenedBlobs(durable=False), ids=SpreadIds())
    world.graveler().create_repository("repo", (tmp_path / "lake").as_uri())
    lake = Lake(tmp_path / "lake", world)
    main = lake.branch()
    lost = [main.put(f"{n % 7}/{n:03}", b"." * (n + 1)) for n in range(40)]
    main.commit("forty")
    for n in range(20):
        main.put(f"{n % 7}/{n:03}", b"!" * (n + 1))
    main.commit("twenty are replaced")
    lake.repo.create_tag("first", "main~1")
    for text in (b"once more", b"and again"):
        main.put("0/007", text)
        main.commit(text.decode())
    dev = lake.repo.create_branch("dev", source="main")
    dev.put_many({f"staged/{n}": b"staged" for n in range(9)})
    dev.compact()
    dev.put("staged/more", b"more")
    dev.stage_many(pa.table({"key": ["again"], "address": [lost[3].address], "size": [4]}))
    for n in range(11):
        main.put("lost", b"%d" % n)
    main.reset()
    found = main.upload("x", b"named by another repository only")
    other = lake.world.graveler().create_repository("other", (tmp_path / "other").as_uri())
    address = f"{lake.root.as_uri()}/{found.address}"
    other.branch("main").stage("theirs", replace(found, address=address, address_type=AddressType.FULL))
    other.branch("main").commit("theirs")
    blobs = lake.world.blobs.at(lake.root.as_uri())
    upload = Uploads(lake.world.kv, blobs, lake.record, lake.world.clock, lake.world.ids).begin()
    for n in range(3):
        blobs.create(f"data/{upload}/{n}", b"uploading")
    blobs.create("raw/foreign", b"foreign")
    lake.sleep(GRACE)
    return lake


def test_both_report_the_same(lake: Lake) -> None:
    young = lake.branch().put("young", b"young")
    os.utime(lake.root / str(young.address), (moment := lake.world.clock.time.timestamp(), moment))
    expires = CollectionPlan(dry_run=True, rules=RetentionRules(days=0))
    for plan in (DRY, expires, replace(DRY, foreign=True)):
        here = lake.collect(plan)
        there, cluster = on_cluster(lake, plan)
        assert there == here
        assert cluster.done == [5]
        assert here.condemned > 5
        assert (here.uploading, here.young, here.named > 50) == (3, 1, True)
    assert lake.collect(DRY).history > 0
    assert lake.collect(expires).condemned_expired > 0
    assert lake.collect(replace(DRY, foreign=True)).condemned == lake.collect(DRY).condemned + 1


def test_both_delete_the_same(lake: Lake) -> None:
    lake.repo.set_retention(days=0)
    for _ in range(4):
        would = lake.collect(DRY)
        before = lake.objects
        done, cluster = on_cluster(lake)
        assert replace(done, dry_run=True, files=(), waiting_files=(), due=None, waiting=0, waiting_size=0) == replace(
            would, waiting_files=(), due=None, waiting=0, waiting_size=0
        )
        assert cluster.done
        assert len(lake.objects) == len(before) - done.deleted
        assert lake.missing() == []
        lake.sleep(GRACE)
    assert lake.collect(DRY).condemned == 0


def test_a_condemned_object_that_is_named_is_spared(lake: Lake) -> None:
    """A process that read the record before the set was listed stages an object of it."""
    lost = lake.branch().put("lost", b"lost")
    lake.branch().reset()
    lake.sleep(GRACE)
    stage = partial(lake.branch().stage, "again", lost)
    cluster = Scattered(lake.world.stores, into=5, before=stage)
    condemned = collect(replace(lake.world.stores(), cluster=cluster), lake.record).condemned
    assert condemned > 5
    lake.sleep(GRACE)
    would = lake.collect(DRY)
    done, _ = on_cluster(lake)
    assert (done.spared, done.deleted) == (would.spared, would.deleted) == (1, condemned - 1)
    assert lake.missing() == []


def test_what_is_small_is_compared_here(lake: Lake) -> None:
    here = lake.collect(DRY)
    there, cluster = on_cluster(lake, DRY, least=10_000)
    assert there == here
    assert cluster.done == []


@pytest.mark.parametrize("least", [70, 100])
def test_it_becomes_large_while_it_is_listed_or_when_names_are_known(lake: Lake, least: int) -> None:
    there, cluster = on_cluster(lake, DRY, least=least)
    assert there == lake.collect(DRY)
    assert cluster.done == [5]


def test_batches_of_any_size(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    here = lake.collect(DRY)
    for size in (1, 2, 7):
        monkeypatch.setattr(examination_on_cluster, "_ROWS", size)
        monkeypatch.setattr(examination_on_cluster, "_KNOWN", size)
        monkeypatch.setattr(name_references, "_BATCH", size)
        monkeypatch.setattr(object_listing, "_PAGE", size)
        assert on_cluster(lake, DRY)[0] == here


def test_a_damaged_file_ends_it(lake: Lake) -> None:
    for file in (lake.root / "_graveler").iterdir():
        if file.is_file() and file.read_bytes()[:4] == b"PAR1":
            file.unlink()
    before = lake.objects
    with pytest.raises(CorruptData):
        on_cluster(lake)
    assert lake.objects == before


def moves(lake: Lake) -> dict[str, Callable[[], object]]:
    """Flows that move names before the tasks begin."""
    return {
        "commit": lambda: lake.branch("dev").commit("staged"),
        "compact": lambda: lake.branch("dev").compact(),
        "deletion": lambda: lake.repo.delete_branch("dev"),
    }


@pytest.mark.parametrize("what", ["commit", "compact", "deletion"])
def test_names_that_move_before_the_tasks_begin_are_found(lake: Lake, what: str) -> None:
    here = lake.collect(DRY)
    cluster = Scattered(lake.world.stores, into=5, before=moves(lake)[what])
    there = collect(replace(lake.world.stores(), cluster=cluster), lake.record, DRY)
    assert (there.named, there.condemned) == (here.named, here.condemned)


def test_the_number_of_objects_is_estimated_from_the_position_of_the_last() -> None:
    ids = sorted(hashlib.md5(b"%d" % n, usedforsecurity=False).hexdigest() for n in range(100_000))
    page = pa.table({"key": [f"data/{id}".encode() for id in ids[:5_000]]})
    assert 90_000 < estimated_rows([page], [KeyRange()], 1) < 110_000
    assert estimated_rows([page.slice(0, 50)], [KeyRange()], 1) == 50
    upload = pa.table({"key": [f"data/{ids[0]}/{n:06}".encode() for n in range(5_000)]})
    assert estimated_rows([upload], [KeyRange()], 1) == 5_000
    assert estimated_rows([pa.table({"key": [b"raw/x"]})], [KeyRange()], 1) == 1
    files = [InventoryFile(namespace("s3://bucket"), f"{n}.parquet") for n in range(8)]
    assert estimated_rows([page], files, 2) == 20_000
