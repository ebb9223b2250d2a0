"""Operations that copy content: their threads, their answers that begin before the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from graveler.server.s3 import copy_answers
from graveler.server.s3.xml import DECLARATION
from graveler_core.errors import Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from tests.graveler.server.conftest import Place
from tests.graveler.server.s3.clients import boto_clients, keys_of

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


@pytest.fixture
def client(place: Place) -> Iterator[Any]:
    with boto_clients(place) as clients:
        yield clients.open()


@pytest.fixture
def repo(place: Place) -> Repository:
    return place.server.graveler.repository(place.repository())


@pytest.fixture
def upload(client: Any, repo: Repository) -> dict[str, Any]:
    """Arguments that complete an upload."""
    names = {"Bucket": repo.id, "Key": "main/a"}
    names["UploadId"] = client.create_multipart_upload(**names)["UploadId"]
    part = {"PartNumber": 1, "ETag": client.upload_part(**names, PartNumber=1, Body=b"content")["ETag"]}
    return {**names, "MultipartUpload": {"Parts": [part]}}


class Waits:
    """Waits for copies. The first ones end at once, as if their seconds had passed."""

    def __init__(self, passed: int) -> None:
        self.passed = passed
        self.copies: list[asyncio.Future[bytes]] = []

    async def ended_within(self, running: asyncio.Future[bytes], seconds: float) -> bool:
        self.copies.append(running)
        if len(self.copies) <= self.passed:
            return False
        await asyncio.wait({running})
        return True


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    found = Waits(3)
    monkeypatch.setattr(copy_answers, "ended_within", found.ended_within)
    return found


def before_the_copy(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Act in the thread of a completion, before it copies the parts."""
    real = Branch.assemble_multipart

    def assembled(*arguments: Any) -> Any:
        act()
        return real(*arguments)

    monkeypatch.setattr(Branch, "assemble_multipart", assembled)


def test_copies_have_threads_of_their_own(
    place: Place, client: Any, repo: Repository, upload: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []
    for method in ("assemble_multipart", "upload_part", "upload"):
        real = getattr(Branch, method)

        def noted(*arguments: Any, real: Callable[..., Any] = real, method: str = method, **options: Any) -> Any:
            names.append((method, threading.current_thread().name.rpartition("_")[0]))
            return real(*arguments, **options)

        monkeypatch.setattr(Branch, method, noted)
    other = place.repository()
    part = {"Bucket": repo.id, "Key": "main/a", "UploadId": upload["UploadId"], "PartNumber": 2}
    repo.branch("main").put("source", b"x" * 100_000)
    names.clear()
    client.upload_part_copy(**part, CopySource=f"{repo.id}/main/source")
    client.copy_object(Bucket=other, Key="main/copy", CopySource=f"{repo.id}/main/source")
    client.complete_multipart_upload(**upload)
    assert names == [(method, "graveler-copy") for method in ("upload_part", "upload", "assemble_multipart")]
    names.clear()
    client.copy_object(Bucket=repo.id, Key="main/copy", CopySource=f"{repo.id}/main/source")
    assert names == []
    assert repo.branch("main").read("a") == b"content"


def completing(client: Any, upload: dict[str, Any]) -> HTTPConnection:
    """Send the request that completes an upload. Return the connection, whose answer can be read in pieces."""
    names = {key: upload[key] for key in ("Bucket", "Key", "UploadId")}
    signed = urlsplit(client.generate_presigned_url("complete_multipart_upload", names))
    etag = upload["MultipartUpload"]["Parts"][0]["ETag"].replace('"', "&quot;")
    part = f"<Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>"
    connection = HTTPConnection(str(signed.hostname), signed.port, timeout=60)
    body = f"<CompleteMultipartUpload>{part}</CompleteMultipartUpload>"
    connection.request("POST", f"{signed.path}?{signed.query}", body)
    return connection


@pytest.mark.usefixtures("waits")
def test_the_answer_to_a_long_copy_begins_before_its_end(
    client: Any, repo: Repository, upload: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = threading.Event()
    before_the_copy(monkeypatch, ends.wait)
    connection = completing(client, upload)
    answer = connection.getresponse()
    assert (answer.status, answer.headers["content-type"]) == (200, "application/xml")
    assert answer.headers["x-amz-request-id"]
    assert answer.read(len(DECLARATION) + 2) == DECLARATION + b"  "
    ends.set()
    rest = answer.read()
    assert rest.startswith(b"<CompleteMultipartUploadResult ")
    assert repo.branch("main").get("a").metadata["graveler-s3-etag"].split()[0].encode() in rest
    connection.request("GET", "/_health")  # the connection goes on
    assert connection.getresponse().read() == b"alive!"
    connection.close()


def test_a_copy_goes_on_when_its_client_has_gone(
    client: Any, repo: Repository, upload: dict[str, Any], monkeypatch: pytest.MonkeyPatch, waits: Waits
) -> None:
    ends, gone = threading.Event(), threading.Event()
    before_the_copy(monkeypatch, ends.wait)
    real = waits.ended_within

    async def ended_within(running: asyncio.Future[bytes], seconds: float) -> bool:
        try:
            return await real(running, seconds)
        except asyncio.CancelledError:
            gone.set()
            raise

    monkeypatch.setattr(copy_answers, "ended_within", ended_within)
    connection = completing(client, upload)
    answer = connection.getresponse()
    assert answer.read(len(DECLARATION)) == DECLARATION
    answer.close()
    connection.close()
    assert gone.wait(60)
    ends.set()
    while not waits.copies[0].done():
        threading.Event().wait(0.01)
    assert waits.copies[0].result().startswith(DECLARATION + b"<CompleteMultipartUploadResult ")
    assert repo.branch("main").read("a") == b"content"


@pytest.mark.usefixtures("waits")
@pytest.mark.parametrize("error", [Unavailable("the object store does not answer"), ZeroDivisionError("internal")])
def test_a_client_finds_an_error_in_an_answer_that_has_begun_and_tries_again(
    place: Place,
    repo: Repository,
    upload: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    calls, slept = [], list[float]()

    def fail_once() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise error

    before_the_copy(monkeypatch, fail_once)
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=slept.append))
    patient = boto3.client(
        "s3",
        endpoint_url=place.server.url,
        region_name="us-east-1",
        config=Config(retries={"total_max_attempts": 2}),
        **keys_of(place.server.admin),
    )
    assert patient.complete_multipart_upload(**upload)["ETag"]
    assert (len(calls), len(slept)) == (2, 1)
    assert repo.branch("main").read("a") == b"content"
    patient.close()


@pytest.mark.usefixtures("waits")
def test_an_error_in_an_answer_that_has_begun_says_what_is_wrong(client: Any, upload: dict[str, Any]) -> None:
    upload["MultipartUpload"]["Parts"][0]["ETag"] = '"other"'
    with pytest.raises(ClientError, match="InvalidPart") as refused:
        client.complete_multipart_upload(**upload)
    assert "part 1: was not uploaded with this checksum" in str(refused.value)
