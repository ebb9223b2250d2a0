"""Requests on a branch that the server has read before: what it reads, and that outdated records change no answer."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from graveler_core.facade.graveler import Graveler
from graveler_core.stores import RegisterCache
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


@pytest.fixture
def other(place: Place) -> Graveler:
    """A handle of another process: with caches of its own, and without those of the server."""
    return Graveler(replace(place.server.graveler._stores, registers=RegisterCache()))


def stat(http: Http, repo: str, ref: str, path: str) -> tuple[int, str]:
    status, body, _ = http.send("GET", f"/repositories/{repo}/refs/{ref}/objects/stat?path={path}")
    return status, json.loads(body).get("physical_address", "")


def upload(http: Http, repo: str, path: str, branch: str = "main") -> tuple[int, str]:
    status, body, _ = http.send("POST", f"/repositories/{repo}/branches/{branch}/objects?path={path}", b"x")
    return status, json.loads(body).get("physical_address", "")


def listed(http: Http, repo: str, ref: str) -> tuple[int, list[str]]:
    status, body, _ = http.send("GET", f"/repositories/{repo}/refs/{ref}/objects/ls")
    return status, [each["path"] for each in json.loads(body).get("results", [])]


def test_a_repository_that_another_process_created_again(place: Place, other: Graveler) -> None:
    http, repo = Http(place), place.repository()
    assert upload(http, repo, "a")[0] == 201
    assert stat(http, repo, "main", "a")[0] == 200  # the server knows the branch now
    other.delete_repository(repo)
    assert stat(http, repo, "main", "a")[0] == 404
    assert upload(http, repo, "a")[0] == 404
    other.create_repository(repo, f"{place.server.root}/{repo}-again")
    status, address = upload(http, repo, "b")
    assert status == 201
    assert address.startswith(f"{place.server.root}/{repo}-again/")
    assert stat(http, repo, "main", "b") == (200, address)
    assert stat(http, repo, "main", "a")[0] == 404


def test_known_records_of_a_repository_that_was_created_again(place: Place, other: Graveler) -> None:
    http, repo = Http(place), place.repository()
    assert upload(http, repo, "a")[0] == 201
    assert listed(http, repo, "main") == (200, ["a"])
    other.delete_repository(repo)
    other.create_repository(repo, f"{place.server.root}/{repo}-again").branch("main").put("c", b"x")
    assert listed(http, repo, "main") == (200, ["c"])
    other.delete_repository(repo)
    other.create_repository(repo, f"{place.server.root}/{repo}-third").branch("main").put("d", b"x")
    assert stat(http, repo, "main", "d")[1].startswith(f"{place.server.root}/{repo}-third/")


def test_a_branch_that_another_process_replaced_by_a_tag(place: Place, other: Graveler) -> None:
    http, repo = Http(place), place.repository()
    there = other.repository(repo)
    there.branch("main").put("old", b"x")
    old = there.branch("main").commit("old").id
    dev = there.create_branch("dev", "main")
    dev.put("new", b"x")
    assert listed(http, repo, "dev") == (200, ["new", "old"])
    assert upload(http, repo, "c", "dev")[0] == 201
    there.delete_branch("dev")
    assert listed(http, repo, "dev")[0] == 404
    assert upload(http, repo, "c", "dev")[0] == 404
    there.create_branch("dev", "main")
    assert listed(http, repo, "dev") == (200, ["old"])
    there.delete_branch("dev")
    there.create_tag("dev", old)
    assert listed(http, repo, "dev") == (200, ["old"])
    assert stat(http, repo, "dev", "old")[0] == 200
    assert stat(http, repo, "dev", "new")[0] == 404
