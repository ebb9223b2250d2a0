"""A bulk write's layer is named before it holds anything, so that nothing is left behind; and a cleaner may take it."""

from __future__ import annotations

import pytest

from graveler_core.codec.records import encode
from graveler_core.engine.staging import bulk
from graveler_core.facade.branch import Branch
from graveler_core.model.entities import Cleanup
from graveler_core.model.layers import SegmentLayer
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder
from graveler_core.staging.stack import Stack, drop, layers_of
from tests.unit.engine.flows import table
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World, entry

ROWS = {f"k/{number}": number for number in range(5)}


@pytest.fixture(params=[1, 1_000], ids=["files", "rows"], autouse=True)
def segment_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As files and as key-value rows."""
    monkeypatch.setattr(bulk, "SEGMENT_ROWS", request.param)


def recorded(world: World) -> list[access.Held[Cleanup]]:
    repo = world.graveler().repository("repo")._record
    return [held for _, held in access.scan(world.kv, Folder(keys.partition(repo), b"cleanup/", Cleanup))]


def listed(branch: Branch) -> set[str]:
    return {layer.id for layer in layers_of(branch.record())}


def left(world: World) -> set[str]:
    """The layers that hold something, apart from those of `main` that were there from the beginning."""
    tokens = {partition.decode() for partition in world.kv._memory.partitions if partition.startswith(b"repo/main:")}
    namespace = world.stores(world.kv).blobs.at(world.graveler().repository("repo").storage_namespace)
    return tokens | {info.address.split("/")[2] for info in namespace.list("_graveler/staging/")}


class Cleaner:
    """As `Cleanup` says: claims what no branch lists, moves the branch on, and only then drops it."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __call__(self) -> None:
        main = self.world.branch()
        for held in recorded(self.world):
            layer = held.value.layer
            if layer.id not in listed(main):
                self._claim(held)
                main.remove_prefix("nothing/")
                assert layer.id not in listed(main)
                repo = self.world.graveler().repository("repo")._record
                blobs = self.world.stores(self.world.kv).blobs.at(repo.storage_namespace)
                drop(Stack(self.world.kv, blobs, (layer,)))

    def _claim(self, held: access.Held[Cleanup]) -> None:
        repo = self.world.graveler().repository("repo")._record
        where = keys.cleanup(repo, held.value.layer.id)
        self.world.kv.set(where.partition, where.key, encode(held.value.model_copy(update={"purging": True})))


def test_a_crash_leaves_nothing_without_a_name() -> None:
    for number in range(40):
        world = World()
        world.repository()
        kv = Interposed(world.kv)
        mine = world.branch(kv)
        kv.reset()
        kv.fail[number] = Crash()
        try:
            mine.stage_many(table(ROWS))
        except Crash:
            named = {held.value.layer.id for held in recorded(world)} | listed(world.branch())
            assert left(world) <= named
        else:
            break
    assert number > 3


def test_what_a_cleaner_took_is_written_again() -> None:
    """Between any two calls of a bulk write: all of it is there in the end."""
    for number in range(40):
        world = World()
        world.repository()
        kv = Interposed(world.kv)
        mine = world.branch(kv)
        mine.stage("a", entry(1))
        kv.reset()
        kv.before[number] = Cleaner(world)
        mine.stage_many(table(ROWS))
        assert {item.path: item.size for item in world.branch().list()} == {"a": 1} | ROWS
        if kv.before:
            break
    assert number > 3


def test_a_cleaner_that_is_stuck_is_not_waited_for(world: World, kv: Interposed) -> None:
    """It has claimed the layer and goes no further, and the branch has moved on: the write goes into another layer."""
    mine = world.branch(kv)
    mine.stage_many(table({"first": 1}))
    kv.reset()
    mine.stage_many(table({"second": 2}))
    swap = max(number for number, verb in enumerate(kv.verbs) if verb == "set_if")
    kv.reset()
    taken: list[str] = []

    def others() -> None:
        cleaner = Cleaner(world)
        for held in recorded(world):
            if held.value.layer.id not in listed(world.branch()):
                cleaner._claim(held)
                taken.append(held.value.layer.id)
        world.branch().remove_prefix("nothing/")

    kv.before[swap] = others
    mine.stage_many(table(ROWS))
    assert len(taken) == 1
    assert not set(taken) & listed(world.branch())
    assert {item.path for item in world.branch().list()} == {"first", "second"} | ROWS.keys()
    layers = [held.value.layer for held in recorded(world) if held.value.purging]
    assert [layer.id for layer in layers] == taken
    assert all(not isinstance(layer, SegmentLayer) or layer.count == len(ROWS) for layer in layers)
