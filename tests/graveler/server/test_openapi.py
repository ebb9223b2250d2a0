"""The OpenAPI document describes every operation, and refers only to schemas that it has."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import Any

import pytest

from graveler.server.api.openapi import openapi_document
from graveler.server.api.routes import ROUTES
from tests.graveler.server.conftest import Place

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


@pytest.fixture
def described(place: Place) -> dict[str, Any]:
    with urllib.request.urlopen(place.server.url + "/openapi.json") as response:
        found: dict[str, Any] = json.load(response)
    return found


def test_the_document_has_every_operation(described: dict[str, Any]) -> None:
    assert described == json.loads(json.dumps(openapi_document()))
    operations = [
        (method.upper(), path, operation)
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    ]
    assert {(method, path) for method, path, _ in operations} == {(route.method, route.path) for route in ROUTES}
    assert all(operation["summary"] for *_, operation in operations)
    names = [operation["operationId"] for *_, operation in operations]
    assert len(names) == len(set(names))
    for _, path, operation in operations:
        named = [each["name"] for each in operation["parameters"] if each["in"] == "path"]
        assert named == re.findall(r"{(\w+)}", path)


def test_the_document_refers_only_to_what_it_has(described: dict[str, Any]) -> None:
    known = described["components"]["schemas"]
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(described)))
    assert named == set(known)
    creation = known["RepositoryCreation"]
    assert creation["required"] == ["name", "storage_namespace"]
    commit = described["paths"]["/repositories/{repository}/branches/{branch}/commits"]["post"]
    assert commit["responses"]["201"]["content"]["application/json"]["schema"]["$ref"].endswith("ApiCommit")
