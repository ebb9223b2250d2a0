"""Policies as people write them: what is taken, and what is refused by name."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from graveler_core.errors import InvalidInput
from graveler_core.model.iam import Effect, Policy, Statement
from graveler_core.model.ids import EntityUid, Nonce, PolicyId
from graveler_core.model.policy_document import MAX_ITEMS, parse_policy, parse_statements, policy_document

GOOD: dict[str, Any] = {
    "effect": "allow",
    "actions": ["fs:Read*", "fs:ListObjects", "*", "branches:?et*"],
    "resources": ["*", "arn:graveler:fs:::repository/flights/object/raw/*", "arn:graveler:auth:::user/${user}"],
    "conditions": {
        "StringLike": {"graveler:ref": ["main", "release-*"], "graveler:user": ["a*"]},
        "DateLessThan": {"graveler:time": ["2026-12-31T00:00:00Z"]},
    },
}


def test_there_and_back() -> None:
    document = {"id": "ReadRaw", "statements": [GOOD, {key: GOOD[key] for key in ("effect", "actions", "resources")}]}
    name, statements = parse_policy(document)
    checked = parse_statements(name, statements)
    assert [each.effect for each in checked] == [Effect.ALLOW, Effect.ALLOW]
    policy = Policy(
        id=PolicyId(name),
        uid=EntityUid("u"),
        creation_date=datetime(2026, 1, 1, tzinfo=UTC),
        statements=checked,
        nonce=Nonce("n"),
    )
    assert json.loads(json.dumps(policy_document(policy))) == document
    assert parse_statements(name, checked) == checked


@pytest.mark.parametrize(
    "document",
    [None, [], "x", {}, {"id": "p"}, {"statements": []}, {"id": "p", "statements": [], "more": 1},
     {"id": 1, "statements": [1]}, {"id": "p*", "statements": [GOOD]}, {"id": "p", "statements": []},
     {"id": "p", "statements": "x"}],
    ids=str,
)  # fmt: skip
def test_documents_that_are_none(document: object) -> None:
    with pytest.raises(InvalidInput, match="policy"):
        parse_policy(document)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"effect": "permit"}, "'permit'"),
        ({"effect": ["allow"]}, "effect"),
        ({"actions": []}, "actions"),
        ({"actions": "fs:*"}, "actions"),
        ({"actions": ["fs:Fly"]}, "'fs:Fly'"),
        ({"actions": ["s3:*"]}, "'s3:*'"),
        ({"actions": ["fs:Read[A-Z]*"]}, "'fs:Read[A-Z]*'"),
        ({"actions": [""]}, "action ''"),
        ({"actions": [7]}, "action 7"),
        ({"actions": ["*"] * (MAX_ITEMS + 1)}, "the maximum is 100"),
        ({"resources": []}, "resources"),
        ({"resources": ["repository/x"]}, "'repository/x'"),
        ({"resources": ["arn:aws:s3:::x"]}, "'arn:aws:s3:::x'"),
        ({"resources": ["arn:graveler:auth:::user/${name}"]}, "the only variable"),
        ({"resources": ["arn:graveler:fs:::flights/*"]}, "'arn:graveler:fs:::flights/*'"),
        ({"resources": ["arn:graveler:fs:::user/ada"]}, "matches nothing"),
        ({"resources": ["arn:graveler:fs:::repository/flights/raw/*"]}, "matches nothing"),
        ({"resources": ["arn:graveler:fs:::repository/flights/"]}, "matches nothing"),
        ({"resources": ["arn:graveler:fs:::" + "x" * 3_000]}, "2,048"),
        ({"resources": ["arn:graveler:fs:::\ud800"]}, "resource"),
        ({"conditions": []}, "conditions"),
        ({"conditions": {"IpAddress": {"graveler:ref": ["x"]}}}, "'IpAddress'"),
        ({"conditions": {"StringLike": {}}}, "StringLike"),
        ({"conditions": {"StringLike": ["main"]}}, "StringLike"),
        ({"conditions": {"StringLike": {"graveler:moon": ["full"]}}}, "'graveler:moon'"),
        ({"conditions": {"StringLike": {"graveler:ref": "main"}}}, "list of 1"),
        ({"conditions": {"StringLike": {"graveler:ref": []}}}, "list of 1"),
        ({"conditions": {"StringLike": {"graveler:ref": [1]}}}, "value 1"),
        ({"conditions": {"StringEquals": {"graveler:branch": ["dev-*"]}}}, "no wildcards"),
        ({"conditions": {"StringNotEquals": {"graveler:branch": ["dev-?"]}}}, "no wildcards"),
        ({"conditions": {"StringLike": {"graveler:branch": ["${user}-*"]}}}, "variables are not allowed"),
        ({"conditions": {"DateLessThan": {"graveler:ref": ["2026-01-01T00:00:00Z"]}}}, "only graveler:time"),
        ({"conditions": {"DateLessThan": {"graveler:time": ["soon"]}}}, "'soon'"),
        ({"conditions": {"DateGreaterThan": {"graveler:time": ["2026-01-01"]}}}, "zone"),
        ({"principal": "*"}, "must be an object"),
    ],
    ids=lambda it: str(it)[:60],
)  # fmt: skip
def test_statements_that_cannot_be(change: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_statements("p", [GOOD, GOOD | change])
    assert "policy 'p', statement 2" in caught.value.message
    assert named in caught.value.message


@pytest.mark.parametrize("missing", ["effect", "actions", "resources"])
def test_nothing_may_be_missing(missing: str) -> None:
    with pytest.raises(InvalidInput, match="statement 1"):
        parse_statements("p", [{key: value for key, value in GOOD.items() if key != missing}])


def test_statements_made_by_hand_are_checked_too() -> None:
    made = Statement(effect=Effect.DENY, actions=("fs:Fly",), resources=("*",))
    with pytest.raises(InvalidInput, match="fs:Fly"):
        parse_statements("p", [made])
