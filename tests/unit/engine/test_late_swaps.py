"""A swap that arrives a second time, when the branch is back to what it was when the swap was sent."""

from __future__ import annotations

from contextlib import suppress

import pytest

from graveler_core.errors import NoChanges, OutcomeUnknown, PredicateFailed
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.kv.store import Predicate
from tests.unit.engine.flows import MANY, table
from tests.unit.engine.interposed import Interposed
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


@pytest.mark.parametrize(
    "layer", ["files", *(pytest.param(layer, marks=pytest.mark.ci) for layer in ("rows", "removal"))]
)
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


def test_a_branch_that_was_deleted_does_not_come_back(world: World) -> None:
    """Its creation was sent once: no answer is an unknown outcome, not a second sending."""
    kv = Interposed(world.kv)
    repo = world.graveler(kv).repository("repo")
    for create in (lambda: repo.create_branch("new", "main"), lambda: repo.create_tag("new", "main")):
        kv.reset()
        kv.lose = dict.fromkeys(range(100), False)
        with pytest.raises(OutcomeUnknown):
            create()
        assert kv.verbs.count("set_if") == 1
