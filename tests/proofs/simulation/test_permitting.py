"""Access control while rules change: histories keep the promises, and each planted bug is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pytest

from graveler_core.iam import effective, last_administrator
from graveler_core.iam.principal import Principal
from graveler_core.kv.store import Predicate
from graveler_core.model.permission import Action, Request
from graveler_core.records.access import Held
from graveler_core.records.timed_register import Hold, TimedRegister
from tests.proofs.simulation.permitting import THEME
from tests.proofs.simulation.run import main, simulate

DAILY, MANY = 30, 2_000
PATIENCE = 100
"""Histories from a recorded seed on, within which a planted bug must show."""


def take_nothing(self: Any, holder: Any) -> Hold[Any]:
    return Hold(Held(holder, Predicate(None)), 0)


def read_once(kv: Any, user: Any, credential: Any = None) -> Any:
    now = effective._reading(kv, user, credential)
    return None if now.user is None else now.policies


def but_commits(self: Principal, request: Request) -> None:
    if request.action is not Action.CREATE_COMMIT:
        REQUIRE(self, request)


def never_again(self: Principal) -> Any:
    with patch.object(self, "_staleness", 1e9):
        return RULES(self)


REQUIRE, RULES = Principal.require, Principal._rules
PLANTED: dict[str, tuple[int, Callable[[], AbstractContextManager[Any]]]] = {
    "changes do not wait for each other": (39, lambda: patch.object(TimedRegister, "take", take_nothing)),
    "a register is taken over without more": (
        2472,
        lambda: patch.object(last_administrator, "_disable", lambda *_: None),
    ),
    "policies are read once": (972, lambda: patch("graveler_core.iam.principal.effective_policies", read_once)),
    "commits are not checked": (0, lambda: patch.object(Principal, "require", but_commits)),
    "policies are never read again": (0, lambda: patch.object(Principal, "_rules", never_again)),
    "the last administrator may go": (0, lambda: patch.object(last_administrator, "_require", lambda *_: None)),
}
"""Planted bugs, with the first of the seeds that are tried."""


def violations(first: int, count: int) -> Iterator[tuple[int, str]]:
    for seed in range(first, first + count):
        for violation in simulate(seed, THEME).violations:
            yield seed, violation


def test_histories_keep_the_promises() -> None:
    assert not list(violations(0, DAILY))


def test_it_is_a_theme_of_the_simulator(capsys: pytest.CaptureFixture[str]) -> None:
    begun = ["--theme", THEME, "--histories", "2", "--from", "7"]
    assert main([*begun, "--trace", "--profile", "plain"]) == 0
    assert "-worker" in capsys.readouterr().out


@pytest.mark.ci
@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str) -> None:
    first, planted = PLANTED[bug]
    with planted():
        found = next(violations(first, PATIENCE), None)
    assert found is not None
    assert not simulate(found[0], THEME).violations


@pytest.mark.slow
def test_many_histories_keep_the_promises() -> None:
    assert not list(violations(DAILY, MANY))
