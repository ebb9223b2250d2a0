"""Limits of the gateway: requests and uploads beyond them are told to slow down, and large bodies are refused early."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from graveler.server.limits import RequestLimits
from graveler.server.s3.refusals import S3Refusal
from graveler.server.s3.request import S3Request
from graveler.server.s3.upload_body import MAX_UPLOAD_BYTES, UploadBody
from graveler.server.s3.xml import parse
from graveler_core.model.entry import AddressType, Entry
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http, header_of, user_who_may
from tests.graveler.server.running import running_server
from tests.graveler.server.s3.clients import BotoClients, boto_clients

NOW = [0.0]
LIMITS = RequestLimits(5, 1, lambda: NOW[0])


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root: Path = tmp_path_factory.mktemp("limited")
    store = f"sqlite:///{root / 'meta.db'}?durability=process"
    with running_server(store, root.as_uri(), limits=LIMITS) as running:
        yield Place(running, lambda: "")


@pytest.fixture
def boto(limited: Place) -> Iterator[BotoClients]:
    NOW[0] += 100
    with boto_clients(limited) as clients:
        yield clients


def slowed(error: ClientError) -> tuple[str, int, str]:
    answer = error.response
    headers = answer["ResponseMetadata"]["HTTPHeaders"]
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"], headers["retry-after"]


def test_requests_beyond_the_rate_are_told_to_slow_down(limited: Place, boto: BotoClients) -> None:
    client = boto.open()
    for _ in range(5):
        client.list_buckets()
    with pytest.raises(ClientError) as refused:
        client.list_buckets()
    assert slowed(refused.value) == ("SlowDown", 503, "1")
    NOW[0] += 1
    client.list_buckets()


def test_uploads_beyond_the_limit_are_told_to_slow_down(limited: Place, boto: BotoClients) -> None:
    bucket, client = limited.repository(), boto.open()
    with LIMITS.uploading():
        for put in (
            lambda: client.put_object(Bucket=bucket, Key="main/a", Body=b"x"),
            lambda: client.upload_part(Bucket=bucket, Key="main/a", UploadId="u", PartNumber=1, Body=b"x"),
        ):
            with pytest.raises(ClientError) as refused:
                put()
            assert slowed(refused.value) == ("SlowDown", 503, "1")
        assert "Contents" not in client.list_objects_v2(Bucket=bucket, Prefix="main/")  # reads go on
    client.put_object(Bucket=bucket, Key="main/a", Body=b"x")


def test_copies_beyond_the_limit_are_told_to_slow_down(
    limited: Place, boto: BotoClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, client, http = limited.repository(), boto.open(), Http(limited)
    monkeypatch.setattr(LIMITS.copy_threads, "_most", 0)
    parts = {"Parts": [{"PartNumber": 1, "ETag": "x"}]}
    with pytest.raises(ClientError) as refused:
        client.complete_multipart_upload(Bucket=bucket, Key="main/a", UploadId="u", MultipartUpload=parts)
    assert slowed(refused.value) == ("SlowDown", 503, "1")
    body = json.dumps({"physical_address": "x", "parts": [{"part_number": 1, "etag": "x"}]}).encode()
    upload = f"/repositories/{bucket}/branches/main/staging/pmpu/u"
    copy = {"physical_address": "x", "copy_source": {"repository": bucket, "ref": "main", "path": "a"}}
    for path, sent in ((upload, body), (f"{upload}/parts/1/copy", json.dumps(copy).encode())):
        status, said, headers = http.send("PUT", f"{path}?path=a", sent, {"Content-Type": "application/json"})
        assert (status, headers["retry-after"]) == (503, "1")
        assert "already; try again" in json.loads(said)["message"]


def test_only_copies_of_content_count_among_the_copies(limited: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    name, http = limited.repository(), Http(limited)
    main = limited.server.graveler.repository(name).branch("main")
    main.put("own", b"x" * 100_000)
    main.stage(
        "imported", Entry(address=f"{limited.server.root}/x", address_type=AddressType.FULL, size=1, checksum="x")
    )
    actions = ("fs:ReadRepository", "fs:ReadBranch", "fs:ReadCommit", "fs:ReadObject", "fs:WriteObject")
    headers = {"Content-Type": "application/json", **header_of(user_who_may(limited, *actions))}
    monkeypatch.setattr(LIMITS.copy_threads, "_most", 0)
    for path, status in (("own", 201), ("imported", 503)):
        body = json.dumps({"src_path": path}).encode()
        address = f"/repositories/{name}/branches/main/objects/copy?dest_path=copy"
        assert http.send("POST", address, body, headers)[0] == status


def test_a_body_that_is_too_large_is_refused_before_it_is_sent() -> None:
    def never() -> Iterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    chunked = {
        "x-amz-content-sha256": b"STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "x-amz-decoded-content-length": str(MAX_UPLOAD_BYTES + 1).encode(),
    }
    for headers in ({"content-length": str(MAX_UPLOAD_BYTES + 1).encode()}, chunked):
        request = S3Request("PUT", "/b/main/a", headers=tuple(headers.items()), stream=never())
        with pytest.raises(S3Refusal) as refused:
            UploadBody(request, None)
        assert (refused.value.code, refused.value.status) == ("EntityTooLarge", 400)
    UploadBody(S3Request("PUT", "/b/main/a", headers=(("content-length", str(MAX_UPLOAD_BYTES).encode()),)), None)


LAUGHS = "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 10))


@pytest.mark.parametrize(
    "document",
    [
        f"<!DOCTYPE Delete [<!ENTITY l0 'ha'>{LAUGHS}]><Delete>&l9;</Delete>",
        "<!DOCTYPE Delete SYSTEM 'http://127.0.0.1:1/x.dtd'><Delete/>",
        "<!DOCTYPE Delete [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><Delete><Object><Key>&x;</Key></Object></Delete>",
        "<!DOCTYPE Delete [<!ENTITY % x SYSTEM 'http://127.0.0.1:1/x'> %x;]><Delete/>",
        "<Delete>" * 100_000,
        "<Delete>" + "<Object/>" * 1_000_000 + "</Delete>",
        "<Delete>&undefined;</Delete>",
        "<Other/>",
        "",
    ],
    ids=["laughs", "external type", "file", "parameter entity", "deep", "wide", "undefined", "other root", "empty"],
)
def test_documents_that_attack_the_parser_are_refused(document: str) -> None:
    with pytest.raises(S3Refusal) as refused:
        parse(document.encode(), "Delete")
    assert (refused.value.code, refused.value.status) == ("MalformedXML", 400)
