"""Random histories of the branch register: the rules that hold break no promise.

`python -m pytest tests/proofs/model -m slow` runs a million. A failing seed replays exactly: `run(seed)`
gives its calls.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.proofs.model.operation import Outcome
from tests.proofs.model.schedule import run, violation
from tests.proofs.model.workload import KINDS

DEFAULT = 150_000
SLOW = 1_000_000


def _broken(seeds: range) -> dict[int, str]:
    return {seed: found for seed in seeds if (found := violation(seed)) is not None}


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in (1, 2))])
def test_no_history_breaks_a_promise(part: int) -> None:
    share = DEFAULT // 3
    assert _broken(range(part * share, (part + 1) * share)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_no_history_of_a_million_breaks_a_promise(part: int) -> None:
    share = SLOW // 10
    assert _broken(range(DEFAULT + part * share, DEFAULT + (part + 1) * share)) == {}


def test_a_history_is_a_function_of_its_seed() -> None:
    for seed in range(200):
        first, second = run(seed), run(seed)
        assert [repr(op) for op in first[1]] == [repr(op) for op in second[1]]
        assert first[2].now == second[2].now


def test_histories_exercise_every_flow_in_every_way() -> None:
    """Every kind of call succeeds, is refused, crashes and loses replies often: else a clean run would say little."""
    done: Counter[str] = Counter()
    ended: Counter[Outcome] = Counter()
    for seed in range(5_000):
        for op in run(seed)[1]:
            ended[op.outcome] += 1
            done[op.kind] += op.outcome is Outcome.DONE
    assert min(done[kind] for kind in KINDS if kind != "keyed commit") > 50
    assert min(ended[outcome] for outcome in Outcome) > 50
