"""The histories of the default run and of the long one. `docs/guarantees.md` says what is judged, and what was run."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.proofs.simulation import cleaning, collecting, references, uploading
from tests.proofs.simulation.run import main, simulate

BATCH = 50
BATCHES = 20
EVERYDAY_BATCHES = 3
EVERYDAY_OF_A_THEME = range(10)
MANY = 100_000
REGRESSIONS = {"a swap that was sent again and refused hid that its first sending was still on its way": 2_001_139}
"""Seeds that showed a bug of the engine when it had it."""


def verdicts(first: int, histories: int, theme: str = "") -> list[str]:
    """What is wrong with some histories, and how to see each again."""
    found = []
    for seed in range(first, first + histories):
        if simulate(seed, theme).violations:
            chosen = f" --theme {theme}" if theme else ""
            again = f"again: python -m tests.proofs.simulation.run {seed}{chosen} --trace"
            found.append(f"{simulate(seed, theme, trace=True)}\n\n{again}")
    return found


@pytest.mark.parametrize(
    "batch",
    [*range(EVERYDAY_BATCHES), *(pytest.param(n, marks=pytest.mark.ci) for n in range(EVERYDAY_BATCHES, BATCHES))],
)
def test_histories_keep_the_promises(batch: int) -> None:
    wrong = verdicts(batch * BATCH, BATCH)
    assert not wrong, "\n".join([*(verdict.partition("\n")[0] for verdict in wrong), wrong[0]])


@pytest.mark.parametrize(
    "seeds", [EVERYDAY_OF_A_THEME, pytest.param(range(EVERYDAY_OF_A_THEME.stop, BATCH), marks=pytest.mark.ci)], ids=len
)
@pytest.mark.parametrize(
    "theme",
    [
        "indexes",
        "removals",
        "overwrites",
        "merges",
        "sweeps",
        "folds",
        "compactions",
        "protection",
        uploading.THEME,
        references.THEME,
        *cleaning.THEMES,
        *collecting.THEMES,
    ],
)
def test_histories_of_a_theme_keep_the_promises(theme: str, seeds: range) -> None:
    wrong = verdicts(seeds.start, len(seeds), theme)
    assert not wrong, "\n".join([*(verdict.partition("\n")[0] for verdict in wrong), wrong[0]])


@pytest.mark.parametrize("bug", REGRESSIONS)
def test_former_bugs_stay_away(bug: str) -> None:
    assert not verdicts(REGRESSIONS[bug], 1), bug


def test_a_seed_replays_its_history() -> None:
    once, again = (simulate(7, trace=True) for _ in range(2))
    assert once.trace
    assert str(once) == str(again)


@pytest.mark.slow
def test_many_histories_keep_the_promises() -> None:
    firsts = range(0, MANY, 500)
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        wrong = [verdict for found in pool.map(verdicts, firsts, [500] * len(firsts)) for verdict in found]
    assert not wrong, "\n".join([*(verdict.partition("\n")[0] for verdict in wrong), wrong[0]])


@pytest.mark.ci
def test_processes_report_how_far_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--histories", "3", "--processes", "2", "--smallest"]) == 0
    assert capsys.readouterr().out.startswith("3 histories, 0 with violations")
