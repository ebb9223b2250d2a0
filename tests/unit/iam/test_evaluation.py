"""Evaluation against its definition: deny wins, deny by default, each statement by what it fits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.errors import InvalidInput
from graveler_core.iam.evaluation import AccessDecision, CompiledPolicies, evaluate
from graveler_core.model.iam import Effect, Policy, Statement
from graveler_core.model.ids import EntityUid, Nonce, PolicyId
from graveler_core.model.permission import Action, Request, object_resource, user_resource
from tests.unit.iam import naive

READ, WRITE = Action.READ_OBJECT, Action.WRITE_OBJECT
RAW = object_resource("flights", "raw/jan.csv")


def policy(name: str, *statements: Statement) -> Policy:
    made = datetime(2026, 1, 1, tzinfo=UTC)
    return Policy(id=PolicyId(name), uid=EntityUid(name), creation_date=made, statements=statements, nonce=Nonce(name))


def statement(effect: Effect, actions: str, *resources: str, **conditions: object) -> Statement:
    return Statement.model_validate(
        {"effect": effect, "actions": actions.split(), "resources": resources, "conditions": conditions}
    )


def allow(actions: str, *resources: str, **conditions: object) -> Statement:
    return statement(Effect.ALLOW, actions, *resources, **conditions)


def deny(actions: str, *resources: str, **conditions: object) -> Statement:
    return statement(Effect.DENY, actions, *resources, **conditions)


STATEMENTS = st.builds(
    Statement,
    effect=st.sampled_from(Effect),
    actions=st.lists(st.sampled_from(["*", "fs:*", "fs:Read*", "fs:ReadObject", "auth:*"]), min_size=1, max_size=2),
    resources=st.lists(st.text("ab*?", max_size=4), min_size=1, max_size=2),
)
POLICIES = st.lists(st.lists(STATEMENTS, max_size=3).map(lambda found: policy("p", *found)), max_size=3)


@given(POLICIES, st.sampled_from([READ, WRITE, Action.READ_USER]), st.text("ab", max_size=4))
def test_one_thing(policies: list[Policy], action: Action, resource: str) -> None:
    request = Request(action, resource)
    assert evaluate(policies, request).allowed == naive.allowed(policies, request)


@given(POLICIES, st.sampled_from([READ, WRITE]), st.text("ab", max_size=3))
def test_a_prefix_is_no_way_round(policies: list[Policy], action: Action, prefix: str) -> None:
    """Where a prefix is allowed, so is every single thing in it."""
    if evaluate(policies, Request(action, prefix, prefix=True)).allowed:
        assert all(naive.allowed(policies, Request(action, prefix + rest)) for rest in naive.texts("ab", 4))


@given(STATEMENTS, st.text("ab", max_size=3))
def test_one_statement_over_a_prefix(only: Statement, prefix: str) -> None:
    """Allowed exactly if one of its resources fits everything; denied exactly if one fits anything."""
    rest = list(naive.texts("ab", 5))
    fits = [[naive.matches(resource, prefix + more) for more in rest] for resource in only.resources]
    speaks = any(naive.matches(action, READ) for action in only.actions)
    request = Request(READ, prefix, prefix=True)
    if only.effect is Effect.ALLOW:
        assert evaluate([policy("p", only)], request).allowed == (speaks and any(map(all, fits)))
    else:
        everything = policy("all", allow("*", "*"))
        assert evaluate([everything, policy("p", only)], request).allowed != (speaks and any(map(any, fits)))


@given(POLICIES, st.sampled_from([READ, WRITE]), st.text("ab", max_size=3))
def test_who_may_do_something_below_a_prefix_reaches_it(policies: list[Policy], action: Action, prefix: str) -> None:
    reached = CompiledPolicies(policies, None).reaches(Request(action, prefix, prefix=True))
    if any(naive.allowed(policies, Request(action, prefix + rest)) for rest in naive.texts("ab", 4)):
        assert reached


def test_nothing_is_reached_without_permission_or_against_a_denial_of_all() -> None:
    reads, writes = (Request(action, object_resource("flights", ""), prefix=True) for action in (READ, WRITE))
    some = policy("p", allow("fs:ReadObject", object_resource("flights", "raw/*")))
    assert CompiledPolicies([some], None).reaches(reads)
    assert not CompiledPolicies([some], None).reaches(writes)
    denial = policy("d", deny("fs:*", object_resource("flights", "*")))
    assert not CompiledPolicies([some, denial], None).reaches(reads)


def test_who_says_so() -> None:
    policies = [
        policy("writes", allow("fs:WriteObject", "*"), deny("fs:*", object_resource("flights", "secret/*"))),
        policy("reads", allow("auth:*", "*"), allow("fs:Read*", object_resource("flights", "*"))),
    ]
    assert evaluate(policies, Request(READ, RAW)) == AccessDecision(True, PolicyId("reads"), 2)
    assert evaluate(policies, Request(WRITE, RAW)) == AccessDecision(True, PolicyId("writes"), 1)
    secret = object_resource("flights", "secret/a")
    assert evaluate(policies, Request(READ, secret)) == AccessDecision(False, PolicyId("writes"), 2)
    assert evaluate(policies, Request(READ, object_resource("weather", "a"))) == AccessDecision(False)
    assert evaluate([], Request(READ, RAW)) == AccessDecision(False)


def test_a_denial_in_a_prefix_denies_the_prefix() -> None:
    policies = [policy("p", allow("fs:*", "*"), deny("fs:DeleteObject", object_resource("flights", "raw/*.gold")))]
    for path, allowed in [("raw/", False), ("", False), ("ra", False), ("raw/a.gold", False), ("rare/", True)]:
        request = Request(Action.DELETE_OBJECT, object_resource("flights", path), prefix=True)
        assert evaluate(policies, request).allowed == allowed, path


def test_two_statements_do_not_cover_a_prefix_together() -> None:
    halves = policy(
        "p", allow("fs:*", object_resource("flights", "raw/?*")), allow("fs:*", object_resource("flights", "raw/"))
    )
    assert not evaluate([halves], Request(READ, object_resource("flights", "raw/"), prefix=True)).allowed


def test_the_user_in_a_resource() -> None:
    own = [policy("own", allow("auth:*", user_resource("${user}")))]
    request = Request(Action.CREATE_CREDENTIALS, user_resource("ada"))
    assert CompiledPolicies(own, "ada").decide(request).allowed
    assert not CompiledPolicies(own, "ad").decide(request).allowed
    assert not CompiledPolicies(own, None).decide(request).allowed
    assert evaluate(own, Request(request.action, request.resource, {"graveler:user": "ada"})).allowed


def test_what_depends_on_a_user_who_is_not_known_is_denied() -> None:
    policies = [policy("p", allow("auth:*", "*"), deny("auth:*", user_resource("${user}")))]
    assert not evaluate(policies, Request(Action.READ_USER, user_resource("ada"))).allowed
    assert CompiledPolicies(policies, "bob").decide(Request(Action.READ_USER, user_resource("ada"))).allowed


@pytest.mark.parametrize("user", ["*", "a?", "a/b", "", "${user}"])
def test_a_user_brings_no_wildcard_in(user: str) -> None:
    with pytest.raises(InvalidInput, match="user name"):
        evaluate([], Request(READ, RAW, {"graveler:user": user}))


def test_conditions_are_asked_of_the_request() -> None:
    on_dev = allow("fs:*", "*", StringLike={"graveler:branch": ["dev-*"]})
    policies = [policy("p", on_dev, deny("fs:*", "*", StringEquals={"graveler:branch": ["dev-prod"]}))]
    for branch, allowed in [("dev-1", True), ("dev-prod", False), ("main", False)]:
        assert evaluate(policies, Request(READ, RAW, {"graveler:branch": branch})).allowed == allowed
    assert not evaluate(policies, Request(READ, RAW)).allowed


def test_a_statement_is_looked_at_only_for_its_actions() -> None:
    """Twenty policies on other actions add no rule to what a request looks at."""
    others = [policy(f"p{n}", allow("auth:*", "*"), deny("branches:*", "*")) for n in range(20)]
    rules = CompiledPolicies([*others, policy("mine", allow("fs:*", "*"))], "ada")
    assert rules.decide(Request(READ, RAW)).by == "mine"
    assert len(rules._of[READ]) == 1
