"""Histories of the real engine under seeded schedules and faults keep every promise.

A failing seed is replayed, with each call it made, by `python -m tests.simulation.run SEED --trace`.
"""

from __future__ import annotations

import pytest

from tests.simulation.run import simulate

BLOCK = 40
"""Seeds a test."""


def _judge(first: int) -> None:
    for seed in range(first, first + BLOCK):
        verdict = simulate(seed)
        if verdict.violations:
            pytest.fail(str(simulate(seed, trace=True)), pytrace=False)


@pytest.mark.parametrize("first", range(0, 320, BLOCK))
def test_histories_keep_the_promises(first: int) -> None:
    _judge(first)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(320, 100_000, BLOCK))
def test_many_histories_keep_the_promises(first: int) -> None:
    _judge(first)
