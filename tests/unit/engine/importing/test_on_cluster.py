"""Imports that turn out to be large: listed and gathered on a cluster, to the tree that is gathered here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graveler_core.engine.importing import inventory as inventory_shares
from graveler_core.engine.importing import on_cluster as spreading
from graveler_core.engine.importing import partitions as shares
from graveler_core.engine.importing.inventory import Sample, sampled_split_points
from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import InvalidInput, Kind, NotFound, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.importing import Imported
from graveler_core.facade.repository import Repository
from tests.unit.engine.importing.sources import lake
from tests.unit.engine.in_parts import Scattered
from tests.unit.engine.races import WatchedBlobs
from tests.unit.engine.world import World

OBJECTS = {f"{n % 9}/{n % 4}/{n:03}": b"." * (n % 7 + 1) for n in range(200)} | {"7/0/x": b"", "z": b"z"}
_places = count()


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graveler_core.blobs.foreign.PAGE", 5)
    monkeypatch.setattr("graveler_core.engine.importing.concurrent_listing.PAGE", 5)
    monkeypatch.setattr("graveler_core.engine.importing.rows.PAGE_ROWS", 16)
    monkeypatch.setattr(spreading, "FIRST", 16)
    monkeypatch.setattr(shares, "SIDE", 3)


class Breaking(WatchedBlobs):
    """The store goes away once so many objects were created."""

    most: int | None = None

    def _note(self, verb: str, address: str) -> None:
        if verb == "create" and self.most is not None and len(set(self.created)) >= self.most:
            raise Unavailable("the store is away")
        super()._note(verb, address)


@dataclass
class Ground:
    """A repository, and what imports into it on a cluster."""

    world: World
    cluster: Scattered | None
    blobs: Breaking

    @property
    def repo(self) -> Repository:
        stores = replace(self.world.stores(), blobs=self.blobs, cluster=self.cluster)
        return Graveler(stores).repository("repo")

    def made(self) -> tuple[str, str]:
        """The tree and the operations of the head."""
        repo = self.repo
        header = commit_of(self.world.stores(), repo._active(), repo.commit("main").id).header
        return repo.at("main").tree_id(), header.operations


def ground(*, least: int | None = None, seed: int = 0) -> Ground:
    """Without `least`, without a cluster."""
    world = World()
    world.repository()
    blobs = Breaking(world.blobs)
    cluster = None
    if least is not None:
        cluster = Scattered(lambda: replace(world.stores(), blobs=blobs), least, seed=seed)
    return Ground(world, cluster, blobs)


def place(objects: dict[str, bytes] = OBJECTS) -> str:
    return lake(objects, f"memory://spread-{next(_places)}/raw")


def inventory(files: int = 5, also: tuple[str, ...] = ()) -> str:
    """One that lists the objects, and others, in no order."""
    keys = [f"raw/{key}" for key in (*OBJECTS, *also)]
    Random(1).shuffle(keys)
    written = {}
    for number in range(files):
        part = keys[number::files]
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"key": part, "size": [len(OBJECTS.get(key[4:], b"x")) for key in part]}), sink)
        written[f"{number}.parquet"] = sink.getvalue().to_pybytes()
    return lake(written)


Import = Callable[[Repository, str], Imported]


def listed(repo: Repository, uri: str, **options: Any) -> Imported:
    return repo.import_prefix(uri, "main", "d", exclude=["3/1/*"], **options)


def inventoried(repo: Repository, uri: str, **options: Any) -> Imported:
    return repo.import_inventory(inventory(), uri, "main", "d", exclude=["3/1/*"], **options)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.ci)])
@pytest.mark.parametrize("imported", [listed, inventoried])
def test_the_same_commit_as_here(imported: Import, seed: int) -> None:
    uri, here, there = place(), ground(), ground(least=100, seed=seed)
    done, also = imported(here.repo, uri), imported(there.repo, uri)
    assert there.made() == here.made()
    assert (also.objects, also.size, also.unmatched, also.markers) == (
        done.objects,
        done.size,
        done.unmatched,
        done.markers,
    )
    assert also.changes == done.changes
    assert there.cluster is not None
    assert len(there.cluster.done) >= 1 + (imported is inventoried)
    assert [finding for finding in there.repo.fsck(deep=True) if finding.damage] == []


def test_what_is_small_is_listed_here() -> None:
    there = ground(least=1_000)
    listed(there.repo, place())
    assert there.cluster is not None
    assert there.cluster.done == []


def test_what_cannot_be_cut_is_listed_here() -> None:
    objects = {f"{n:03}": b"x" for n in range(300)}
    here, there = ground(), ground(least=100)
    for each in (here, there):
        each.repo.import_prefix(lake(objects, f"memory://flat-{next(_places)}/raw"), "main")
    assert there.cluster is not None
    assert there.cluster.done == [], "the tree that is gathered is the branch's first"


def test_progress_is_told_once() -> None:
    told: list[int] = []
    done = listed(ground(least=100).repo, place(), progress=told.append)
    assert all(more > 0 for more in told)
    assert sum(told) == done.objects + done.unmatched + done.markers == len(OBJECTS)


def test_what_is_wrong_is_told_of_all_shares() -> None:
    odd = tuple(f"{n}/a\\b" for n in range(9))
    with pytest.raises(InvalidInput, match="9 keys are no valid paths, the first is '0/a") as e:
        ground(least=100).repo.import_inventory(inventory(also=odd), place(), "main")
    assert (e.value.kind, e.value.details["count"], len(e.value.details["invalid"])) == (Kind.InvalidPath, 9, 9)
    done = ground(least=100).repo.import_inventory(inventory(also=odd), place(), "main", skip_invalid=True)
    assert (done.invalid, tuple(example.key for example in done.examples)) == (9, odd)
    with pytest.raises(NotFound, match="none of 202 objects"):
        ground(least=100).repo.import_prefix(place(), "main", include=["nothing"])
    with pytest.raises(InvalidInput, match="holds files of a repository"):
        listed(ground(least=100).repo, place(OBJECTS | {f"8/_graveler/{'0' * 64}": b"x"}))


def test_a_key_that_an_inventory_lists_twice() -> None:
    with pytest.raises(InvalidInput, match="1 key is listed again"):
        ground(least=100).repo.import_inventory(inventory(also=("7/0/x",)), place(), "main")


@pytest.mark.parametrize("least", [None, 100])
def test_an_import_that_breaks_off_is_done_by_the_next(least: int | None) -> None:
    """At nine tenths nothing is visible; the next call lists again, and has to write the last tenth alone."""
    uri, whole = place(), ground()
    listed(whole.repo, uri)
    needed = set(whole.blobs.created)
    broken = ground(least=least)
    broken.blobs.most = len(needed) * 9 // 10
    with pytest.raises(Unavailable, match="the store is away"):
        listed(broken.repo, uri)
    assert len(list(broken.repo.log("main"))) == 1
    left, broken.blobs.most = set(broken.blobs.created), None
    broken.blobs.created.clear()
    listed(broken.repo, uri)
    assert broken.made() == whole.made()
    assert len(list(broken.repo.log("main"))) == 2
    assert len(set(broken.blobs.created) - left) < len(needed) // 5


def test_cuts_make_equal_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory_shares, "SAMPLE", 4)
    small = Sample((b"a", b"b", b"c", b"d"), 4)
    large = Sample((b"k", b"l", b"m", b"n"), 400)
    assert sampled_split_points([small, large], 4) == [b"k", b"l", b"m"]
    assert sampled_split_points([small, Sample((), 0)], 2) == [b"b"]
    assert sampled_split_points([small], 100) == [b"a", b"b", b"c", b"d"]
    assert sampled_split_points([Sample((), 0)], 3) == sampled_split_points([small], 1) == []
