"""The state machine with the thresholds of the library at their smallest values. `docs/thresholds.md` lists them."""

from __future__ import annotations

import random
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests import smallest
from tests.proofs.stateful.test_machine import Machine, run
from tests.unit.engine import world
from tests.unit.engine.world import TINY_SIZES


def machine(seed: int) -> type[Machine]:
    """Return the state machine with the thresholds that a seed draws."""
    values = smallest.drawn(random.Random(seed))

    class SmallestMachine(Machine):
        def __init__(self) -> None:
            self.thresholds = ExitStack()
            self.thresholds.enter_context(smallest.patched(values))
            super().__init__()
            self.patches.setattr(world, "TINY_SIZES", replace(TINY_SIZES, **smallest.fields(values)))
            self.stores = self.world.stores()
            self.repo = self.world.graveler().repository("repo")

        def teardown(self) -> None:
            super().teardown()
            self.thresholds.close()

    return SmallestMachine


@pytest.mark.parametrize("seed", range(2))
def test_the_engine_is_what_the_model_says(seed: int) -> None:
    run(machine(seed), 4, 25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_engine_is_what_the_model_says_for_long(seed: int) -> None:
    run(machine(seed), 10, 40)
