"""Dumps and restorations by the requests of lakeFS's API: in the background, and by whichever server is alive."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest

from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http
from tests.graveler.server.running import running_server


@pytest.fixture
def http(place: Place) -> Http:
    return Http(place)


def ended(http: Http, path: str) -> dict[str, object]:
    while not (found := json.loads(http.send("GET", path)[1]))["done"]:
        continue
    assert isinstance(found, dict)
    return found


def begun(http: Http, path: str, body: object = None) -> str:
    status, said, _ = http.send("POST", path, None if body is None else json.dumps(body).encode())
    assert status == 202, said
    return str(json.loads(said)["id"])


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_dump_is_restored_by_a_server_on_another_store(place: Place, http: Http, tmp_path: Path) -> None:
    name, bare = place.repository(), f"bare-{uuid4().hex[:8]}"
    repo = place.server.graveler.repository(name)
    repo.branch("main").put("a", b"a")
    commit = repo.branch("main").commit("Add a")
    repo.create_tag("v1", "main")
    path = f"/repositories/{name}/dump"
    dump = ended(http, f"{path}?task_id={begun(http, path)}")
    refs = dump["refs"]
    assert isinstance(refs, dict)
    assert refs.keys() == {"commits_meta_range_id", "tags_meta_range_id", "branches_meta_range_id"}
    with running_server(f"sqlite:///{tmp_path / 'other.db'}?durability=process", place.server.root) as other:
        there, path = Http(Place(other, lambda: "")), f"/repositories/{bare}/restore"
        wanted = json.dumps({"name": bare, "storage_namespace": repo.storage_namespace}).encode()
        assert there.send("POST", "/repositories", wanted)[0] == 400
        assert there.send("POST", "/repositories?bare=true", wanted)[0] == 201
        restored = ended(there, f"{path}?task_id={begun(there, path, refs)}")
        assert "error" not in restored
        found = other.graveler.repository(bare)
        assert (found.commit("v1").id, found.branch("main").read("a")) == (commit.id, b"a")
    assert http.send("GET", f"/repositories/{name}/restore?task_id={dump['id']}")[0] == 404
    assert http.send("GET", f"/repositories/{name}/dump?task_id=nothing")[0] == 404


def test_what_cannot_be_restored_is_said(place: Place, http: Http) -> None:
    path = f"/repositories/{place.repository()}/restore"
    wrong = dict.fromkeys(("commits_meta_range_id", "tags_meta_range_id", "branches_meta_range_id"), "nothing")
    assert ended(http, f"{path}?task_id={begun(http, path, wrong)}")["error"]
    for body in ({**wrong, "tags_meta_range_id": "x"}, dict.fromkeys(wrong, "../x"), {}):
        assert http.send("POST", path, json.dumps(body).encode())[0] == 400


def test_a_dump_whose_server_died_goes_on_when_its_state_is_asked_for(place: Place, http: Http) -> None:
    name = place.repository()
    repo = place.server.graveler.repository(name)
    task = repo.begin_dump(f"{repo.storage_namespace}/dumps")  # a server that died before it ran the task
    assert ended(http, f"/repositories/{name}/dump?task_id={task.id}")["refs"]
