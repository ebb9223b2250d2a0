"""Addresses of local files: a user of the server must not read the files of its machine, such as the store's database.

`eve` may do everything with repositories (`FSFullAccess`), so access control allows her to import every address.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from graveler.server.local_files import LocalFiles
from graveler_core.errors import InvalidInput
from tests.graveler.server.running import RunningServer, running_server


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a storage root and other directories, in each of which is a file."""
    machine = tmp_path_factory.mktemp("machine")
    for name in ("root", "allowed", "other", "rooted"):
        (machine / name / "in").mkdir(parents=True)
        (machine / name / "in" / "file").write_bytes(b"content")
    (machine / "root" / "link").symlink_to(machine / "other")
    return machine


@pytest.fixture(scope="module")
def server(machine: Path) -> Iterator[RunningServer]:
    store, allowed = f"sqlite:///{machine / 'meta.db'}?durability=process", (str(machine / "allowed"),)
    with running_server(store, (machine / "root").as_uri(), local_files=allowed) as running:
        yield running


@pytest.fixture(scope="module")
def eve(server: RunningServer) -> Iterator[httpx.Client]:
    iam = server.graveler.iam
    iam.create_user("eve")
    iam.attach_policy("FSFullAccess", user="eve")
    key = iam.create_credential("eve")
    auth = (str(key.access_key_id), key.secret.get_secret_value())
    with httpx.Client(base_url=f"{server.url}/api/v1", auth=auth, timeout=60) as client:
        yield client


def _answers(eve: httpx.Client, directory: str) -> list[httpx.Response]:
    """Stage, link and import a file of a directory, and create a repository there."""
    name = f"repo-{uuid4().hex[:12]}"
    assert eve.post("/repositories", json={"name": name, "storage_namespace": f"local://{name}"}).status_code == 201
    entry = {"physical_address": f"{directory}/in/file", "checksum": "x", "size_bytes": 7}
    link = {"staging": {"physical_address": entry["physical_address"]}, "checksum": "x", "size_bytes": 7}
    commit = {"message": "Import"}
    object = {"path": f"{directory}/in/file", "destination": "file", "type": "object"}
    all = {"path": f"{directory}/in/", "destination": "all/", "type": "common_prefix"}
    main = f"/repositories/{name}/branches/main"
    return [
        eve.put(f"{main}/objects", params={"path": "staged"}, json=entry),
        eve.put(f"{main}/staging/backing", params={"path": "linked"}, json=link),
        eve.post(f"{main}/import", json={"paths": [object], "commit": commit}),
        eve.post(f"{main}/import", json={"paths": [all], "commit": commit}),
        eve.post("/repositories", json={"name": f"{name}-at", "storage_namespace": f"{directory}/{uuid4().hex}"}),
    ]


@pytest.mark.parametrize("place", ["other", "rooted", "root/link", "root/../other", "root/%2E%2E/other"])
def test_files_outside_the_allowed_directories_are_refused(eve: httpx.Client, machine: Path, place: str) -> None:
    for answer in _answers(eve, f"file://{machine}/{place}"):
        assert answer.status_code == 400, answer.text
        said = json.loads(answer.text)["message"]
        assert "--local-files" in said or "'..'" in said


@pytest.mark.parametrize("place", ["root", "allowed"])
def test_files_in_the_allowed_directories_are_used(eve: httpx.Client, machine: Path, place: str) -> None:
    for answer in _answers(eve, f"file://{machine}/{place}"):
        assert answer.status_code in (200, 201, 202), answer.text


@pytest.mark.parametrize(
    "uri", ["file:///srv/other", "FILE:///srv/other/x", "file://localhost/srv/lake2", "file:///srv"]
)
def test_all_spellings_of_a_file_are_recognised(uri: str) -> None:
    local = LocalFiles("file:///srv/lake", ())
    for allowed in ("file:///srv/lake/a", "FILE://localhost/srv/lake//b", "s3://srv/other", "memory://other"):
        local.check(allowed)
    with pytest.raises(InvalidInput, match="--local-files"):
        local.check(uri)


def test_a_server_on_object_stores_allows_no_local_file(tmp_path: Path) -> None:
    for root in ("", "s3://lake"):
        with pytest.raises(InvalidInput, match="--local-files"):
            LocalFiles(root, ()).check("file:///srv/lake/a")
    LocalFiles("s3://lake", (str(tmp_path),)).check((tmp_path / "a").as_uri())
