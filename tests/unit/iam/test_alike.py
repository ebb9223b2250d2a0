"""Tests of equal contexts: two contexts count as equal only if no request can get different answers, now or later."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.iam.evaluation import CompiledPolicies
from graveler_core.model.iam import Effect, Policy, Statement
from graveler_core.model.permission import Action, Request
from tests.unit.iam import naive
from tests.unit.iam.test_evaluation import allow, deny, policy

READ = Action.READ_OBJECT
EARLY, LATE = "2026-01-01T00:00:00+00:00", "2030-01-01T00:00:00+00:00"
CONDITIONS = st.sampled_from(
    [
        {},
        {"StringEquals": {"graveler:branch": ["a"]}},
        {"StringNotEquals": {"graveler:branch": ["b"]}},
        {"StringLike": {"graveler:ref": ["a*"]}},
        {"DateGreaterThan": {"graveler:time": ["2028-01-01T00:00:00Z"]}},
        {"StringLike": {"graveler:branch": ["*"]}, "DateGreaterThan": {"graveler:time": ["2028-01-01T00:00:00Z"]}},
    ]
)
STATEMENTS = st.builds(
    lambda effect, resources, conditions: Statement.model_validate(
        {"effect": effect, "actions": ["fs:Read*"], "resources": resources, "conditions": conditions}
    ),
    st.sampled_from(Effect),
    st.lists(st.text("ab*?", min_size=1, max_size=3), min_size=1, max_size=2),
    CONDITIONS,
)
CONTEXTS = st.sampled_from(
    [
        {"graveler:branch": "a", "graveler:ref": "a"},
        {"graveler:branch": "b", "graveler:ref": "b"},
        {"graveler:ref": "a"},
        {},
    ]
)


@given(st.lists(STATEMENTS, max_size=4), st.text("ab", max_size=2), CONTEXTS, CONTEXTS)
def test_what_is_alike_has_one_answer(
    statements: list[Statement], prefix: str, one: dict[str, str], other: dict[str, str]
) -> None:
    rules = CompiledPolicies([policy("p", *statements)], None)
    asked = [Request(READ, prefix, {**context, "graveler:time": EARLY}, prefix=True) for context in (one, other)]
    if rules.alike(asked[0], asked[1]):
        for rest, time in product(naive.texts("ab", 3), (EARLY, LATE)):
            answers = {
                rules.decide(Request(READ, prefix + rest, {**context, "graveler:time": time})).allowed
                for context in (one, other)
            }
            assert len(answers) == 1


def test_what_speaks_of_something_else_does_not_matter() -> None:
    on_main = {"StringEquals": {"graveler:branch": ["main"]}}
    one, other = (Request(READ, "lake/", {"graveler:branch": name}, prefix=True) for name in ("main", "dev"))

    def alike(*said: Policy) -> bool:
        return CompiledPolicies(said, None).alike(one, other)

    assert alike()
    assert alike(policy("p", allow("*", "*"), deny("fs:ReadObject", "lake/secret/*")))
    assert alike(policy("p", allow("fs:WriteObject", "*", **on_main)))
    assert alike(policy("p", allow("fs:ReadObject", "other/*", **on_main)))
    assert not alike(policy("p", allow("fs:ReadObject", "lake/raw/*", **on_main)))
    assert not alike(policy("p", allow("fs:ReadObject", "l*", **on_main)))
    assert not alike(policy("p", allow("*", "*"), deny("fs:ReadObject", "lake/x", **on_main)))
