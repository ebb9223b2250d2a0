"""Signatures: the published examples of AWS, and botocore's signer as the oracle. What is changed after the signature
is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlsplit

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from graveler.server.authentication import SignedIn
from graveler.server.s3.canonical_request import canonical_request, digest_of
from graveler.server.s3.refusals import S3Refusal
from graveler.server.s3.request import S3Request
from graveler.server.s3.signature import (
    MAX_SKEW,
    RequestSignature,
    carries_signature,
    read_signature,
    sign,
    signing_key,
)
from graveler.server.s3.signing_users import SigningUsers
from graveler_core.errors import PermissionDenied
from tests.unit.engine.world import FakeClock, SuspendedClock

EXAMPLE_KEY, EXAMPLE_SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
EXAMPLE_TIME = datetime(2013, 5, 24, tzinfo=UTC)
NOTHING = hashlib.sha256(b"").hexdigest()


def example(method: str, path: bytes, query: bytes, headers: dict[str, str], signature: str) -> S3Request:
    signed = sorted({"host", "x-amz-date", *headers})
    sent = {"host": "examplebucket.s3.amazonaws.com", "x-amz-date": "20130524T000000Z", **headers}
    sent["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={EXAMPLE_KEY}/20130524/us-east-1/s3/aws4_request,"
        f"SignedHeaders={';'.join(signed)},Signature={signature}"
    )
    return S3Request.of(method, path, query, [(k.encode(), v.encode()) for k, v in sent.items()])


EXAMPLES = {
    "get an object": example(
        "GET",
        b"/test.txt",
        b"",
        {"range": "bytes=0-9", "x-amz-content-sha256": NOTHING},
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    ),
    "put an object": example(
        "PUT",
        b"/test%24file.text",
        b"",
        {
            "date": "Fri, 24 May 2013 00:00:00 GMT",
            "x-amz-content-sha256": "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
            "x-amz-storage-class": "REDUCED_REDUNDANCY",
        },
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    ),
    "get the lifecycle": example(
        "GET",
        b"/",
        b"lifecycle",
        {"x-amz-content-sha256": NOTHING},
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    ),
    "list objects": example(
        "GET",
        b"/",
        b"max-keys=2&prefix=J",
        {"x-amz-content-sha256": NOTHING},
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    ),
}
PRESIGNED = S3Request.of(
    "GET",
    b"/test.txt",
    b"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
    b"&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
    b"&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
    [(b"host", b"examplebucket.s3.amazonaws.com")],
)


def verify(request: S3Request, now: datetime = EXAMPLE_TIME, secret: str = EXAMPLE_SECRET) -> RequestSignature:
    found = read_signature(request, now)
    found.verify(request, signing_key(secret, found.date, found.region))
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_published_examples_verify(name: str) -> None:
    assert verify(EXAMPLES[name]).access_key_id == EXAMPLE_KEY
    with pytest.raises(S3Refusal) as caught:
        verify(EXAMPLES[name], secret="other")
    assert caught.value.code == "SignatureDoesNotMatch"


def test_the_published_canonical_request() -> None:
    request = EXAMPLES["get an object"]
    names = ("host", "range", "x-amz-content-sha256", "x-amz-date")
    text = canonical_request(request, names, NOTHING).decode()
    assert text == (
        "GET\n/test.txt\n\nhost:examplebucket.s3.amazonaws.com\nrange:bytes=0-9\n"
        f"x-amz-content-sha256:{NOTHING}\nx-amz-date:20130524T000000Z\n\n{';'.join(names)}\n{NOTHING}"
    )
    expected = "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972"
    assert digest_of(request, names, NOTHING) == expected


def test_the_published_presigned_url_is_valid_as_long_as_it_says() -> None:
    for age in (timedelta(0), timedelta(hours=24), -MAX_SKEW):
        assert verify(PRESIGNED, EXAMPLE_TIME + age).payload == "UNSIGNED-PAYLOAD"
    for age, said in ((timedelta(hours=24, seconds=1), "expired"), (-MAX_SKEW - timedelta(seconds=1), "not valid yet")):
        with pytest.raises(S3Refusal, match=said) as caught:
            verify(PRESIGNED, EXAMPLE_TIME + age)
        assert caught.value.code == "AccessDenied"


def test_other_requests_are_valid_for_a_quarter_of_an_hour() -> None:
    for age in (MAX_SKEW, -MAX_SKEW):
        verify(EXAMPLES["get an object"], EXAMPLE_TIME + age)
        with pytest.raises(S3Refusal) as caught:
            verify(EXAMPLES["get an object"], EXAMPLE_TIME + age * 1.01)
        assert caught.value.code == "RequestTimeTooSkewed"


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
NAMES = st.from_regex(r"x-amz-meta-[a-z0-9]{1,8}", fullmatch=True)
VALUES = st.from_regex(r"[!-~]([ -~]{0,10}[!-~])?", fullmatch=True)


@st.composite
def signed_requests(draw: st.DrawFn) -> S3Request:
    """A request as botocore signs and sends it."""
    path = "/" + quote("/".join(draw(st.lists(TEXT, min_size=1, max_size=4))), safe="/~")
    pairs = draw(st.dictionaries(TEXT.filter(lambda name: not name.lower().startswith("x-amz")), TEXT, max_size=4))
    query = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in pairs.items() if name)
    headers = draw(st.dictionaries(NAMES, VALUES, max_size=3))
    method = draw(st.sampled_from(["GET", "PUT", "HEAD", "POST", "DELETE"]))
    auth = draw(st.sampled_from([S3SigV4Auth, S3SigV4QueryAuth]))
    body = b"data" if auth is S3SigV4Auth else b""
    request = AWSRequest(method, f"http://127.0.0.1:8000{path}{'?' if query else ''}{query}", headers, body)
    auth(Credentials(EXAMPLE_KEY, EXAMPLE_SECRET), "s3", "eu-west-1").add_auth(request)
    url = urlsplit(request.url)
    sent = [(b"Host", url.netloc.encode()), *((k.encode(), str(v).encode()) for k, v in request.headers.items())]
    return S3Request.of(method, url.path.encode(), url.query.encode(), sent)


def _changed_header(request: S3Request, name: str, value: bytes) -> S3Request:
    return replace(request, headers=tuple((n, value if n == name else v) for n, v in request.headers))


MUTATIONS: dict[str, Callable[[S3Request], S3Request]] = {
    "method": lambda r: replace(r, method="PUT" if r.method != "PUT" else "DELETE"),
    "path": lambda r: replace(r, path=r.path + "x"),
    "another parameter": lambda r: replace(r, query=(*r.query, ("uploads", ""))),
    "host": lambda r: _changed_header(r, "host", b"elsewhere.example"),
    "another signed header": lambda r: replace(r, headers=(*r.headers, ("host", b"127.0.0.1:8000"))),
    "an unsigned header that copies": lambda r: replace(r, headers=(*r.headers, ("x-amz-copy-source", b"b/main/k"))),
}


@pytest.mark.parametrize("change", MUTATIONS.values(), ids=MUTATIONS)
@settings(max_examples=40, deadline=None)
@given(request=signed_requests())
def test_what_botocore_signs_verifies_until_it_is_changed(
    change: Callable[[S3Request], S3Request], request: S3Request
) -> None:
    now = datetime.now(UTC)
    assert verify(request, now).access_key_id == EXAMPLE_KEY
    with pytest.raises(S3Refusal) as caught:
        verify(change(request), now)
    assert caught.value.status == 403


@settings(max_examples=60, deadline=None)
@given(request=signed_requests(), data=st.data())
def test_no_part_of_a_signature_can_be_changed(request: S3Request, data: st.DataObject) -> None:
    """A request with any single change of its signature, headers or query is refused by an S3 error, never else."""
    now, at = datetime.now(UTC), data.draw(st.integers(0, 10_000))
    if request.query and data.draw(st.booleans()):
        number = at % len(request.query)
        name, value = request.query[number]
        changed = (*request.query[:number], (name, value + "0"), *request.query[number + 1 :])
        mutated = replace(request, query=changed)
    else:
        number = at % len(request.headers)
        name, content = request.headers[number]
        mutated = replace(
            request, headers=(*request.headers[:number], (name, content + b"0"), *request.headers[number + 1 :])
        )
    if name in ("content-length", "content-type", "user-agent"):
        return  # not signed by everybody, and of no meaning to who may do what
    with pytest.raises(S3Refusal):
        verify(mutated, now)


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        ("", "AccessDenied"),
        ("Basic abc", "AccessDenied"),
        ("AWS AKIA:abc", "InvalidRequest"),
        ("AWS4-HMAC-SHA256", "AuthorizationHeaderMalformed"),
        ("AWS4-ECDSA-P256-SHA256 Credential=a", "AuthorizationHeaderMalformed"),
        ("AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=0", "AuthorizationHeaderMalformed"),
        ("AWS4-HMAC-SHA256 Credential={}, SignedHeaders=host", "AuthorizationHeaderMalformed"),
        ("AWS4-HMAC-SHA256 Credential={}, SignedHeaders=host, Signature=xyz", "AuthorizationHeaderMalformed"),
        ("AWS4-HMAC-SHA256 Credential={}, SignedHeaders=Host, Signature=" + "0" * 64, "AuthorizationHeaderMalformed"),
        ("AWS4-HMAC-SHA256 Credential={}, SignedHeaders=, Signature=" + "0" * 64, "AccessDenied"),
        ("AWS4-HMAC-SHA256 Credential={}, SignedHeaders=host;none, Signature=" + "0" * 64, "AccessDenied"),
    ],
)
def test_malformed_signatures_get_errors_of_s3(authorization: str, code: str) -> None:
    scope = f"{EXAMPLE_KEY}/20130524/us-east-1/s3/aws4_request"
    headers = [
        (b"host", b"h"),
        (b"authorization", authorization.format(scope).encode()),
        (b"x-amz-content-sha256", NOTHING.encode()),
        (b"x-amz-date", b"20130524T000000Z"),
    ]
    with pytest.raises(S3Refusal) as caught:
        verify(S3Request.of("GET", b"/", b"", headers))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Amz-Expires", "604801"),
        ("X-Amz-Expires", "0"),
        ("X-Amz-Expires", "-1"),
        ("X-Amz-Expires", "9" * 400),
        ("X-Amz-Expires", "１"),
        ("X-Amz-Date", "yesterday"),
        ("X-Amz-Date", "20131324T000000Z"),
        ("X-Amz-Credential", "a"),
        ("X-Amz-Algorithm", "none"),
        ("X-Amz-SignedHeaders", ""),
    ],
)
def test_malformed_presigned_urls_get_errors_of_s3(name: str, value: str) -> None:
    query = tuple((n, value if n == name else v) for n, v in PRESIGNED.query)
    with pytest.raises(S3Refusal) as caught:
        verify(replace(PRESIGNED, query=query))
    assert caught.value.status in (400, 403)
    twice = replace(PRESIGNED, query=(*PRESIGNED.query, (name, value)))
    with pytest.raises(S3Refusal):
        verify(twice)


def test_two_signatures_in_one_request_are_refused() -> None:
    headers = (*EXAMPLES["get an object"].headers, *PRESIGNED.headers)
    with pytest.raises(S3Refusal, match="only one"):
        verify(replace(PRESIGNED, headers=headers))


def test_a_signature_of_another_service_is_none_of_s3() -> None:
    request = EXAMPLES["get an object"]
    value = (request.header("authorization") or "").replace("/s3/", "/sts/").encode()
    with pytest.raises(S3Refusal) as caught:
        verify(_changed_header(request, "authorization", value))
    assert caught.value.code == "AuthorizationHeaderMalformed"


def test_what_is_a_request_of_s3() -> None:
    assert carries_signature("AWS4-HMAC-SHA256 …", [])
    assert carries_signature("AWS a:b", [])
    assert carries_signature("", ["X-Amz-Credential"])
    assert carries_signature("Basic abc", ["AWSAccessKeyId"])
    assert not carries_signature("Basic abc", ["prefix"])


def test_secrets_are_read_once_a_minute_and_not_kept() -> None:
    clock, read = FakeClock(), []
    clock.time = EXAMPLE_TIME

    def find(id: str) -> tuple[SignedIn, SecretStr]:
        read.append(id)
        if id != EXAMPLE_KEY:
            raise PermissionDenied("no")
        return SignedIn("ada", None), SecretStr(EXAMPLE_SECRET)  # type: ignore[arg-type]

    users = SigningUsers(find, clock)  # type: ignore[arg-type]
    for _ in range(3):
        assert users.user_of(EXAMPLES["get an object"])[0].user == "ada"
    assert read == [EXAMPLE_KEY]
    assert EXAMPLE_SECRET not in repr(vars(users))
    clock.sleep(60)
    users.user_of(PRESIGNED)
    assert read == [EXAMPLE_KEY] * 2
    with pytest.raises(S3Refusal):
        users.user_of(replace(PRESIGNED, path="/other"))


def test_a_key_is_read_again_after_the_machine_was_suspended() -> None:
    """The monotonic clock has stood still."""
    clock, read = SuspendedClock(), []
    clock.time = EXAMPLE_TIME

    def find(id: str) -> tuple[SignedIn, SecretStr]:
        read.append(id)
        return SignedIn("ada", None), SecretStr(EXAMPLE_SECRET)  # type: ignore[arg-type]

    users = SigningUsers(find, clock)
    for count in (1, 2):
        for _ in range(2):
            users.user_of(PRESIGNED)
        assert read == [EXAMPLE_KEY] * count
        clock.time += timedelta(seconds=60)


def test_the_published_chunk_signatures() -> None:
    """The first chunk of the example "PUT object with chunked upload"."""
    key = signing_key(EXAMPLE_SECRET, "20130524", "us-east-1")
    seed = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
    text = "\n".join(
        (
            "AWS4-HMAC-SHA256-PAYLOAD",
            "20130524T000000Z",
            "20130524/us-east-1/s3/aws4_request",
            seed,
            NOTHING,
            hashlib.sha256(b"a" * 65_536).hexdigest(),
        )
    )
    assert sign(key, text) == "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"
