"""Copies of entries whose address the user may not name: the server copies their content."""

from __future__ import annotations

import json
from hashlib import md5
from pathlib import Path
from threading import current_thread
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from graveler_core.facade.branch import Branch
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.iam import NewCredential
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http, header_of, user_who_may
from tests.graveler.server.s3.clients import boto_clients

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)
READS = ("fs:ReadRepository", "fs:ReadBranch", "fs:ReadCommit", "fs:ReadObject")
CONTENT = b"imported"


@pytest.fixture
def main(place: Place) -> Branch:
    """A branch with an entry for a file that belongs to no repository."""
    uri = f"{place.server.root}/elsewhere/{uuid4().hex}"
    file = Path(urlsplit(uri).path)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(CONTENT)
    branch = place.server.graveler.repository(place.repository()).branch("main")
    entry = Entry(
        address=uri,
        address_type=AddressType.FULL,
        size=len(CONTENT),
        checksum="0123456789abcdef0123456789abcdef",
        content_type="text/csv",
        metadata={"owner": "eve"},
    )
    branch.stage("a", entry)
    return branch


@pytest.fixture
def writer(place: Place) -> NewCredential:
    return user_who_may(place, *READS, "fs:WriteObject")


def copied(place: Place, main: Branch, made: NewCredential) -> tuple[int, dict[str, str]]:
    """Copy the entry over the API of lakeFS."""
    path = f"/repositories/{main._record.id}/branches/main/objects/copy?dest_path=b"
    body = b'{"src_path": "a", "src_ref": "main"}'
    status, said, _ = Http(place).send("POST", path, body, header_of(made))
    return status, json.loads(said)


def test_a_user_without_permission_to_import_copies_the_content(
    place: Place, main: Branch, writer: NewCredential
) -> None:
    status, said = copied(place, main, writer)
    assert status == 201, said
    found = main.get("b")
    assert (main.read("b"), found.address_type, found.content_type) == (CONTENT, AddressType.RELATIVE, "text/csv")
    assert said["checksum"] == main.get("a").checksum


def test_content_that_is_replaced_meanwhile_is_not_mixed(
    place: Place, main: Branch, writer: NewCredential, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Branch.stage

    def stage(branch: Branch, *arguments: Any) -> Entry:
        monkeypatch.setattr(Branch, "stage", real)
        before.append(main.get("a"))
        main.put("a", b"newer", content_type="text/plain")
        return real(branch, *arguments)

    before = list[Entry]()
    monkeypatch.setattr(Branch, "stage", stage)
    status, said = copied(place, main, writer)
    assert status == 201, said
    found = main.get("b")
    assert (main.read("b"), found.content_type, found.metadata["owner"]) == (CONTENT, "text/csv", "eve")
    assert said["checksum"] == before[0].checksum


@pytest.mark.parametrize("over", ["api", "s3"])
def test_content_at_an_address_that_could_be_guessed_is_copied_in_the_threads_for_copies(
    place: Place, main: Branch, writer: NewCredential, monkeypatch: pytest.MonkeyPatch, over: str
) -> None:
    name, real, threads = main._record.id, Branch.upload, list[str]()
    place.server.graveler._stores.blobs.at(f"{place.server.root}/{name}").create("written/by-hand", CONTENT)
    main.stage("a", Entry(address="written/by-hand", size=len(CONTENT)))
    secret = f"arn:graveler:fs:::repository/{name}/object/secret/*"
    iam, policy = place.server.graveler.iam, f"policy-{uuid4().hex[:8]}"
    iam.create_policy(policy, [{"effect": "deny", "actions": ["fs:ReadObject"], "resources": [secret]}])
    iam.attach_policy(policy, user=writer.user)

    def upload(*arguments: Any, **options: Any) -> Any:
        threads.append(current_thread().name)
        return real(*arguments, **options)

    monkeypatch.setattr(Branch, "upload", upload)
    if over == "api":
        assert copied(place, main, writer)[0] == 201
    else:
        with boto_clients(place) as clients:
            clients.open(writer).copy_object(Bucket=name, Key="main/b", CopySource=f"{name}/main/a")
    assert main.read("b") == CONTENT
    assert [each.startswith("graveler-copy") for each in threads] == [True]


def test_a_user_with_permission_to_import_shares_the_content(place: Place, main: Branch) -> None:
    assert copied(place, main, place.server.admin)[0] == 201
    assert main.get("b").address == main.get("a").address


def test_a_user_without_permission_to_write_copies_nothing(place: Place, main: Branch) -> None:
    assert copied(place, main, user_who_may(place, *READS))[0] == 401
    assert [entry.path for entry in main.list()] == ["a"]


def test_a_repeated_copy_of_a_part_has_the_content_that_its_source_has_then(
    place: Place, main: Branch, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, real, answers = main._record.id, Branch.upload_part, []
    main.put("source", b"older")
    id = main.begin_multipart("b")
    source = {"repository": name, "ref": "main", "path": "source"}
    body = {"physical_address": f"{place.server.root}/{name}/data/{id}", "copy_source": source}

    def send() -> None:
        path = f"/repositories/{name}/branches/main/staging/pmpu/{id}/parts/1/copy?path=b"
        status, _, headers = Http(place, timeout=10).send("PUT", path, json.dumps(body).encode())
        answers.append((status, headers.get("etag")))

    def upload_part(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(Branch, "upload_part", real)
        main.put("source", b"newer")
        send()
        return real(*arguments, **options)

    monkeypatch.setattr(Branch, "upload_part", upload_part)
    send()
    assert answers == [(204, f'"{md5(content).hexdigest()}"') for content in (b"newer", b"older")]


@pytest.mark.parametrize(
    "options", [{}, {"IfNoneMatch": "*"}, {"MetadataDirective": "REPLACE", "Metadata": {"x": "y"}}]
)
def test_clients_of_s3_copy_the_content_too(
    place: Place, main: Branch, writer: NewCredential, options: dict[str, object]
) -> None:
    bucket = main._record.id
    with boto_clients(place) as clients:
        client = clients.open(writer)
        before = client.head_object(Bucket=bucket, Key="main/a")["ETag"]
        answer = client.copy_object(Bucket=bucket, Key="main/b", CopySource=f"{bucket}/main/a", **options)
        after = client.head_object(Bucket=bucket, Key="main/b")
    assert answer["CopyObjectResult"]["ETag"] == after["ETag"] == before
    assert (main.read("b"), main.get("b").address_type) == (CONTENT, AddressType.RELATIVE)
    assert after["Metadata"] == ({"x": "y"} if "Metadata" in options else {})
