"""Every planted bug is found: by its recorded seed, or, where the engine has moved on since, by one soon after."""

from __future__ import annotations

import pytest

from tests.proofs.simulation.mutants.every import MUTANTS
from tests.proofs.simulation.mutants.find import found_at
from tests.proofs.simulation.run import simulate

PATIENCE = 300
"""Histories from a recorded seed on."""
FROM_NOTHING = 4_000
"""Histories from 0 on, within which each bug must show."""


@pytest.mark.ci
@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_mutant_is_found(name: str) -> None:
    mutant = MUTANTS[name]
    verdict = found_at(mutant, mutant.seed, PATIENCE)
    again = f"find it anew: python -m tests.proofs.simulation.mutants.find {name} --record"
    assert verdict is not None, f"{name} survives {PATIENCE} histories from seed {mutant.seed} on; {again}"
    assert not simulate(verdict.seed, mutant.theme).violations, f"seed {verdict.seed} is wrong without {name}"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_mutant_is_found_from_the_first_seed_on(name: str) -> None:
    assert found_at(MUTANTS[name], 0, FROM_NOTHING) is not None, f"{name} survives {FROM_NOTHING:,} histories"


def test_there_are_mutants_enough() -> None:
    assert len(MUTANTS) >= 20
