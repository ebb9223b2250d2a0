"""The histories of the default run and of the long one. `docs/simulation.md` describes the judges and the runs."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.proofs.simulation import cleaning, collecting, references, sweeping, unreached, uploading
from tests.proofs.simulation.profiles import PROFILES
from tests.proofs.simulation.run import main, simulate

BATCH = 50
BATCHES = 12
EVERYDAY_BATCHES = 3
EVERYDAY_OF_A_THEME = range(10)
CI_OF_A_THEME = range(10, 20)
MANY = 5_000
MANY_OF_A_PROFILE = 1_000
FIRST_OF_A_PROFILE = 5_000
"""First seed of the histories on each kind of store, which are others than those of the default run."""
REGRESSIONS = {"a swap that was sent again and refused hid that its first sending was still on its way": 2_001_139}
"""Seeds that showed a bug of the engine when it had it."""
REGRESSIONS_OF_ERASURES = {
    "an erasure took a layer that a commit dropped for damage": 407_210,
    "an erasure took a layer that the deletion of a branch dropped for damage": 403_930,
}
"""The same for the theme of erasures."""


def verdicts(first: int, histories: int, theme: str = "", profile: str = "") -> list[str]:
    """What is wrong with some histories, and how to see each again."""
    found = []
    for seed in range(first, first + histories):
        if simulate(seed, theme, profile=profile).violations:
            chosen = (f" --theme '{theme}'" if theme else "") + (f" --profile '{profile}'" if profile else "")
            again = f"again: python -m tests.proofs.simulation.run {seed}{chosen} --trace"
            found.append(f"{simulate(seed, theme, trace=True, profile=profile)}\n\n{again}")
    return found


@pytest.mark.parametrize(
    "batch",
    [*range(EVERYDAY_BATCHES), *(pytest.param(n, marks=pytest.mark.ci) for n in range(EVERYDAY_BATCHES, BATCHES))],
)
def test_histories_keep_the_promises(batch: int) -> None:
    wrong = verdicts(batch * BATCH, BATCH)
    assert not wrong, "\n".join([*(verdict.partition("\n")[0] for verdict in wrong), wrong[0]])


@pytest.mark.parametrize(
    "seeds",
    [
        EVERYDAY_OF_A_THEME,
        pytest.param(CI_OF_A_THEME, marks=pytest.mark.ci),
        pytest.param(range(CI_OF_A_THEME.stop, 2 * BATCH), marks=pytest.mark.slow),
    ],
    ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}",
)
@pytest.mark.parametrize(
    "theme",
    [
        "indexes",
        "removals",
        "conditions",
        "path resets",
        "overwrites",
        "merges",
        *sweeping.THEMES,
        "compactions",
        "protection",
        uploading.THEME,
        references.THEME,
        *cleaning.THEMES,
        *collecting.THEMES,
        *unreached.THEMES,
    ],
)
def test_histories_of_a_theme_keep_the_promises(theme: str, seeds: range) -> None:
    wrong = verdicts(seeds.start, len(seeds), theme)
    assert not wrong, "\n".join([*(verdict.partition("\n")[0] for verdict in wrong), wrong[0]])


def test_histories_remove_commits_beside_others() -> None:
    """Without that, histories of the theme would show nothing."""
    assert sum(simulate(seed, unreached.THEME).removed for seed in EVERYDAY_OF_A_THEME) > len(EVERYDAY_OF_A_THEME)


@pytest.mark.ci
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("theme", ["", "removals", "cleaning of layers"])
def test_histories_on_each_kind_of_store_keep_the_promises(profile: str, theme: str) -> None:
    wrong = verdicts(FIRST_OF_A_PROFILE, BATCH // 2, theme, profile)
    assert not wrong, "\n".join([*(verdict.partition("\n")[0] for verdict in wrong), wrong[0]])


@pytest.mark.parametrize("profile", ["partly", "short pages"])
def test_a_profile_changes_the_calls(profile: str) -> None:
    traces = [simulate(seed, "removals", trace=True, profile=profile).trace for seed in range(3)]
    assert traces != [simulate(seed, "removals", trace=True, profile="plain").trace for seed in range(3)]
    assert traces != [simulate(seed, "removals", trace=True).trace for seed in range(3)]


@pytest.mark.parametrize("bug", REGRESSIONS)
def test_former_bugs_stay_away(bug: str) -> None:
    assert not verdicts(REGRESSIONS[bug], 1), bug


@pytest.mark.parametrize("bug", REGRESSIONS_OF_ERASURES)
def test_former_bugs_of_erasures_stay_away(bug: str) -> None:
    assert not verdicts(REGRESSIONS_OF_ERASURES[bug], 1, collecting.ERASURES), bug


def test_a_seed_replays_its_history() -> None:
    once, again = (simulate(7, trace=True) for _ in range(2))
    assert once.trace
    assert str(once) == str(again)


@pytest.mark.ci
def test_a_seed_replays_its_history_whatever_the_hashes_of_strings_are() -> None:
    command = [sys.executable, "-m", "tests.proofs.simulation.run", "700001", "--theme", "folds", "--trace"]
    once, again = (
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True).stdout
        for seed in ("0", "1")
    )
    assert len(once.splitlines()) > 100
    assert once.rpartition(b"histories")[0] == again.rpartition(b"histories")[0]


@pytest.mark.slow
def test_many_histories_keep_the_promises() -> None:
    firsts = range(0, MANY, 500)
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        wrong = [verdict for found in pool.map(verdicts, firsts, [500] * len(firsts)) for verdict in found]
    assert not wrong, "\n".join([*(verdict.partition("\n")[0] for verdict in wrong), wrong[0]])


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_many_histories_on_each_kind_of_store_keep_the_promises(profile: str) -> None:
    firsts = range(0, MANY_OF_A_PROFILE, 500)
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        found = pool.map(verdicts, firsts, [500] * len(firsts), [""] * len(firsts), [profile] * len(firsts))
        wrong = [verdict for verdicts_of_some in found for verdict in verdicts_of_some]
    assert not wrong, "\n".join([*(verdict.partition("\n")[0] for verdict in wrong), wrong[0]])


@pytest.mark.ci
def test_processes_report_how_far_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--histories", "3", "--processes", "2", "--smallest"]) == 0
    assert capsys.readouterr().out.startswith("3 histories, 0 with violations")
