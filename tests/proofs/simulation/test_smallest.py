"""Histories with the thresholds of the library at their smallest values. `docs/thresholds.md` lists them."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.proofs.simulation.run import simulate

BATCH = 50
MANY = 1_500


def violations(first: int, histories: int) -> list[str]:
    """Return what is wrong with some histories, with the command that shows each again."""
    found = ((seed, simulate(seed, smallest=True)) for seed in range(first, first + histories))
    command = "python -m tests.proofs.simulation.run {} --smallest --trace"
    return [f"{verdict}\n\nagain: {command.format(seed)}" for seed, verdict in found if verdict.violations]


@pytest.mark.parametrize("batch", [0, pytest.param(1, marks=pytest.mark.ci)])
def test_histories_keep_the_promises(batch: int) -> None:
    assert not violations(batch * BATCH, BATCH)


def test_a_seed_replays_its_history() -> None:
    once, again = (simulate(7, trace=True, smallest=True) for _ in range(2))
    assert once.trace != simulate(7, trace=True).trace
    assert str(once) == str(again)


@pytest.mark.slow
def test_many_histories_keep_the_promises() -> None:
    firsts = range(0, MANY, 500)
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        assert not [wrong for found in pool.map(violations, firsts, [500] * len(firsts)) for wrong in found]
