"""Each former rule breaks a promise in the history that is recorded for it, and the rule that holds does not."""

from __future__ import annotations

import pytest

from tests.proofs.model.mutants import CAUGHT, RULES, first, former
from tests.proofs.model.schedule import violation

BOUND = 50_000


def test_every_former_rule_has_a_history() -> None:
    assert sorted(CAUGHT) == sorted(RULES)


@pytest.mark.parametrize("rule", CAUGHT)
def test_a_former_rule_is_caught(rule: str) -> None:
    seed, theme = CAUGHT[rule]
    assert violation(seed, theme=theme) is None
    if violation(seed, former(rule), theme) is None:
        pytest.fail(f"{rule}: seed {seed} shows nothing any more; now it is {first(rule, BOUND, theme)}")


@pytest.mark.slow
@pytest.mark.parametrize("rule", CAUGHT)
def test_a_former_rule_is_found_from_nothing(rule: str) -> None:
    assert first(rule, BOUND, CAUGHT[rule].theme) == CAUGHT[rule]
