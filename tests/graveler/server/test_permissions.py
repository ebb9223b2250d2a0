"""Every operation of the API is called by a user without permissions, who is refused, and by the administrator.

The table of routes is walked: an operation without a sample request fails.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from uuid import uuid4

import pytest

from graveler.server.api.not_implemented import NOT_IMPLEMENTED
from graveler.server.api.route import ApiRoute
from graveler.server.api.routes import ROUTES
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http, basic
from tests.graveler.server.samples import OPEN, SAMPLES, scene, state

GUARDED = [route for route in ROUTES if not route.public and route not in NOT_IMPLEMENTED and route.name not in OPEN]


@dataclass(frozen=True)
class Nobody:
    """A user without permissions."""

    header: str


@pytest.fixture(scope="module")
def nobody(place: Place) -> Nobody:
    iam = place.server.graveler.iam
    iam.create_user("nobody")
    made = iam.create_credential("nobody")
    return Nobody(basic(str(made.access_key_id), made.secret.get_secret_value()))


def made(place: Place) -> dict[str, str]:
    return scene(place.server.graveler, place.server.root, f"r{uuid4().hex[:12]}")


@pytest.fixture(scope="module")
def unchanged(place: Place) -> dict[str, str]:
    """A scene for requests that change nothing."""
    return made(place)


def test_every_operation_has_a_sample() -> None:
    assert {route.name for route in GUARDED} == set(SAMPLES)
    assert {route.name for route in ROUTES} >= OPEN


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("route", GUARDED, ids=lambda route: f"{route.method}-{route.name}-{route.path.count('/')}")
def test_who_has_no_permission_is_refused_and_changes_nothing(
    place: Place, nobody: Nobody, unchanged: dict[str, str], route: ApiRoute
) -> None:
    g, sample = place.server.graveler, SAMPLES[route.name]
    values = made(place) if sample.changes else unchanged
    values = values | {"branch": sample.branch}
    path = route.path.format(**values) + (f"?{sample.query.format(**values)}" if sample.query else "")
    body = sample.body
    if body is not None and not isinstance(body, bytes):
        text = json.dumps(body)
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        body = text.encode()
    before = state(g, values)
    http = Http(place)
    status, said, _ = http.send(route.method, path, body, {"Authorization": nobody.header})
    assert status == 401, said
    if route.method != "HEAD":
        assert "insufficient permissions" in json.loads(said)["message"]
    assert state(g, values) == before
    status, said, _ = http.send(route.method, path, body)
    assert status == (sample.status or route.success), said
    assert (state(g, values) != before) == sample.changes


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_operations_for_everyone_and_those_that_do_not_exist_change_nothing(place: Place, nobody: Nobody) -> None:
    http = Http(place)
    values = made(place)
    values |= {"type": "range", "id": "0" * 64, "upload": "1", "part": "1", "pull": "1"}
    before = state(place.server.graveler, values)
    for route in ROUTES:
        if route.name in OPEN or route in NOT_IMPLEMENTED:
            status, said, _ = http.send(
                route.method, route.path.format(**values), b"{}", {"Authorization": nobody.header}
            )
            assert status == route.success, (route, said)
    assert state(place.server.graveler, values) == before
