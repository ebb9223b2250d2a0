"""Signatures of version 2, with botocore's signers as the oracle: accepted only by a server that is told to."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.auth import HmacV1Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from pydantic import SecretStr

from graveler.server.authentication import SignedIn
from graveler.server.s3.refusals import S3Refusal
from graveler.server.s3.request import S3Request
from graveler.server.s3.signature_version_2 import read_signature_v2
from graveler.server.s3.signing_users import SigningUsers
from tests.graveler.server.conftest import Place
from tests.graveler.server.running import running_server
from tests.graveler.server.s3.clients import keys_of
from tests.unit.engine.world import FakeClock

ADA = SignedIn("ada", None)  # type: ignore[arg-type]
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


class SignerAt(HmacV1Auth):
    """botocore's signer, at a given time."""

    def _get_date(self) -> str:
        return "Wed, 25 Nov 2026 12:00:00 GMT"


def signed(method: str, url: str, headers: dict[str, str] | None = None) -> S3Request:
    request = AWSRequest(method, url, headers=headers or {})
    SignerAt(Credentials("key", "secret")).add_auth(request)
    parts = urlsplit(url)
    sent = [(name.encode(), str(value).encode()) for name, value in request.headers.items()]
    return S3Request.of(method, parts.path.encode(), parts.query.encode(), sent)


def users(now: datetime = NOW, *, version_2: bool = True) -> SigningUsers:
    clock = FakeClock()
    clock.time = now
    return SigningUsers(lambda id: (ADA, SecretStr("secret")), clock, version_2=version_2)


def refused(call: Callable[[], object]) -> tuple[str, int]:
    with pytest.raises(S3Refusal) as caught:
        call()
    return caught.value.code, caught.value.status


REQUESTS = [
    ("GET", "http://h/", {}),
    ("GET", "http://h/b/?location", {}),
    ("GET", "http://h/b/?prefix=main%2Fa&list-type=2", {}),
    (
        "PUT",
        "http://h/b/main/a%20b%2Bc/%C3%A4",
        {"Content-Type": "text/csv", "Content-MD5": "rL0Y20zC+Fzt72VPzMSk2A=="},
    ),
    ("PUT", "http://h/b/main/a?partNumber=2&uploadId=x", {"x-amz-meta-b": "two", "X-Amz-Meta-A": "one  more"}),
    ("POST", "http://h/b/?delete", {}),
    ("GET", "http://h/b/main/a?response-content-type=text/x", {}),
]


@pytest.mark.parametrize(("method", "url", "headers"), REQUESTS, ids=[f"{m} {u[8:]}" for m, u, _ in REQUESTS])
def test_what_botocore_signs_is_accepted(method: str, url: str, headers: dict[str, str]) -> None:
    request = signed(method, url, headers)
    assert users().user_of(request) == (ADA, None)
    assert refused(lambda: users(version_2=False).user_of(request)) == ("InvalidRequest", 400)


@pytest.mark.parametrize(
    "change",
    [
        lambda request: replace(request, method="DELETE"),
        lambda request: replace(request, raw_path="/b/main/other"),
        lambda request: replace(request, query=(("uploadId", "other"),)),
        lambda request: replace(request, query=(*request.query, ("acl", ""))),
        lambda request: replace(request, headers=(*request.headers, ("x-amz-copy-source", b"b/main/secret"))),
        lambda request: replace(request, headers=(*request.headers, ("content-md5", b"x"))),
    ],
    ids=["method", "path", "upload", "sub-resource", "amz header", "md5"],
)
def test_changed_requests_are_refused(change: Callable[[S3Request], S3Request]) -> None:
    request = signed("PUT", "http://h/b/main/a?uploadId=x", {"x-amz-meta-a": "1"})
    assert refused(lambda: users().user_of(change(request))) == ("SignatureDoesNotMatch", 403)


def test_times_and_forms() -> None:
    request = signed("GET", "http://h/b/main/a")
    for skew in (timedelta(minutes=16), timedelta(minutes=-16)):
        assert refused(lambda skew=skew: users(NOW + skew).user_of(request)) == ("RequestTimeTooSkewed", 403)  # type: ignore[misc]
    for value in (b"AWS key", b"AWS :x", b"AWS key:"):
        wrong = S3Request("GET", "/", headers=(("authorization", value), ("date", b"Wed, 25 Nov 2026 12:00:00 GMT")))
        assert refused(lambda wrong=wrong: read_signature_v2(wrong, "", NOW))[0] == "AuthorizationHeaderMalformed"  # type: ignore[misc]
    for date in (b"", b"yesterday", b"Wed, 99 Nov 2026 12:00:00 GMT"):
        wrong = S3Request("GET", "/", headers=(("authorization", b"AWS key:x"), ("date", date)))
        assert refused(lambda wrong=wrong: read_signature_v2(wrong, "", NOW)) == ("AccessDenied", 403)  # type: ignore[misc]
    both = replace(request, query=(("X-Amz-Signature", "0" * 64),))
    assert refused(lambda: users().user_of(both)) == ("InvalidArgument", 400)
    at = int(NOW.timestamp())
    for expires, code in ((at - 1, "AccessDenied"), (at + 604_801, "AuthorizationQueryParametersError")):
        query = (("AWSAccessKeyId", "key"), ("Signature", "x"), ("Expires", str(expires)))
        late = S3Request("GET", "/b/main/a", query)
        assert refused(lambda late=late: users().user_of(late))[0] == code  # type: ignore[misc]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root: Path = tmp_path_factory.mktemp("version-2")
    with running_server(f"sqlite:///{root / 'meta.db'}?durability=process", root.as_uri(), version_2=True) as running:
        yield Place(running, lambda: "")


@pytest.fixture
def client(place: Place) -> Iterator[Any]:
    config = Config(retries={"max_attempts": 0}, signature_version="s3")
    made = boto3.client(
        "s3", endpoint_url=place.server.url, region_name="us-east-1", config=config, **keys_of(place.server.admin)
    )
    yield made
    made.close()


def test_boto3_with_version_2(place: Place, client: Any) -> None:
    bucket, key = place.repository(), "main/dir/ä +%.txt"
    client.put_object(Bucket=bucket, Key=key, Body=b"content", Metadata={"k": "v"})
    assert client.get_object(Bucket=bucket, Key=key)["Body"].read() == b"content"
    assert client.head_object(Bucket=bucket, Key=key)["Metadata"] == {"k": "v"}
    assert [each["Key"] for each in client.list_objects_v2(Bucket=bucket, Prefix="main/")["Contents"]] == [key]
    url = client.generate_presigned_url("get_object", {"Bucket": bucket, "Key": key})
    assert "AWSAccessKeyId=" in url
    with urllib.request.urlopen(url) as response:
        assert response.read() == b"content"
    for changed in (url.replace("dir", "other"), url.replace("Expires=1", "Expires=2"), url + "&response-expires=x"):
        with pytest.raises(HTTPError) as wrong:
            urllib.request.urlopen(changed)
        with wrong.value:
            assert wrong.value.code in (400, 403)
    client.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key}]})
    with pytest.raises(ClientError, match="NoSuchKey"):
        client.get_object(Bucket=bucket, Key=key)
