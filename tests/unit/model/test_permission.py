"""The vocabulary of permissions: actions have a service and a verb, ARNs are as they are written in policies."""

from __future__ import annotations

import pickle
import re

import pytest

from graveler_core.model import permission
from graveler_core.model.permission import Action, Request


def test_actions() -> None:
    assert all(re.fullmatch(r"(fs|auth|branches|ci|retention):[A-Z][A-Za-z]+", action) for action in Action)
    assert len(set(Action)) == len(Action.__members__)


def test_resources() -> None:
    assert permission.repository_resource("flights") == "arn:graveler:fs:::repository/flights"
    assert permission.object_resource("flights", "a/*") == "arn:graveler:fs:::repository/flights/object/a/*"
    assert permission.branch_resource("flights", "main") == "arn:graveler:fs:::repository/flights/branch/main"
    assert permission.tag_resource("flights", "v1") == "arn:graveler:fs:::repository/flights/tag/v1"
    assert permission.namespace_resource("s3://b/x") == "arn:graveler:fs:::namespace/s3://b/x"
    assert permission.user_resource("ada") == "arn:graveler:auth:::user/ada"
    assert permission.group_resource("Admins") == "arn:graveler:auth:::group/Admins"
    assert permission.policy_resource("FSReadAll") == "arn:graveler:auth:::policy/FSReadAll"


@pytest.mark.parametrize(
    "kind", ["fs:::repository/", "fs:::namespace/", "auth:::user/", "auth:::group/", "auth:::policy/"]
)
def test_how_resources_begin(kind: str) -> None:
    text = f"arn:graveler:{kind}"
    assert permission.begins_resource(f"{text}x")
    for end in range(len(text)):
        assert permission.begins_resource(text[:end], more=True), text[:end]
        assert not permission.begins_resource(text[:end]), text[:end]
    assert not permission.begins_resource(f"arn:graveler:{kind[:-2]}/", more=True)


@pytest.mark.parametrize("within", ["object/", "branch/", "tag/"])
def test_how_resources_in_a_repository_begin(within: str) -> None:
    text = "arn:graveler:fs:::repository/flights/"
    assert permission.begins_resource(f"{text}{within}x")
    for end in range(len(within)):
        assert permission.begins_resource(text + within[:end], more=True)
        assert not permission.begins_resource(text + within[:end])
    assert not permission.begins_resource(f"{text}raw", more=True)


def test_a_request_crosses_processes() -> None:
    request = Request(Action.READ_OBJECT, "x", {"graveler:ref": "main"}, prefix=True)
    assert pickle.loads(pickle.dumps(request)) == request
