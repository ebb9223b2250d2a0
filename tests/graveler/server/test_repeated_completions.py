"""Ends of multipart uploads that come twice or late, by S3 and by the API."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import md5
from typing import Any

import pytest
from botocore.exceptions import ClientError

from graveler.server import application
from graveler.server.s3 import copy_answers
from graveler_core.engine.staging import multipart
from graveler_core.errors import Kind, NotFound, Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.objects.uploads import Uploads
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http
from tests.graveler.server.s3.clients import boto_clients

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)
Answer = tuple[int, str]
"""Status, and the ETag or the code of the error."""


@dataclass
class BegunUpload:
    """An upload whose only part is stored, and the request that completes it."""

    branch: Branch
    id: str
    send: Callable[..., Answer]

    def complete(self, *, new: bool = False) -> Answer:
        """Send the request that completes the upload, with the condition `If-None-Match: *` if `new`."""
        return self.send(self.id, new=new)


@pytest.fixture(params=["s3", "api"])
def upload(request: pytest.FixtureRequest, place: Place) -> Iterator[BegunUpload]:
    repo = place.server.graveler.repository(place.repository())
    branch = repo.branch("main")
    id = branch.begin_multipart("a")
    digest = md5(b"parts", usedforsecurity=False).hexdigest()
    branch.upload_part("a", id, 1, b"parts", checksum=lambda: f"md5:{digest}")
    with boto_clients(place) as clients:
        client = clients.open()

        def by_s3(id: str, *, new: bool) -> Answer:
            parts: dict[str, Any] = {"MultipartUpload": {"Parts": [{"PartNumber": 1, "ETag": digest}]}}
            condition = {"IfNoneMatch": "*"} if new else {}
            try:
                made = client.complete_multipart_upload(Bucket=repo.id, Key="main/a", UploadId=id, **parts, **condition)
            except ClientError as error:
                return error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]
            return 200, made["ETag"].strip('"').partition("-")[0]

        def by_api(id: str, *, new: bool) -> Answer:
            body = {
                "physical_address": f"{repo.storage_namespace}/data/{id}",
                "parts": [{"part_number": 1, "etag": digest}],
            }
            headers = {"Content-Type": "application/json", **({"If-None-Match": "*"} if new else {})}
            path = f"/repositories/{repo.id}/branches/main/staging/pmpu/{id}?path=a"
            status, said, _ = Http(place).send("PUT", path, json.dumps(body).encode(), headers)
            return status, json.loads(said).get("checksum" if status == 200 else "message")

        yield BegunUpload(branch, id, by_s3 if request.param == "s3" else by_api)


def during_the_copy(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Act while the next completion copies the parts, after it has read them."""
    real = multipart._content

    def read(*arguments: Any) -> Iterator[bytes]:
        yield from real(*arguments)
        monkeypatch.setattr(multipart, "_content", real)
        act()

    monkeypatch.setattr(multipart, "_content", read)


def test_a_late_completion_does_not_replace_newer_content(upload: BegunUpload, monkeypatch: pytest.MonkeyPatch) -> None:
    branch = upload.branch

    def complete_at_another_server_and_replace() -> None:
        (part,) = branch.uploaded_parts("a", upload.id)
        branch.stage("a", branch.assemble_multipart("a", upload.id, [(1, part.checksum)]))
        branch.end_multipart("a", upload.id)
        branch.put("a", b"newer")

    during_the_copy(monkeypatch, complete_at_another_server_and_replace)
    assert upload.complete()[0] == 404
    assert branch.read("a") == b"newer"


def test_a_completion_during_that_of_another_server_is_told_to_try_again(
    upload: BegunUpload, monkeypatch: pytest.MonkeyPatch
) -> None:
    branch = upload.branch

    def begin_to_complete_at_another_server() -> None:
        (part,) = branch.uploaded_parts("a", upload.id)
        branch.assemble_multipart("a", upload.id, [(1, part.checksum)])

    during_the_copy(monkeypatch, begin_to_complete_at_another_server)
    assert upload.complete()[0] in (429, 503)
    assert upload.complete()[0] == 200  # also if the other server has died
    assert branch.read("a") == b"parts"


def test_a_completion_does_not_publish_an_upload_that_was_aborted(
    upload: BegunUpload, monkeypatch: pytest.MonkeyPatch
) -> None:
    during_the_copy(monkeypatch, lambda: upload.branch.end_multipart("a", upload.id))
    assert upload.complete()[0] == 404
    with pytest.raises(NotFound) as missing:
        upload.branch.get("a")
    assert missing.value.kind is Kind.PathNotFound


@pytest.mark.parametrize("new", [False, True])
def test_a_completion_can_be_repeated(upload: BegunUpload, *, new: bool) -> None:
    answers = [upload.complete(new=new) for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0][0] == 200
    upload.branch.put("a", b"other")
    assert upload.complete(new=new)[0] == (412 if new else 404)


def test_a_completion_whose_parts_could_not_be_deleted_can_be_repeated(
    upload: BegunUpload, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*_: object) -> None:
        raise Unavailable("the object store does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(Uploads, "delete", unavailable)
        assert upload.complete()[0] == 503
    assert upload.complete()[0] == 200
    assert upload.branch.read("a") == b"parts"


def test_a_completion_at_a_path_that_exists_copies_nothing(
    upload: BegunUpload, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[Any] = []
    during_the_copy(monkeypatch, lambda: copies.append(1))
    upload.branch.put("a", b"other")
    assert upload.complete(new=True)[0] == 412
    assert copies == []


def test_repetitions_share_one_copy(upload: BegunUpload, monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[Any] = []
    waiting: list[asyncio.Future[Any]] = []
    ends = threading.Event()
    real = Branch.assemble_multipart

    def assembled(*arguments: Any) -> Any:
        copies.append(arguments)
        ends.wait()
        return real(*arguments)

    async def ended_within(running: asyncio.Future[Any], seconds: float | None) -> bool:
        waiting.append(running)
        if len(waiting) == 3:
            ends.set()
        await asyncio.wait({running})
        return True

    monkeypatch.setattr(Branch, "assemble_multipart", assembled)
    for module in (application, copy_answers):
        monkeypatch.setattr(module, "ended_within", ended_within)
    with ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(lambda _: upload.complete(), range(3)))
    assert [status for status, _ in answers] == [200, 200, 200]
    assert (len(set(answers)), len(copies), len(set(waiting))) == (1, 1, 1)
    assert upload.complete() == answers[0]
    assert len(set(waiting)) == 2
