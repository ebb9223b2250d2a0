"""Requests to the gateway that few clients send, signed by hand where boto3 cannot send them."""

from __future__ import annotations

import logging
import threading
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from graveler_core.facade.repository import Repository
from tests.graveler.server.conftest import Place
from tests.graveler.server.s3.clients import boto_clients

pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


@pytest.fixture
def client(place: Place) -> Iterator[Any]:
    with boto_clients(place) as clients:
        yield clients.open()


@pytest.fixture
def repo(place: Place) -> Repository:
    return place.server.graveler.repository(place.repository())


def sent(place: Place, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    """Send a signed request. Underscores in the names of headers stand for hyphens."""
    admin, url = place.server.admin, place.server.url
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    request = AWSRequest(method, url + path, given, body)
    credentials = Credentials(str(admin.access_key_id), admin.secret.get_secret_value())
    S3SigV4Auth(credentials, "s3", "us-east-1").add_auth(request)
    address = urlsplit(url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=30)
    try:
        connection.request(method, path, body, dict(request.headers.items()))
        response = connection.getresponse()
        return response.status, response.read(), {name.lower(): value for name, value in response.getheaders()}
    finally:
        connection.close()


@pytest.mark.parametrize("name", ["list_objects_v2", "list_objects"])
def test_pages_hold_every_ref_in_the_order_of_keys(client: Any, repo: Repository, name: str) -> None:
    refs = ("main-x", "main-x-1", "main.1", "mainx", "main_2", "a", "a-")
    for ref in refs:
        repo.create_branch(ref, "main")
    repo.create_tag("main-", "main")
    for size in (1, 100):
        pages = client.get_paginator(name).paginate(Bucket=repo.id, PaginationConfig={"PageSize": size})
        found = [each["Prefix"] for page in pages for each in page["CommonPrefixes"]]
        assert found == sorted(f"{ref}/" for ref in ("main", "main-", *refs))


def code(body: bytes) -> str:
    return body.decode().partition("<Code>")[2].partition("<")[0]


def test_if_match_compares_strong_tags(place: Place, client: Any, repo: Repository) -> None:
    etag = client.put_object(Bucket=repo.id, Key="main/a", Body=b"x")["ETag"]
    path = f"/{repo.id}/main/a"
    for condition, wanted in ((f"W/{etag}", 412), ('"*"', 412), (f'"o,ther", {etag}', 200), ("*", 200)):
        for method in ("GET", "HEAD", "PUT"):
            assert sent(place, method, path, b"x", If_Match=condition)[0] == wanted, (method, condition)
    for condition, wanted in ((f"W/{etag}", 304), ('"*"', 200), (f'"o,ther", {etag}', 304)):
        assert sent(place, "GET", path, If_None_Match=condition)[0] == wanted, condition


def test_a_deletion_with_a_condition_or_of_a_version_removes_nothing(
    place: Place, client: Any, repo: Repository
) -> None:
    client.put_object(Bucket=repo.id, Key="main/a", Body=b"x")
    status, body, _ = sent(place, "DELETE", f"/{repo.id}/main/a", If_Match='"other"')
    assert (status, code(body)) == (501, "NotImplemented")
    for condition in ({"ETag": '"other"'}, {"VersionId": "7"}, {"Size": 7}):
        wanted = {"Objects": [{"Key": "main/a", **condition}, {"Key": "main/b"}]}
        found = client.delete_objects(Bucket=repo.id, Delete=wanted)
        assert [(each["Key"], each["Code"]) for each in found["Errors"]] == [("main/a", "NotImplemented")]
        assert [each["Key"] for each in found["Deleted"]] == ["main/b"]
    assert repo.branch("main").read("a") == b"x"
    client.delete_objects(Bucket=repo.id, Delete={"Objects": [{"Key": "main/a", "VersionId": "null"}]})
    assert not [*repo.branch("main").list()]


def test_a_plus_sign_in_the_source_of_a_copy_is_a_space(place: Place, repo: Repository) -> None:
    repo.branch("main").put_many({"a b": b"space", "a+b": b"plus", "ö": b"umlaut"})
    sources = {"a+b": b"space", "a%2Bb": b"plus", "a%20b": b"space", "%C3%B6": b"umlaut"}
    for source, content in sources.items():
        given = f"/{repo.id}/main/{source}"
        assert sent(place, "PUT", f"/{repo.id}/main/copy", x_amz_copy_source=given)[0] == 200, source
        assert repo.branch("main").read("copy") == content, source


def test_the_checksum_at_the_end_of_an_upload_in_parts_is_not_that_of_the_document(
    client: Any, repo: Repository
) -> None:
    names = {"Bucket": repo.id, "Key": "main/a"}

    def complete(**options: Any) -> Any:
        upload = {**names, "UploadId": client.create_multipart_upload(**names)["UploadId"]}
        part = {"PartNumber": 1, "ETag": client.upload_part(**upload, PartNumber=1, Body=b"0123456789")["ETag"]}
        return client.complete_multipart_upload(**upload, MultipartUpload={"Parts": [part]}, **options)

    complete(ChecksumCRC32="phTnxg==", ChecksumType="FULL_OBJECT", MpuObjectSize=10)
    complete(ChecksumCRC32="AAAAAA==-1", ChecksumType="COMPOSITE")
    assert repo.branch("main").read("a") == b"0123456789"
    with pytest.raises(ClientError, match="have 10 bytes"):
        complete(MpuObjectSize=11)


def test_a_conditional_end_of_an_upload_can_be_repeated_and_another_upload_of_the_same_content_loses(
    client: Any, repo: Repository
) -> None:
    names = {"Bucket": repo.id, "Key": "main/a"}

    def begun() -> dict[str, Any]:
        upload = {**names, "UploadId": client.create_multipart_upload(**names)["UploadId"]}
        part = {"PartNumber": 1, "ETag": client.upload_part(**upload, PartNumber=1, Body=b"0123456789")["ETag"]}
        return {**upload, "MultipartUpload": {"Parts": [part]}, "IfNoneMatch": "*"}

    first, second = begun(), begun()
    answers = [client.complete_multipart_upload(**first)["ETag"] for _ in range(2)]
    assert answers[0] == answers[1]
    with pytest.raises(ClientError, match="PreconditionFailed"):
        client.complete_multipart_upload(**second)
    repo.branch("main").put("a", b"other")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        client.complete_multipart_upload(**first)


def test_a_copied_range_must_lie_within_its_source(client: Any, repo: Repository) -> None:
    repo.branch("main").put("source", b"01234")
    upload: dict[str, Any] = {"Bucket": repo.id, "Key": "main/a"}
    upload["UploadId"] = client.create_multipart_upload(**upload)["UploadId"]
    copy = {**upload, "PartNumber": 1, "CopySource": f"{repo.id}/main/source"}
    for wanted in ("bytes=0-0", "bytes=0-4", "bytes=2-"):
        client.upload_part_copy(**copy, CopySourceRange=wanted)
    refused = [(text, "InvalidArgument") for text in ("bytes=0-5", "bytes=3-2", "bytes=-2", "0-1", "bytes=0-1,3-4")]
    for wanted, said in (*refused, ("bytes=9-10", "InvalidRange"), ("bytes=5-", "InvalidRange")):
        with pytest.raises(ClientError, match=said):
            client.upload_part_copy(**copy, CopySourceRange=wanted)


def test_part_numbers_and_sub_resources(place: Place, client: Any, repo: Repository) -> None:
    object = {"Bucket": repo.id, "Key": "main/a"}
    client.put_object(**object, Body=b"0123")
    found = client.get_object(**object, PartNumber=1)
    assert (found["Body"].read(), found["ContentRange"]) == (b"0123", "bytes 0-3/4")
    assert client.head_object(**object, PartNumber=1)["ContentLength"] == 4
    with pytest.raises(ClientError, match="InvalidPartNumber"):
        client.get_object(**object, PartNumber=2)
    status, body, headers = sent(place, "GET", f"/{repo.id}/main/a", Range="bytes=4-")
    assert (status, code(body), headers["content-range"]) == (416, "InvalidRange", "bytes */4")
    status, body, _ = sent(place, "PUT", f"/{repo.id}/main/a?partNumber=1", b"part")
    assert (status, code(body)) == (400, "InvalidArgument")
    assert repo.branch("main").read("a") == b"0123"
    with pytest.raises(ClientError, match="NotImplemented"):
        client.put_bucket_versioning(Bucket=repo.id, VersioningConfiguration={"Status": "Enabled"})


def test_every_answer_has_the_id_of_the_log(place: Place, repo: Repository, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "graveler.request")
    for path, wanted in ((f"/{repo.id}/main/none", 404), (f"/{repo.id}", 200)):
        status, body, headers = sent(place, "GET", path)
        id = headers["x-request-id"]
        assert (status, headers["x-amz-request-id"]) == (wanted, id)
        assert (f"<RequestId>{id}</RequestId>" in body.decode()) == (wanted == 404)
        while id not in {record.__dict__.get("request_id") for record in caplog.records}:
            threading.Event().wait(0.01)  # the event comes after the answer
    with urllib.request.urlopen(f"{place.server.url}/metrics") as response:
        assert response.headers["x-request-id"]


def test_uploads_are_listed_with_a_delimiter(client: Any, repo: Repository) -> None:
    for key in ("main/a é", "main/d/1", "main/d/2", "main/e"):
        client.create_multipart_upload(Bucket=repo.id, Key=key)
    for size in (1, 2, 100):
        options = {"Bucket": repo.id, "Prefix": "main/", "Delimiter": "/", "EncodingType": "url"}
        pages = client.get_paginator("list_multipart_uploads").paginate(**options, PaginationConfig={"PageSize": size})
        found = [
            each.get("Key") or each["Prefix"]
            for page in pages
            for each in (*page.get("Uploads", ()), *page.get("CommonPrefixes", ()))
        ]
        assert sorted(found) == ["main/a%20%C3%A9", "main/d/", "main/e"]


@pytest.mark.parametrize("ref", [".hidden", "my%20dir", "main%40x", "main%0A", "a..b", ""])
def test_nothing_exists_below_a_ref_that_cannot_exist(place: Place, repo: Repository, ref: str) -> None:
    for key in (f"{ref}/x", f"{ref}/"):
        path = f"/{repo.id}/{key}"
        assert sent(place, "HEAD", path)[0] == 404, key
        status, said, _ = sent(place, "GET", path)
        assert (status, b"<Code>NoSuchKey</Code>" in said) == (404, True), said
    status, said, _ = sent(place, "PUT", f"/{repo.id}/main/a", x_amz_copy_source=f"{repo.id}/{ref or ' '}/x")
    assert (status, b"<Code>NoSuchKey</Code>" in said) == (404, True), said
