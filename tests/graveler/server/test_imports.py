"""Imports by lakeFS's own client: in the background, without copies, and by whichever server is alive."""

from __future__ import annotations

import json
import time
from pathlib import Path
from uuid import uuid4

import lakefs
import pytest
from lakefs.client import Client

from graveler_core.facade.repository import Repository
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http


@pytest.fixture
def client(place: Place) -> Client:
    admin = place.server.admin
    return Client(host=place.server.url, username=str(admin.access_key_id), password=admin.secret.get_secret_value())


@pytest.fixture
def source(place: Place, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A directory with two objects that no repository owns."""
    found = {"raw/a.csv": b"a\n1\n", "raw/b.csv": b"b\n22\n"}
    if place.server.root.startswith("file:"):
        for name, data in found.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(data)
        return tmp_path.as_uri()
    s3 = request.getfixturevalue("s3")
    bucket = s3.make_bucket(f"source-{uuid4().hex}")
    for name, data in found.items():
        s3.put(bucket, name, data)
    return f"s3://{bucket}"


@pytest.mark.ci
def test_a_directory_and_objects_are_imported(place: Place, client: Client, source: str) -> None:
    name = place.repository()
    main = lakefs.Repository(name, client=client).branch("main")
    status = main.import_data("Import", metadata={"who": "me"}).prefix(f"{source}/raw/", "raw/").run()
    assert (status.completed, status.ingested_objects, status.error) == (True, 2, None)
    assert status.commit.metadata == {"who": "me"}
    assert [entry.path for entry in main.objects()] == ["raw/a.csv", "raw/b.csv"]
    assert main.object("raw/b.csv").reader(mode="rb").read() == b"b\n22\n"
    objects = main.import_data("More").object(f"{source}/raw/a.csv", "x/1").object(f"{source}/raw/b.csv", "x/2")
    assert objects.run().commit.message == "More"
    assert [entry.path for entry in main.objects(prefix="x/")] == ["x/1", "x/2"]
    assert [each.message for each in main.log()] == ["More", "Import", "Repository created"]
    both = main.import_data("Both").prefix(f"{source}/raw", "y/").object(f"{source}/raw/a.csv", "z")
    made = both.run().commit
    assert [entry.path for entry in main.objects(after="x/2")] == ["y/raw/a.csv", "y/raw/b.csv", "z"]
    told = place.server.graveler.repository(name).metadata
    while told().get(".lakefs.last.import.timestamp") != str(made.creation_date):
        time.sleep(0.01)


@pytest.mark.ci
def test_what_cannot_be_imported_is_said(place: Place, client: Client, source: str) -> None:
    main = lakefs.Repository(place.repository(), client=client).branch("main")
    status = main.import_data("None").prefix(f"{source}/nothing/", "x/").run()
    assert "no objects" in status.error.message
    namespace = place.server.graveler.repository(main.repo_id).storage_namespace
    for wrong in (f"{namespace}/", namespace, f"{namespace}/data", namespace[:-2]):
        with pytest.raises(lakefs.exceptions.BadRequestException, match="invalid import source"):
            main.import_data("Own").prefix(wrong, "x/").start()
    with pytest.raises(lakefs.exceptions.BadRequestException):
        main.import_data("Nested").prefix(f"{source}/raw/", "x/").prefix(f"{source}/raw/", "x/y/").run()
    with pytest.raises(lakefs.exceptions.BadRequestException):
        main.import_data("Odd").prefix("ftp://x/y/", "x/").run()
    done = main.import_data("Import").prefix(f"{source}/raw/", "x/")
    done.run()
    with pytest.raises(lakefs.exceptions.ConflictException):
        done.cancel()


def test_an_import_whose_server_died_goes_on_when_its_state_is_asked_for(place: Place, source: str) -> None:
    name, http = place.repository(), Http(place)
    repo: Repository = place.server.graveler.repository(name)
    task = repo.begin_import("main", uri=f"{source}/raw")  # a server that died before it ran the task
    path = f"/repositories/{name}/branches/main/import?id={task.id}"
    found = json.loads(http.send("GET", path)[1])
    while not found["completed"]:
        found = json.loads(http.send("GET", path)[1])
    assert found["commit"]["id"] == repo.commit("main").id
    assert http.send("GET", path.replace("/main/", "/other/"))[0] == 404
    assert http.send("GET", path + "x")[0] == 404
    assert http.send("DELETE", path)[0] == 409
    waiting = repo.begin_import("main", uri=f"{source}/raw")
    assert http.send("DELETE", path.replace(task.id, waiting.id))[0] == 204
    found = json.loads(http.send("GET", path.replace(task.id, waiting.id))[1])
    assert (found["completed"], found["error"]["message"]) == (True, "Canceled: the task was cancelled")
