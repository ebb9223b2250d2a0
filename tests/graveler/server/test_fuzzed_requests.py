"""Requests made of fragments: no answer has status 500, every answer comes, and every error has a message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from graveler.server.api.not_implemented import NOT_IMPLEMENTED
from graveler.server.api.route import ApiRoute
from graveler.server.api.routes import ROUTES
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http
from tests.graveler.server.running import running_server
from tests.graveler.server.samples import SAMPLES, scene

ODD = [
    "",
    "a",
    "main",
    "main~1",
    "dev@",
    "..",
    "a/b",
    "%",
    "%2F",
    "\x00",
    "é",
    "\U0001f600",
    "${user}",
    "*",
    "'",
    '"',
    "<b>",
]
IMPLEMENTED = [route for route in ROUTES if route not in NOT_IMPLEMENTED]
NUMBERS = [0, -1, 1, 2**31, 2**63, 2**70, 10**400, 1.5, float("inf"), float("nan")]
SECONDS = 60
"""Seconds after which a request counts as hanging."""

texts = st.one_of(st.sampled_from(ODD), st.text(max_size=40))
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.integers(), texts),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
headers = st.dictionaries(
    st.sampled_from(
        [
            "If-None-Match",
            "If-Match",
            "Range",
            "Content-Type",
            "X-Lakefs-Meta-k",
            "X-Lakefs-Internal-k",
            "Cookie",
            "Host",
        ]
    ),
    st.one_of(
        st.sampled_from(
            ["*", '""', "bytes=0-", "bytes=-1", "bytes=9-1", "bytes=" + "9" * 5000 + "-", "multipart/form-data"]
        ),
        st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=40),
    ),
    max_size=3,
)


def _fields(route: ApiRoute) -> list[str]:
    """Names of the fields of a body, so that most bodies get past the first check."""
    return [] if route.body is None else [name for name in getattr(route.body, "model_fields", {}) if name != "root"]


@st.composite
def requests(draw: st.DrawFn) -> tuple[ApiRoute, dict[str, str], list[tuple[str, str]], Any, dict[str, str]]:
    route = draw(st.sampled_from(IMPLEMENTED))
    names = [each.rstrip("*") for each in route.query.split()]
    query = draw(st.lists(st.tuples(st.sampled_from([*names, "presign", "other"]), texts), max_size=4))
    replaced = draw(
        st.dictionaries(st.sampled_from(["repository", "branch", "ref", "tag", "user", "key"]), texts, max_size=2)
    )
    sample = SAMPLES.get(route.name)
    body: Any = None if sample is None else sample.body
    if draw(st.booleans()):
        if isinstance(body, dict) and draw(st.booleans()):
            body = {**body, **draw(st.dictionaries(st.sampled_from(_fields(route) or ["a"]), values, max_size=2))}
        else:
            body = draw(st.one_of(values, st.binary(max_size=60)))
    return route, replaced, query, body, draw(headers)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server of its own, because the requests change users and repositories."""
    root: Path = tmp_path_factory.mktemp("fuzzed")
    with running_server(f"sqlite:///{root / 'meta.db'}?durability=process", root.as_uri()) as running:
        yield Place(running, lambda: f"local://{uuid4().hex}")


@pytest.fixture(scope="module")
def made(place: Place) -> dict[str, str]:
    return scene(place.server.graveler, place.server.root, "fuzzed")


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(fuzzed=requests())
def test_no_request_breaks_the_server(
    place: Place,
    made: dict[str, str],
    fuzzed: tuple[ApiRoute, dict[str, str], list[tuple[str, str]], Any, dict[str, str]],
) -> None:
    route, replaced, query, body, sent = fuzzed
    parts = {"type": "range", "id": "0", "upload": "1", "part": "1", "pull": "1", **made, **replaced}
    path = route.path.format(**{name: quote(part, safe="") for name, part in parts.items()})
    path += "?" + "&".join(f"{quote(name)}={quote(text, safe='')}" for name, text in query)
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    status, answer = send(place, route.method, path, content, sent)
    event(f"status {status // 100}xx")
    assert status < 500 or status == 501, answer
    if status >= 400 and route.method != "HEAD" and status not in (409, 416):
        assert json.loads(answer)["message"]
    assert send(place, "GET", "/healthcheck", None, {})[0] == 204


def send(place: Place, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
    address = urlsplit(place.server.url)
    connection = HTTPConnection(str(address.hostname), address.port, timeout=SECONDS)
    try:
        given = {"Authorization": Http(place).credentials, **headers}
        raw = {name: value.encode("latin-1") for name, value in given.items()}
        connection.request(method, "/api/v1" + path, body=body, headers=raw)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
