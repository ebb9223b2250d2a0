"""A swap that arrives a second time, when the branch is back to what it was when the swap was sent."""

from __future__ import annotations

from contextlib import suppress

import pytest

from graveler_core.errors import NoChanges, PredicateFailed
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.kv.store import Predicate
from tests.unit.engine.flows import MANY, table
from tests.unit.engine.world import World

Swap = tuple[bytes, bytes, bytes, Predicate | None]


class Recording(MemoryStore):
    """Remembers the swaps of branch records."""

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner._memory)
        self.swaps: list[Swap] = []

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        if key.startswith(b"branches/"):
            self.swaps.append((partition, key, value, predicate))
        return super().set_if(partition, key, value, predicate)


@pytest.mark.parametrize("layer", ["files", "rows", "removal"])
def test_it_never_lists_a_layer_that_is_gone(world: World, layer: str) -> None:
    """The layer changed nothing, and left; the head, the staging token and all else are as before."""
    world.branch().stage_many(table(MANY))
    world.branch().commit("all")
    sent = Recording(world.kv)
    mine = world.branch(sent)
    if layer == "removal":
        mine.remove_prefix("nothing/")
    else:
        mine.stage_many(table(MANY if layer == "files" else dict(list(MANY.items())[:5])))
    with suppress(NoChanges):
        world.branch().commit("without effect")
    before = world.branch().record()
    assert before.sealed_tokens == ()
    assert sent.swaps
    for swap in sent.swaps:
        with pytest.raises(PredicateFailed):
            world.kv.set_if(*swap)
    assert world.branch().record() == before
    assert len(list(world.branch().list())) == len(MANY)
