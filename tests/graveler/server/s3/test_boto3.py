"""boto3, unchanged, on every operation of the gateway."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.client import HTTPConnection
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import (
    ClientError,
    FlexibleChecksumError,
    IncompleteReadError,
    ResponseStreamingError,
)

from graveler.server.content_response import SMALL_BYTES
from graveler.server.kept_md5 import ETAG_KEY
from graveler_core.errors import NotFound
from graveler_core.facade.repository import Repository
from tests.graveler.server.conftest import Place, put_damaged, put_without_object
from tests.graveler.server.running import S3_DOMAIN
from tests.graveler.server.s3.clients import BotoClients, boto_clients


@pytest.fixture
def boto(place: Place) -> Iterator[BotoClients]:
    with boto_clients(place) as clients:
        yield clients


@pytest.fixture
def client(boto: BotoClients) -> Any:
    return boto.open()


@pytest.fixture
def bucket(place: Place) -> str:
    return place.repository()


@pytest.fixture
def repo(place: Place, bucket: str) -> Repository:
    return place.server.graveler.repository(bucket)


def refused(call: Callable[[], object]) -> tuple[str, int]:
    with pytest.raises(ClientError) as caught:
        call()
    response = caught.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_a_bucket_may_have_the_name_of_the_metrics(place: Place, client: Any) -> None:
    repo = place.server.graveler.create_repository("metrics", f"{place.server.root}/metrics")
    repo.branch("main").put("a", b"x")
    shown = client.list_objects_v2(Bucket="metrics", Prefix="main/")["Contents"]
    assert [item["Key"] for item in shown] == ["main/a"]


def put(client: Any, bucket: str, *keys: str) -> None:
    for key in keys:
        client.put_object(Bucket=bucket, Key=key, Body=key.encode())


@pytest.mark.parametrize("checksum", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256", None])
def test_an_object_comes_back_as_it_was_put(client: Any, bucket: str, repo: Repository, checksum: str | None) -> None:
    body, key = os.urandom(70_000), "main/dir/ä +%&=?#~'()*!.txt"
    options = {} if checksum is None else {"ChecksumAlgorithm": checksum}
    if checksum in ("CRC32C", "CRC64NVME"):  # botocore computes them with a package of its own
        from graveler.server.s3.crc import Crc

        crc = Crc(32 if checksum == "CRC32C" else 64)
        crc.update(body)
        import base64

        options = {f"Checksum{checksum}": base64.b64encode(crc.digest()).decode()}
    made = client.put_object(
        Bucket=bucket,
        Key=key,
        Body=body,
        ContentType="text/csv",
        ContentEncoding="gzip",
        CacheControl="no-cache",
        Metadata={"Colour": "red", "two-words": "a  b", "town": "=?utf-8?q?K=C3=B6ln_=2F_?= =?utf-8?b?w5ZyZWJybw==?="},
        **options,
    )
    etag = f'"{hashlib.md5(body).hexdigest()}"'
    assert made["ETag"] == etag
    found = client.get_object(Bucket=bucket, Key=key)
    assert found["Body"].read() == body
    assert (found["ETag"], found["ContentType"], found["ContentEncoding"]) == (etag, "text/csv", "gzip")
    metadata = {"colour": "red", "two-words": "a  b", "town": "=?utf-8?q?K=C3=B6ln_/_=C3=96rebro?="}
    assert (found["Metadata"], found["CacheControl"]) == (metadata, "no-cache")
    assert repo.branch("main").get(key.removeprefix("main/")).metadata["X-Amz-Meta-town"] == "Köln / Örebro"
    client.put_object(Bucket=bucket, Key="main/long", Metadata={"a": f"=?utf-8?q?{'=C3=B6' * 30}?="})
    words = client.head_object(Bucket=bucket, Key="main/long")["Metadata"]["a"].split(" ")
    assert words == [f"=?utf-8?q?{'=C3=B6' * 10}?="] * 3
    assert client.head_object(Bucket=bucket, Key=key)["ContentLength"] == len(body)
    assert client.get_object(Bucket=bucket, Key=key, Range="bytes=10-19")["Body"].read() == body[10:20]
    assert repo.branch("main").read(key.removeprefix("main/")) == body
    shown = client.list_objects_v2(Bucket=bucket, Prefix="main/dir/")["Contents"]
    assert [(item["Key"], item["ETag"], item["Size"]) for item in shown] == [(key, etag, len(body))]


def test_limits_have_the_codes_of_s3(client: Any, bucket: str) -> None:
    assert refused(lambda: put(client, bucket, "main/" + "p" * 1_001)) == ("KeyTooLongError", 400)
    put(client, bucket, "main/" + "p" * 1_000)


def test_the_root_of_a_bucket_shows_refs_and_each_ref_its_entries(client: Any, bucket: str, repo: Repository) -> None:
    put(client, bucket, "main/a", "main/d/1", "main/d/2", "main/e/f/3", "main/z")
    repo.branch("main").commit("x")
    repo.create_tag("v1", "main")
    repo.create_branch("dev", "main")
    client.delete_object(Bucket=bucket, Key="dev/a")
    for options in ({}, {"Delimiter": "/"}):
        found = client.list_objects_v2(Bucket=bucket, **options)
        assert [each["Prefix"] for each in found["CommonPrefixes"]] == ["dev/", "main/", "v1/"]
        assert "Contents" not in found
    assert [p["Prefix"] for p in client.list_objects(Bucket=bucket, Prefix="m")["CommonPrefixes"]] == ["main/"]
    rest = client.list_objects_v2(Bucket=bucket, StartAfter="main/")["CommonPrefixes"]
    assert [each["Prefix"] for each in rest] == ["v1/"]
    for ref, first in (("v1", "a"), ("main", "a"), ("main~0", "a"), ("dev", "d/1")):
        keys = [item["Key"] for item in client.list_objects_v2(Bucket=bucket, Prefix=f"{ref}/")["Contents"]]
        assert keys[0] == f"{ref}/{first}"
        assert keys[-1] == f"{ref}/z"
    level = client.list_objects_v2(Bucket=bucket, Prefix="main/", Delimiter="/")
    assert [item["Key"] for item in level["Contents"]] == ["main/a", "main/z"]
    assert [item["Prefix"] for item in level["CommonPrefixes"]] == ["main/d/", "main/e/"]
    assert "Contents" not in client.list_objects_v2(Bucket=bucket, Prefix="nowhere/")
    assert (
        client.list_objects_v2(Bucket=bucket, Prefix="main/", StartAfter="main/d/2")["Contents"][0]["Key"]
        == "main/e/f/3"
    )
    for after, prefixes in (("main/d/1", ["main/d/", "main/e/"]), ("main/d/2", ["main/e/"]), ("main/d/", ["main/e/"])):
        rest = client.list_objects_v2(Bucket=bucket, Prefix="main/", Delimiter="/", StartAfter=after)
        assert [item["Prefix"] for item in rest["CommonPrefixes"]] == prefixes
    assert "Contents" not in client.list_objects_v2(Bucket=bucket, Prefix="main/", StartAfter="zebra")
    assert client.list_objects_v2(Bucket=bucket, Prefix="main/", StartAfter="a")["KeyCount"] == 5
    assert client.list_objects_v2(Bucket=bucket, Prefix="main/", MaxKeys=0)["KeyCount"] == 0


@pytest.mark.parametrize("name", ["list_objects_v2", "list_objects"])
def test_pages_hold_everything_once(client: Any, bucket: str, name: str) -> None:
    put(client, bucket, *(f"main/p/{n:02}" for n in range(7)), "main/q/x", "main/r")
    for options, expected in (({}, 9), ({"Delimiter": "/"}, 3)):
        pages = client.get_paginator(name).paginate(
            Bucket=bucket, Prefix="main/", PaginationConfig={"PageSize": 2}, **options
        )
        keys = [
            item.get("Key") or item.get("Prefix")
            for page in pages
            for item in (*page.get("Contents", ()), *page.get("CommonPrefixes", ()))
        ]
        assert len(keys) == len(set(keys)) == expected


def test_buckets(place: Place, client: Any, bucket: str) -> None:
    other = place.repository()
    assert {bucket, other} <= {each["Name"] for each in client.list_buckets()["Buckets"]}
    pages = client.get_paginator("list_buckets").paginate(PaginationConfig={"PageSize": 1})
    names = [each["Name"] for page in pages for each in page["Buckets"]]
    assert names == sorted(set(names))
    assert {bucket, other} <= set(names)
    assert client.head_bucket(Bucket=bucket)["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert client.get_bucket_location(Bucket=bucket)["LocationConstraint"] is None
    assert "Status" not in client.get_bucket_versioning(Bucket=bucket)
    assert refused(lambda: client.head_bucket(Bucket="nothing-here")) == ("404", 404)
    assert refused(lambda: client.list_objects_v2(Bucket="nothing-here")) == ("NoSuchBucket", 404)
    assert refused(lambda: client.create_bucket(Bucket="nothing-here")) == ("NotImplemented", 501)
    assert refused(lambda: client.create_bucket(Bucket=bucket)) == ("BucketAlreadyExists", 409)
    assert refused(lambda: client.delete_bucket(Bucket=bucket)) == ("MethodNotAllowed", 405)
    assert refused(lambda: client.get_bucket_policy(Bucket=bucket)) == ("NotImplemented", 501)


def test_damaged_content_is_found(boto: BotoClients, client: Any, bucket: str, repo: Repository) -> None:
    """By the server, or by a client that asks for the checksum."""
    put_damaged(repo.branch("main"), "large", SMALL_BYTES + 1)
    names = {"Bucket": bucket, "Key": "main/large"}
    with pytest.raises(FlexibleChecksumError):
        client.get_object(**names)["Body"].read()
    with pytest.raises((IncompleteReadError, ResponseStreamingError)):
        boto.open(response_checksum_validation="when_required").get_object(**names)["Body"].read()


@pytest.mark.parametrize("options", [{}, {"Range": "bytes=0-"}])
def test_content_that_cannot_be_read_is_an_error_from_the_beginning(
    client: Any, bucket: str, repo: Repository, options: dict[str, str]
) -> None:
    put_without_object(repo.branch("main"), "large", SMALL_BYTES + 1)
    found = refused(lambda: client.get_object(Bucket=bucket, Key="main/large", **options))
    assert found == ("NoSuchVersion", 404)


def test_a_write_to_a_protected_branch_is_refused_before_its_body_is_sent(
    client: Any, bucket: str, repo: Repository
) -> None:
    client.list_objects_v2(Bucket=bucket, Prefix="main/")  # now the branch is cached
    repo.protect("main")
    url = urlsplit(client.generate_presigned_url("put_object", {"Bucket": bucket, "Key": "main/a"}))
    connection = HTTPConnection(url.hostname, url.port, timeout=30)
    connection.putrequest("PUT", f"{url.path}?{url.query}")
    connection.putheader("Content-Length", str(1 << 30))
    connection.endheaders()
    response = connection.getresponse()
    assert (response.status, b"<Code>AccessDenied</Code>" in response.read()) == (403, True)
    connection.close()
    assert refused(lambda: client.put_object(Bucket=bucket, Key="main/a", Body=b"x" * 100_000)) == ("AccessDenied", 403)


def test_conditions_of_reads(client: Any, bucket: str) -> None:
    put(client, bucket, "main/a")
    head = client.head_object(Bucket=bucket, Key="main/a")
    etag, time = head["ETag"], head["LastModified"]
    get = lambda **options: lambda: client.get_object(Bucket=bucket, Key="main/a", **options)  # noqa: E731
    assert get(IfMatch=etag)()["Body"].read() == b"main/a"
    assert refused(get(IfMatch='"other"')) == ("PreconditionFailed", 412)
    assert refused(get(IfNoneMatch=etag)) == ("304", 304)
    assert refused(get(IfModifiedSince=time)) == ("304", 304)
    assert get(IfUnmodifiedSince=time)()["Body"].read() == b"main/a"
    assert refused(get(Range="bytes=100-")) == ("InvalidRange", 416)
    shown = get(ResponseContentType="text/x-y", ResponseContentDisposition="attachment")()
    assert (shown["ContentType"], shown["ContentDisposition"]) == ("text/x-y", "attachment")
    assert shown["Body"].read() == b"main/a"  # the connection is free again
    assert refused(lambda: client.get_object(Bucket=bucket, Key="main/none")) == ("NoSuchKey", 404)
    assert refused(lambda: client.get_object(Bucket=bucket, Key="nowhere/a")) == ("NoSuchKey", 404)
    assert refused(lambda: client.head_object(Bucket=bucket, Key="main")) == ("404", 404)


def test_a_download_is_resumed_only_in_the_same_version(client: Any, bucket: str) -> None:
    object = {"Bucket": bucket, "Key": "main/a"}
    etag = client.put_object(**object, Body=b"0123")["ETag"]

    def resumed() -> bytes:
        name = "before-sign.s3.GetObject"
        condition = lambda request, **_: request.headers.add_header("If-Range", etag)  # noqa: E731
        client.meta.events.register(name, condition)
        try:
            return bytes(client.get_object(**object, Range="bytes=2-")["Body"].read())
        finally:
            client.meta.events.unregister(name, condition)

    assert resumed() == b"23"
    client.put_object(**object, Body=b"4567")
    assert resumed() == b"4567"


def test_conditions_of_writes(client: Any, bucket: str) -> None:
    write = lambda body, **options: lambda: client.put_object(Bucket=bucket, Key="main/c", Body=body, **options)  # noqa: E731
    first = write(b"1", IfNoneMatch="*")()
    assert refused(write(b"2", IfNoneMatch="*")) == ("PreconditionFailed", 412)
    assert refused(write(b"2", IfMatch='"other"')) == ("PreconditionFailed", 412)
    write(b"2", IfMatch=first["ETag"])()
    assert refused(write(b"3", IfMatch=first["ETag"])) == ("PreconditionFailed", 412)
    assert client.get_object(Bucket=bucket, Key="main/c")["Body"].read() == b"2"


def test_wrong_digests_store_nothing(client: Any, bucket: str, repo: Repository) -> None:
    wrong = {"ContentMD5": "AAAAAAAAAAAAAAAAAAAAAA==", "ChecksumSHA256": "A" * 43 + "=", "ChecksumCRC32": "AAAAAA=="}
    for name, value in wrong.items():
        code = refused(
            lambda name=name, value=value: client.put_object(Bucket=bucket, Key="main/x", Body=b"x", **{name: value})
        )
        assert code == ("BadDigest", 400)
    malformed = lambda: client.put_object(Bucket=bucket, Key="main/x", Body=b"x", ContentMD5="no")  # noqa: E731
    assert refused(malformed) == ("InvalidDigest", 400)
    assert not [*repo.branch("main").list()]


def test_copies(place: Place, client: Any, bucket: str, repo: Repository) -> None:
    client.put_object(Bucket=bucket, Key="main/a é", Body=b"one", Metadata={"k": "v"}, ContentType="text/x")
    etag = client.copy_object(Bucket=bucket, Key="main/b", CopySource={"Bucket": bucket, "Key": "main/a é"})
    entries = {entry.path: entry for entry in repo.branch("main").list()}
    assert entries["a é"].address == entries["b"].address  # no bytes are copied
    assert client.head_object(Bucket=bucket, Key="main/b")["Metadata"] == {"k": "v"}
    assert etag["CopyObjectResult"]["ETag"] == client.head_object(Bucket=bucket, Key="main/a é")["ETag"]
    client.copy_object(
        Bucket=bucket,
        Key="main/b",
        CopySource=f"{bucket}/main/b",
        MetadataDirective="REPLACE",
        Metadata={"n": "w"},
        ContentType="text/y",
    )
    head = client.head_object(Bucket=bucket, Key="main/b")
    assert (head["Metadata"], head["ContentType"]) == ({"n": "w"}, "text/y")
    other = place.repository()
    client.copy_object(Bucket=other, Key="main/c", CopySource=f"{bucket}/main/b")
    assert client.get_object(Bucket=other, Key="main/c")["Body"].read() == b"one"
    large = os.urandom(24 << 20)
    repo.branch("main").put("large", large)
    client.copy_object(Bucket=other, Key="main/large", CopySource=f"{bucket}/main/large")
    assert place.server.graveler.repository(other).branch("main").read("large") == large
    copy = lambda source: lambda: client.copy_object(Bucket=bucket, Key="main/x", CopySource=source)  # noqa: E731
    assert refused(copy(f"{bucket}/main/none")) == ("NoSuchKey", 404)
    assert refused(copy("nothing-here/main/a")) == ("NoSuchBucket", 404)
    assert refused(copy(f"{bucket}/main")) == ("InvalidArgument", 400)
    assert refused(copy({"Bucket": bucket, "Key": "main/b", "VersionId": "1"})) == ("NotImplemented", 501)
    copy({"Bucket": bucket, "Key": "main/b", "VersionId": "null"})()


def test_deletions(client: Any, bucket: str, repo: Repository) -> None:
    put(client, bucket, "main/a", "main/b", "main/c")
    client.delete_object(Bucket=bucket, Key="main/a")
    client.delete_object(Bucket=bucket, Key="main/a")
    wanted = [{"Key": key} for key in ("main/b", "main/none", "nowhere/x", "main/", "main/d\u00e9&<>")]
    assert len(client.delete_objects(Bucket=bucket, Delete={"Objects": wanted})["Deleted"]) == 5
    assert "Deleted" not in client.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "main/c"}], "Quiet": True})
    assert not [*repo.branch("main").list()]
    many = [{"Key": f"main/{n}"} for n in range(1_001)]
    assert refused(lambda: client.delete_objects(Bucket=bucket, Delete={"Objects": many})) == ("MalformedXML", 400)


def test_an_upload_in_parts(client: Any, bucket: str, repo: Repository) -> None:
    data = os.urandom((24 << 20) + 1)  # more than what is read before the object store asks for it
    client.upload_fileobj(
        io.BytesIO(data), bucket, "main/big", ExtraArgs={"Metadata": {"k": "v"}, "ContentType": "x/y"}
    )
    head = client.head_object(Bucket=bucket, Key="main/big")
    assert head["ETag"].endswith('-4"')
    assert (head["Metadata"], head["ContentType"], head["ContentLength"]) == ({"k": "v"}, "x/y", len(data))
    found = io.BytesIO()
    client.download_fileobj(bucket, "main/big", found)
    assert found.getvalue() == data
    assert not repo.multipart_uploads()


def test_the_steps_of_an_upload_in_parts(place: Place, client: Any, bucket: str, repo: Repository) -> None:
    put(client, bucket, "main/source")
    names = {"Bucket": bucket, "Key": "main/m"}
    upload = {**names, "UploadId": client.create_multipart_upload(**names)["UploadId"]}
    one = client.upload_part(**upload, PartNumber=1, Body=b"one ")
    two = client.upload_part_copy(
        **upload, PartNumber=2, CopySource=f"{bucket}/main/source", CopySourceRange="bytes=5-10"
    )
    parts = client.list_parts(**upload, MaxParts=1)
    assert ([p["PartNumber"] for p in parts["Parts"]], parts["IsTruncated"]) == ([1], True)
    rest = client.list_parts(**upload, PartNumberMarker=parts["NextPartNumberMarker"])["Parts"]
    assert [(part["PartNumber"], part["Size"]) for part in rest] == [(2, 6)]
    listed = client.list_multipart_uploads(Bucket=bucket)["Uploads"]
    assert [(each["Key"], each["UploadId"]) for each in listed] == [("main/m", upload["UploadId"])]
    assert not [each for each in repo.branch("main").list() if each.path == "m"]
    chosen = [{"PartNumber": 1, "ETag": one["ETag"]}, {"PartNumber": 2, "ETag": two["CopyPartResult"]["ETag"]}]
    complete = lambda parts: lambda: client.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})  # noqa: E731
    assert refused(complete([])) == ("MalformedXML", 400)
    assert refused(complete(chosen[::-1])) == ("InvalidPartOrder", 400)
    assert refused(complete([{"PartNumber": 1, "ETag": '"0"'}])) == ("InvalidPart", 400)
    answers = [complete(chosen)() for _ in range(2)]  # a client that waited too long repeats the request
    assert answers[0]["ETag"] == answers[1]["ETag"] == client.head_object(**names)["ETag"]
    assert client.get_object(**names)["Body"].read() == b"one source"
    put(client, bucket, "main/m")
    assert refused(complete(chosen)) == ("NoSuchUpload", 404)
    upload["UploadId"] = client.create_multipart_upload(**names)["UploadId"]
    client.upload_part(**upload, PartNumber=1, Body=b"x")
    client.abort_multipart_upload(**upload)
    assert refused(lambda: client.upload_part(**upload, PartNumber=1, Body=b"x")) == ("NoSuchUpload", 404)
    assert refused(lambda: client.list_parts(**{**upload, "UploadId": "../x"})) == ("NoSuchUpload", 404)
    assert "Uploads" not in client.list_multipart_uploads(Bucket=bucket)
    assert refused(lambda: client.upload_part(**upload, PartNumber=10_001, Body=b"x"))[1] == 400


def test_presigned_urls(place: Place, client: Any, bucket: str) -> None:
    def opened(url: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
        try:
            request = urllib.request.Request(url, b"new" if method == "PUT" else None, headers, method=method)
            with urllib.request.urlopen(request) as response:
                return response.status, response.read()
        except HTTPError as error:
            with error:
                return error.code, error.read()

    put(client, bucket, "main/a b", "main/secret")
    names = {"Bucket": bucket, "Key": "main/a b"}
    read, write = (client.generate_presigned_url(name, names) for name in ("get_object", "put_object"))
    assert opened(read) == (200, b"main/a b")
    assert opened(read, Authorization="Basic eDp5") == (200, b"main/a b")  # the signature decides
    assert opened(read, "PUT")[0] == 403
    assert opened(read.replace("a%20b", "secret"))[0] == 403
    assert opened(read + "&response-content-type=text/html")[0] == 403
    assert opened(write, "PUT", **{"x-amz-copy-source": f"{bucket}/main/secret"})[0] == 403
    assert opened(write, "PUT", **{"x-amz-meta-k": "v"})[0] == 403
    assert opened(write, "PUT")[0] == 200
    assert client.get_object(**names)["Body"].read() == b"new"
    assert opened(client.generate_presigned_url("get_object", names, ExpiresIn=604_801))[0] == 400


class _SignedDigest(S3SigV4QueryAuth):
    """Signer of URLs that name the digest of the body in the query."""

    def payload(self, request: AWSRequest) -> str:
        return parse_qs(urlsplit(request.url).query)["X-Amz-Content-Sha256"][0]


def test_the_digest_in_a_presigned_url_is_verified(place: Place, bucket: str, repo: Repository) -> None:
    admin = place.server.admin
    signer = _SignedDigest(
        Credentials(str(admin.access_key_id), admin.secret.get_secret_value()), "s3", "us-east-1", expires=60
    )

    def status(payload: str, body: bytes) -> int:
        url = f"{place.server.url}/{bucket}/main/a?X-Amz-Content-Sha256={quote(payload)}"
        request = AWSRequest("PUT", url)
        signer.add_auth(request)
        try:
            with urllib.request.urlopen(urllib.request.Request(request.url, body, method="PUT")) as response:
                return int(response.status)
        except HTTPError as error:
            with error:
                return error.code

    digest = hashlib.sha256(b"right").hexdigest()
    assert status(digest, b"wrong") == 400
    assert status("STREAMING-UNSIGNED-PAYLOAD-TRAILER", b"no chunks") == 400
    assert status("é", b"right") == 400
    assert not [*repo.branch("main").list()]
    assert status(digest, b"right") == 200
    assert status("UNSIGNED-PAYLOAD", b"any") == 200


def test_buckets_as_subdomains(place: Place, boto: BotoClients, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo

    def to_this_machine(host: Any, *arguments: Any, **options: Any) -> Any:
        return resolve("127.0.0.1" if str(host).endswith(S3_DOMAIN) else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", to_this_machine)
    address = place.server.url.replace("127.0.0.1", S3_DOMAIN)
    client = boto.open(s3={"addressing_style": "virtual"}, url=address)
    put(client, bucket, "main/a")
    assert client.get_object(Bucket=bucket, Key="main/a")["Body"].read() == b"main/a"
    assert bucket in {each["Name"] for each in client.list_buckets()["Buckets"]}


def test_permissions_are_those_of_the_signer(place: Place, boto: BotoClients, bucket: str) -> None:
    iam, name = place.server.graveler.iam, f"reader-{bucket}"
    iam.create_user(name)
    iam.add_member("Viewers", name)
    made = iam.create_credential(name, secrets_keys=place.server.secrets_keys)
    put(boto.open(), bucket, "main/a")
    client = boto.open(made)
    assert client.get_object(Bucket=bucket, Key="main/a")["Body"].read() == b"main/a"
    assert refused(lambda: put(client, bucket, "main/b")) == ("AccessDenied", 403)
    assert refused(lambda: client.create_multipart_upload(Bucket=bucket, Key="main/b")) == ("AccessDenied", 403)
    copy = lambda: client.copy_object(Bucket=bucket, Key="main/b", CopySource=f"{bucket}/main/a")  # noqa: E731
    assert refused(copy) == ("AccessDenied", 403)
    errors = client.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "main/a"}]})["Errors"]
    assert [(each["Key"], each["Code"]) for each in errors] == [("main/a", "AccessDenied")]
    iam.remove_member("Viewers", name)
    nobody = iam.create_credential(name, secrets_keys=place.server.secrets_keys)
    client = boto.open(nobody)
    assert refused(lambda: client.get_object(Bucket=bucket, Key="main/a")) == ("AccessDenied", 403)
    assert refused(client.list_buckets) == ("AccessDenied", 403)


def test_access_keys_that_cannot_sign_are_told_what_helps(place: Place, boto: BotoClients, bucket: str) -> None:
    iam, name = place.server.graveler.iam, f"hashed-{bucket}"
    iam.create_user(name)
    hashed = iam.create_credential(name)
    with pytest.raises(ClientError, match="iam credential create --s3") as caught:
        boto.open(hashed).list_buckets()
    assert caught.value.response["Error"]["Code"] == "InvalidAccessKeyId"
    with pytest.raises(ClientError, match="does not exist"):
        boto.open(hashed.__class__("0" * 32, "x", hashed.creation_date, hashed.secret)).list_buckets()  # type: ignore[arg-type]
    kept = iam.create_credential(name, secrets_keys=place.server.secrets_keys)
    wrong = kept.__class__(kept.access_key_id, kept.user, kept.creation_date, hashed.secret)
    assert refused(boto.open(wrong).list_buckets) == ("SignatureDoesNotMatch", 403)
    other = f"deleted-{bucket}"
    iam.create_user(other)
    unused = iam.create_credential(other, secrets_keys=place.server.secrets_keys)
    iam.delete_user(other)
    assert refused(boto.open(unused).list_buckets) == ("InvalidAccessKeyId", 403)


def test_content_of_other_writers_has_etags_that_no_client_takes_for_an_md5(
    client: Any, bucket: str, repo: Repository
) -> None:
    branch = repo.branch("main")
    entry = branch.put("a", b"library")
    etag = client.head_object(Bucket=bucket, Key="main/a")["ETag"]
    assert etag == f'"{(entry.checksum or "").removeprefix("sha256:")[:32]}-1"'
    put(client, bucket, "main/b")
    kept = branch.get("b")
    branch.put("b", b"other content", metadata=kept.metadata)  # metadata of somebody else's content
    assert client.head_object(Bucket=bucket, Key="main/b")["ETag"].endswith('-1"')


def test_a_kept_etag_that_no_header_can_hold_is_not_shown(client: Any, bucket: str, repo: Repository) -> None:
    branch = repo.branch("main")
    entry = branch.put("a", b"content")
    branch.stage("a", replace(entry, metadata={ETAG_KEY: f"\n {entry.checksum}"}, identity=b""))
    assert client.get_object(Bucket=bucket, Key="main/a")["ETag"].endswith('-1"')


def test_directory_markers_and_refused_keys(client: Any, bucket: str, repo: Repository) -> None:
    client.put_object(Bucket=bucket, Key="main/dir/", Body=b"")
    client.put_object(Bucket=bucket, Key="main/", Body=b"")
    client.head_object(Bucket=bucket, Key="main/")
    assert not [*repo.branch("main").list()]
    for key in ("main/../x", "main//x", "main/a\\b", "main/./x", "main/dir/", "main"):
        assert refused(lambda key=key: put(client, bucket, key)) == ("InvalidArgument", 400), key
    repo.branch("main").put("kept/", b"", metadata={"client": "of lakeFS"})
    assert client.head_object(Bucket=bucket, Key="main/kept/")["ContentLength"] == 0
    assert [item["Key"] for item in client.list_objects_v2(Bucket=bucket, Prefix="main/kept/")["Contents"]] == [
        "main/kept/"
    ]
    client.delete_object(Bucket=bucket, Key="main/kept/")
    assert not [*repo.branch("main").list()]
    tags = {"TagSet": [{"Key": "k", "Value": "v"}]}
    tagging = refused(lambda: client.put_object_tagging(Bucket=bucket, Key="main/a", Tagging=tags))
    assert tagging == ("ERRLakeFSNotSupported", 405)
    repo.set_read_only(True)
    for key in ("main/x", "main//x"):
        assert refused(lambda key=key: put(client, bucket, key)) == ("AccessDenied", 403), key
    assert refused(lambda: client.put_object(Bucket=bucket, Key="main/dir/", Body=b"")) == ("AccessDenied", 403)
    repo.set_read_only(False)
    assert refused(lambda: put(client, bucket, "nowhere/x"))[1] == 404
    repo.protect("main")
    assert refused(lambda: put(client, bucket, "main/x")) == ("AccessDenied", 403)
    with pytest.raises(NotFound):
        repo.branch("main").get("x")
