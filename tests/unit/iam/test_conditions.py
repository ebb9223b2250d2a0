"""Conditions: each operator, on what is said and on what is not."""

from __future__ import annotations

import pytest

from graveler_core.errors import InvalidInput
from graveler_core.iam.conditions import conditions
from graveler_core.model.iam import Operator
from graveler_core.model.permission import ContextKey

BRANCH, TIME = ContextKey.BRANCH, ContextKey.TIME
NOON, LATER = "2026-01-31T12:00:00Z", "2026-02-01T00:00:00+02:00"


def holds(operator: str, key: ContextKey, values: list[str], context: dict[str, str]) -> bool:
    return all(condition(context) for condition in conditions({Operator(operator): {key: tuple(values)}}))


@pytest.mark.parametrize(
    ("operator", "values", "said", "expected"),
    [
        ("StringEquals", ["main"], "main", True),
        ("StringEquals", ["a", "main"], "main", True),
        ("StringEquals", ["ma*"], "main", False),
        ("StringEquals", ["main"], None, False),
        ("StringNotEquals", ["main"], "main", False),
        ("StringNotEquals", ["a", "main"], "main", False),
        ("StringNotEquals", ["a", "b"], "main", True),
        ("StringNotEquals", ["main"], None, True),
        ("StringLike", ["release-*", "m?in"], "main", True),
        ("StringLike", ["release-*"], "main", False),
        ("StringLike", ["*"], None, False),
        ("StringNotLike", ["release-*", "m*"], "main", False),
        ("StringNotLike", ["release-*"], "main", True),
        ("StringNotLike", ["*"], None, True),
    ],
)
def test_strings(operator: str, values: list[str], said: str | None, expected: bool) -> None:
    assert holds(operator, BRANCH, values, {} if said is None else {BRANCH: said}) == expected


@pytest.mark.parametrize(
    ("operator", "values", "said", "expected"),
    [
        ("DateLessThan", [NOON], "2026-01-31T11:59:59+00:00", True),
        ("DateLessThan", [NOON], "2026-01-31T12:00:00+00:00", False),
        ("DateLessThan", [NOON], "2026-01-31T13:30:00+02:00", True),
        ("DateLessThan", [NOON, LATER], "2026-01-31T21:59:00Z", True),
        ("DateGreaterThan", [NOON], "2026-01-31T12:00:00.000001Z", True),
        ("DateGreaterThan", [NOON], "2026-01-31T12:00:00Z", False),
        ("DateGreaterThan", [LATER, NOON], "2026-01-31T13:00:00Z", True),
        ("DateLessThan", [NOON], None, False),
        ("DateGreaterThan", [NOON], None, False),
    ],
)
def test_dates(operator: str, values: list[str], said: str | None, expected: bool) -> None:
    assert holds(operator, TIME, values, {} if said is None else {TIME: said}) == expected


@pytest.mark.parametrize("said", ["yesterday", "2026-01-31T12:00:00", ""])
def test_a_time_that_is_none_is_refused(said: str) -> None:
    with pytest.raises(InvalidInput, match="graveler:time"):
        holds("DateLessThan", TIME, [NOON], {TIME: said})


def test_all_operators_and_keys_must_hold() -> None:
    made = conditions(
        {
            Operator.STRING_LIKE: {ContextKey.BRANCH: ("dev-*",), ContextKey.REPOSITORY: ("flights",)},
            Operator.STRING_NOT_EQUALS: {ContextKey.USER: ("eve",)},
        }
    )
    good = {"graveler:branch": "dev-1", "graveler:repository": "flights", "graveler:user": "ada"}
    assert all(condition(good) for condition in made)
    for key, other in [("graveler:branch", "main"), ("graveler:repository", "x"), ("graveler:user", "eve")]:
        assert not all(condition({**good, key: other}) for condition in made)


def test_no_conditions_hold() -> None:
    assert conditions({}) == ()
