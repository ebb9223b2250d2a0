"""Trees are read node by node, and must be cut by the seed that they will be changed by."""

from __future__ import annotations

import pytest

from graveler_core.codec.entry import normalise
from graveler_core.committed.apply import apply
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.trees import Trees, address, read_node
from graveler_core.model.ids import MetarangeId
from graveler_core.testing.counting_blobs import CountingBlobs
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.migration.metaranges import EMPTY_ID, Metaranges, Readable, metarange_of
from graveler_core.transfer.named_files import first_missing
from tests.unit.engine.flows import table
from tests.unit.engine.world import TINY, World


def trees(world: World, seed: int = 5) -> Trees:
    blobs = Readable(CountingBlobs(world.blobs.at(world.namespace())))
    return Trees(blobs, seed, TINY, TreeCache())


def tree(world: World, entries: int) -> MetarangeId:
    rows = normalise(table({f"{number:05}": number for number in range(entries)}))
    return apply(trees(world), None, rows).metarange_id


def refused(found: Trees, metarange: MetarangeId) -> str:
    with pytest.raises(BrokenValueError) as caught:
        Metaranges(found).check(metarange)
    return str(caught.value)


def test_ids() -> None:
    assert metarange_of("") == EMPTY_ID
    assert metarange_of("ab" * 32) == "ab" * 32
    for bad in ("AB" * 32, "ab", "g" * 64):
        with pytest.raises(BrokenValueError, match="64 hexadecimal digits"):
            metarange_of(bad)


def test_a_tree_of_several_levels() -> None:
    world = World()
    metarange = tree(world, 200)
    assert read_node(trees(world), metarange).level > 1
    checked = Metaranges(trees(world))
    checked.check(metarange)
    files = {blob.address for blob in world.blobs.at(world.namespace()).list(address(""))}
    assert {address(id.tobytes().hex()) for id in checked.files.sorted().astype("V32")} == files
    assert first_missing(world.blobs.at(world.namespace()), checked.files) is None


def test_each_node_is_read_once() -> None:
    world = World()
    first = tree(world, 200)
    second = apply(trees(world), first, normalise(table({"00000": 7}))).metarange_id
    found = trees(world)
    checked = Metaranges(found)
    checked.check(first)
    blobs = found.blobs
    assert isinstance(blobs, Readable)
    beneath = blobs.beneath
    assert isinstance(beneath, CountingBlobs)
    beneath.reset()
    checked.check(first)
    assert beneath.calls["read"] == 0
    checked.check(second)
    assert 0 < beneath.calls["read"] < 12


def test_another_seed() -> None:
    """A tree of one node has no edge that could be wrong; one of several levels is refused."""
    world = World()
    large, small = tree(world, 200), tree(world, 3)
    assert read_node(trees(world), small).level == 0
    Metaranges(trees(world, 6)).check(small)
    assert "was not split with boundary seed 6" in refused(trees(world, 6), large)


def test_the_empty_tree_is_there() -> None:
    world = World()
    checked = Metaranges(trees(world))
    checked.check(metarange_of(""))
    assert not len(checked.files.sorted())


def test_what_is_missing_or_damaged() -> None:
    world = World()
    blobs = world.blobs.at(world.namespace())
    assert "is missing" in refused(trees(world), MetarangeId("ab" * 32))
    blobs.create(f"_lakefs/{'ab' * 32}", b"x")
    assert "of another format in _lakefs/" in refused(trees(world), MetarangeId("ab" * 32))
    metarange = tree(world, 200)
    node = read_node(trees(world), metarange).rows[1].id
    blobs.delete(address(node))
    assert f"{address(node)}: is missing" in refused(trees(world), metarange)
    blobs.create(address(node), b"damaged")
    assert f"metarange node {node}" in refused(trees(world), metarange)
