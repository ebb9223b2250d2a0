"""Every planted bug is found: by its recorded seed, or, where the engine has moved on since, by one soon after."""

from __future__ import annotations

import pytest

from tests.simulation.mutants.every import MUTANTS
from tests.simulation.mutants.find import hunted
from tests.simulation.mutants.plant import Mutant
from tests.simulation.run import simulate

pytestmark = pytest.mark.slow

PATIENCE = 1_000
"""Histories from a recorded seed on."""
DEFAULT_RUN = 4_000
"""Histories from 0 on, within which each bug must show."""


def found_at(mutant: Mutant, first: int, histories: int) -> int | None:
    """The first seed that shows a mutant."""
    return next((seed for seed in range(first, first + histories) if hunted(mutant, seed).violations), None)


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_mutant_is_found(name: str) -> None:
    mutant = MUTANTS[name]
    seed = found_at(mutant, mutant.seed, PATIENCE)
    assert seed is not None, f"{name} survives {PATIENCE} histories from seed {mutant.seed} on"
    assert not simulate(seed).violations, f"seed {seed} is wrong without {name}"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_mutant_is_found_from_the_first_seed_on(name: str) -> None:
    assert found_at(MUTANTS[name], 0, DEFAULT_RUN) is not None, f"{name} survives {DEFAULT_RUN:,} histories"


def test_there_are_mutants_enough() -> None:
    assert len(MUTANTS) >= 20
