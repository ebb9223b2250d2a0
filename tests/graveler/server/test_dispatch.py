"""The index of routes finds what the patterns of Starlette find in turn."""

from __future__ import annotations

import re

import pytest
from starlette.routing import Match, Route

from graveler.server.api.dispatch import ApiDispatch
from graveler.server.api.route import ApiRoute
from graveler.server.api.routes import ROUTES

DISPATCH = ApiDispatch(ROUTES)


def in_turn(method: str, path: str) -> ApiRoute | None:
    """The first route that matches."""
    scope = {"type": "http", "method": method, "path": path}
    for route in ROUTES:
        if route.method == method:
            found, _ = Route(route.path, lambda: None, methods=[method]).matches(scope)
            if found is Match.FULL:
                return route
    return None


def test_every_route_is_found_by_an_example_of_its_path() -> None:
    for route in ROUTES:
        path = re.sub(r"{(\w+)}", r"a-\1", route.path)
        found = DISPATCH.find(route.method, path)
        assert found is not None
        assert found[0] is in_turn(route.method, path)
        assert found[1] == {name: f"a-{name}" for name in re.findall(r"{(\w+)}", found[0].path)}


@pytest.mark.parametrize(
    "path", ["", "/", "/repositories/", "/repositories//branches", "/nothing", "/user\n", "/user/x"]
)
def test_other_paths_are_not_found(path: str) -> None:
    assert DISPATCH.find("GET", path) is None
    assert DISPATCH.find("BREW", "/user") is None
