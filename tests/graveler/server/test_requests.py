"""Requests that no client of lakeFS sends, and what protects the server from them."""

from __future__ import annotations

import gc
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from pydantic import BaseModel

from graveler.server.api.errors import error_response, status_of
from graveler.server.api.routes import ROUTES
from graveler.server.authentication import LOCKED_SECONDS, MAX_FAILURES, REMEMBERED_SECONDS, Authentication, SignedIn
from graveler.server.content_response import SMALL_BYTES, _headers
from graveler.server.kept_md5 import ETAG_KEY
from graveler.server.serving import ServerOptions, users_of
from graveler_core.codec.entry import entries
from graveler_core.engine.reading import listing
from graveler_core.errors import GravelerError, InvalidInput, Kind, PermissionDenied, SlowDown
from graveler_core.model.credentials import Credentials
from graveler_core.model.entry import Entry
from graveler_core.wiring.opening import open_stores
from tests.graveler.server.conftest import Place, put_damaged, put_without_object
from tests.graveler.server.plain_http import Http, basic
from tests.unit.engine.world import FakeClock, SuspendedClock

_STATEMENT = {"effect": "allow", "action": ["fs:ReadObject"], "resource": "*"}


@pytest.fixture
def http(place: Place) -> Http:
    return Http(place)


@pytest.mark.parametrize(
    "header", ["", "Basic", "Basic !!!", "Basic ä", "Bearer abc", basic("nobody", "x"), "Basic " + "A" * 9]
)
def test_wrong_credentials_are_refused_everywhere(http: Http, header: str) -> None:
    for route in ROUTES:
        path = route.path.replace("{", "").replace("}", "")
        if route.public or route.method == "HEAD":
            continue
        status, body, _ = http.send(route.method, path, b"{}", {"Authorization": header})
        # After some failures with one access key, more attempts have to wait.
        assert status in ((401, 429) if "Basic " in header else (401,)), route
        if status == 401:
            assert json.loads(body) == {"message": "error authenticating request"}


def test_public_operations_need_no_credentials_and_show_nothing(http: Http) -> None:
    assert [route.path for route in ROUTES if route.public] == [
        "/healthcheck",
        "/setup_lakefs",
        "/setup_lakefs",
        "/auth/login",
        "/auth/capabilities",
    ]
    assert http.send("GET", "/healthcheck", headers={"Authorization": ""})[0] == 204


def test_an_address_outside_of_the_api_answers_in_plain_text(http: Http) -> None:
    """`lakectl doctor` tells by it that the endpoint is wrong."""
    status, said, headers = http.send("GET", "1/repositories")
    assert (status, said) == (404, b"nothing is here; the API is at /api/v1, and the pages at /ui")
    assert headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("GET", "/nothing", None, 404, "invalid API endpoint"),
        ("PATCH", "/repositories", None, 404, "invalid API endpoint"),
        ("GET", "/repositories/%0A/metadata", None, 404, "invalid API endpoint"),
        ("GET", "/repositories?amount=1001", None, 400, "amount"),
        ("GET", "/repositories?amount=-2", None, 400, "amount"),
        ("GET", "/repositories?amount=ten", None, 400, "amount"),
        ("GET", "/repositories?prefix=%ff", None, 400, "UTF-8"),
        ("POST", "/repositories", b"{", 400, "must be JSON"),
        ("POST", "/repositories", b"[" * 100_000, 400, "must be JSON"),
        ("POST", "/repositories", b"\xed\xa0\x80", 400, "must be JSON"),
        ("POST", "/repositories/{repo}/branches/main/objects/delete", b'{"paths": ["\\ud800"]}', 400, "must be JSON"),
        ("POST", "/repositories", b"{}", 400, "name"),
        ("POST", "/repositories", b'{"name": 5, "storage_namespace": "local://x"}', 400, "name"),
        ("POST", "/repositories", b'{"name": "Up", "storage_namespace": "local://x"}', 400, "Up"),
        ("POST", "/repositories", b'{"name": "abc", "storage_namespace": "local://../x"}', 400, "segments"),
        ("POST", "/repositories", b'{"name": "abc", "storage_namespace": "ftp://x"}', 400, "ftp"),
        ("GET", "/repositories/nowhere", None, 404, "repository not found"),
        ("GET", "/repositories/{repo}/refs/main/objects", None, 400, "path"),
        ("GET", "/repositories/{repo}/refs/none/objects?path=a", None, 404, "not found"),
        ("POST", "/repositories/{repo}/branches/main/objects?path=../x", b"x", 400, ".."),
        ("POST", "/repositories/{repo}/branches/none/objects?path=x", b"x", 404, "branch not found"),
        ("PUT", "/repositories/{repo}/branches/main", b'{"type": "object"}', 400, "path"),
        ("GET", "/repositories/{repo}/refs/main/diff/main?type=four_dot", None, 400, "four_dot"),
        ("GET", "/repositories/{repo}/refs/main/commits?since=yesterday", None, 400, "yesterday"),
        ("POST", "/repositories/{repo}/branches/main/staging/pmpu?path=a&parts=-1", None, 400, "parts '-1'"),
        ("POST", "/repositories/{repo}/branches/main/staging/pmpu?path=a&parts=0000019999", None, 400, "parts '0"),
        ("POST", "/repositories//branches/main/staging/pmpu?path=a", None, 400, "must not be empty"),
        ("POST", "/sts/login", b"{}", 501, "Not Implemented"),
    ],
)
def test_wrong_requests_get_one_sentence(  # noqa: PLR0917 - a table
    place: Place, http: Http, method: str, path: str, body: bytes | None, status: int, said: str
) -> None:
    path = path.format(repo=place.repository()) if "{repo}" in path else path
    found, answer, headers = http.send(method, path, body, {"Content-Type": "application/json"})
    assert found == status, answer
    assert said in json.loads(answer)["message"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-request-id"]


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(http: Http) -> None:
    address = urlsplit(http.url)
    connection = HTTPConnection(address.hostname, address.port)
    connection.putrequest("POST", "/api/v1/repositories")
    connection.putheader("Authorization", http.credentials)
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 400
    assert b"the maximum" in response.read()
    connection.close()


@pytest.mark.parametrize(
    ("maximum", "path", "body"),
    [
        (
            32_000,
            "/repositories/{repo}/branches/main/commits",
            lambda n: {"message": "m" * (n - 2), "allow_empty": True},
        ),
        (255, "/repositories/{repo}/branches", lambda n: {"name": "b" * n, "source": "main"}),
        (255, "/repositories/{repo}/tags", lambda n: {"id": "t" * n, "ref": "main"}),
        (32_768, "/repositories/{repo}/metadata", lambda n: {"metadata": {"k": "x" * (n - 9)}}),
        (127, "/auth/users", lambda n: {"id": "u" * n}),
        (100, "/auth/policies", lambda n: {"id": f"p{n}", "statement": [_STATEMENT] * n}),
    ],
    ids=["message", "branch", "tag", "metadata", "user", "statements"],
)
def test_a_value_at_its_limit_is_accepted_and_one_more_is_refused(
    place: Place, http: Http, maximum: int, path: str, body: Callable[[int], object]
) -> None:
    path = path.format(repo=place.repository())
    method = "POST"
    for size, wanted in ((maximum + 1, 400), (maximum, 201)):
        sent = json.dumps(body(size)).encode()
        status, answer, _ = http.send(method, path, sent, {"Content-Type": "application/json"})
        assert status in ((wanted,) if wanted == 400 else (200, 201, 204)), answer
        if wanted == 400:
            assert f"the maximum is {maximum:,}" in json.loads(answer)["message"]


def test_a_path_at_its_limit_is_accepted_and_a_longer_one_is_refused(place: Place, http: Http) -> None:
    path = f"/repositories/{place.repository()}/branches/main/objects?path="
    status, answer, _ = http.send("POST", path + "p" * 1_001, b"x")
    assert (status, "the maximum is 1,000" in json.loads(answer)["message"]) == (400, True)
    assert http.send("POST", path + "p" * 1_000, b"x")[0] == 201


def test_a_broken_upload_stages_nothing(place: Place, http: Http) -> None:
    name = place.repository()
    address = urlsplit(http.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        head = (
            f"POST /api/v1/repositories/{name}/branches/main/objects?path=half HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: {http.credentials}\r\nContent-Length: 1000000\r\n\r\n"
        )
        connection.sendall(head.encode() + b"x" * 1000)
    status, *_ = http.send("POST", f"/repositories/{name}/branches/main/objects?path=whole", b"abc")
    assert status == 201
    assert [entry.path for entry in place.server.graveler.repository(name).branch("main").list()] == ["whole"]


@pytest.mark.parametrize(
    ("range", "answer"),
    [
        ("bytes=2-4", (206, b"234", "bytes 2-4/10")),
        ("bytes=7-", (206, b"789", "bytes 7-9/10")),
        ("bytes=-2", (206, b"89", "bytes 8-9/10")),
        ("bytes=8-99", (206, b"89", "bytes 8-9/10")),
        ("bytes=10-", (416, b"", "bytes */10")),
        ("bytes=5-3", (200, b"0123456789", None)),
        ("bytes=20-15", (200, b"0123456789", None)),
        ("bytes=1-2,4-5", (416, b"", "bytes */10")),
        ("lines=1-2", (200, b"0123456789", None)),
        ("bytes=7-9223372036854775806", (206, b"789", "bytes 7-9/10")),  # from the AWS SDK for Java
        (f"bytes={'0' * 5000}7-{'9' * 5000}", (206, b"789", "bytes 7-9/10")),
        (f"bytes={'9' * 5000}-", (416, b"", "bytes */10")),
        (f"bytes=-{'9' * 5000}", (206, b"0123456789", "bytes 0-9/10")),
    ],
)
def test_ranges(place: Place, http: Http, range: str, answer: tuple[int, bytes, str | None]) -> None:
    name = place.repository()
    place.server.graveler.repository(name).branch("main").put("ten", b"0123456789")
    found, body, headers = http.send(
        "GET", f"/repositories/{name}/refs/main/objects?path=ten", headers={"Range": range}
    )
    if found == 416:
        assert "the range begins behind the end" in json.loads(body)["message"]
        body = b""
    assert (found, body, headers.get("content-range")) == answer


def test_heads_and_conditions(place: Place, http: Http) -> None:
    name = place.repository()
    path = f"/repositories/{name}/refs/main/objects?path=page.html"
    place.server.graveler.repository(name).branch("main").put("page.html", b"<b>x</b>", content_type="text/html")
    status, body, headers = http.send("HEAD", path)
    assert (status, body, headers["content-length"]) == (200, b"", "8")
    assert headers["content-disposition"] == "attachment"  # a page of a user never runs on the server's address
    for condition in ("{}", "W/{}", '"other", {}', "*"):
        status, _, found = http.send("GET", path, headers={"If-None-Match": condition.format(headers["etag"])})
        assert (status, found["etag"]) == (304, headers["etag"]), condition
    assert http.send("GET", path, headers={"If-None-Match": '"other"'})[0] == 200
    for condition, wanted in (("{}", 200), ("*", 200), ('"other", {}', 200), ("W/{}", 412), ('"*"', 412)):
        status, body, _ = http.send("GET", path, headers={"If-Match": condition.format(headers["etag"])})
        assert (status, b"message" in body) == (wanted, wanted == 412), condition
    upload = f"/repositories/{name}/branches/main/objects?path=page.html"
    for method, condition in (("POST", headers["etag"]), ("DELETE", '"other"'), ("POST", '"other"')):
        assert http.send(method, upload, b"y", {"If-Match": condition})[0] == 501
    assert http.send("POST", upload, b"y", {"If-None-Match": "*"})[0] == 412
    assert http.send("POST", upload, b"y", {"If-None-Match": '"abc"'})[0] == 501
    assert http.send("GET", path)[1] == b"<b>x</b>"


@pytest.mark.parametrize(
    ("content_type", "disposition"),
    [
        ("text/plain", "inline"),
        ("Text/CSV;charset=UTF-8", "inline"),
        ("application/json; charset=utf-8", "inline"),
        ("text/plain;a, text/html", "attachment"),
        ("text/plain, text/html", "attachment"),
        ("text/plain; charset=utf-8, text/html", "attachment"),
        ("text/plain\n", "attachment"),
        ("image/svg+xml", "attachment"),
        ("text/html", "attachment"),
    ],
)
def test_content_never_runs_as_a_page(content_type: str, disposition: str) -> None:
    """A browser takes the last type of a list."""
    headers = _headers(Entry(data=b"x", content_type=content_type))
    assert headers["content-disposition"] == disposition
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"


def test_metadata_of_an_upload_are_utf_8(place: Place, http: Http) -> None:
    name = place.repository()
    upload = f"/repositories/{name}/branches/main/objects?path=a"
    for sent in ("Köln".encode().decode("latin-1"), "Köln"):  # as Go and as Python send it
        status, body, _ = http.send("POST", upload, b"x", {"X-Lakefs-Meta-Town": sent})
        assert (status, json.loads(body)["metadata"]) == (201, {"town": "Köln"})


def test_a_download_is_resumed_only_in_the_same_version(place: Place, http: Http) -> None:
    name = place.repository()
    path = f"/repositories/{name}/refs/main/objects?path=a"
    branch = place.server.graveler.repository(name).branch("main")
    branch.put("a", b"0123")
    _, _, headers = http.send("GET", path)
    resumed = {"Range": "bytes=2-", "If-Range": headers["etag"]}
    assert http.send("GET", path, headers=resumed)[:2] == (206, b"23")
    branch.put("a", b"4567")
    for condition in (headers["etag"], f"W/{headers['etag']}", headers["last-modified"]):
        assert http.send("GET", path, headers={**resumed, "If-Range": condition})[:2] == (200, b"4567")


def test_texts_that_no_header_can_hold_are_read(place: Place, http: Http) -> None:
    name, tags = place.repository(), set()
    branch = place.server.graveler.repository(name).branch("main")
    for content_type, checksum in (("a\r\nx: y", "a"), ("€", 'a"\n'), ("text/html", "é"), ("text/html", "")):
        entry = replace(branch.put("a", b"content"), content_type=content_type, checksum=checksum, identity=b"")
        branch.stage("a", replace(entry, metadata={ETAG_KEY: f"\n {checksum}"}))
        status, body, headers = http.send("GET", f"/repositories/{name}/refs/main/objects?path=a")
        assert (status, body, "x" in headers) == (200, b"content", False)
        tags.add(headers["etag"])
    assert len(tags) == 4


def test_damaged_content_is_an_error_or_ends_before_its_announced_length(place: Place, http: Http) -> None:
    name = place.repository()
    branch = place.server.graveler.repository(name).branch("main")
    put_damaged(branch, "small", SMALL_BYTES)
    put_damaged(branch, "large", SMALL_BYTES + 1)
    path = f"/repositories/{name}/refs/main/objects?path="
    status, body, _ = http.send("GET", path + "small")
    assert (status, "differs from the checksum" in json.loads(body)["message"]) == (500, True)
    address = urlsplit(http.url)
    connection = HTTPConnection(address.hostname, address.port)
    connection.request("GET", f"/api/v1{path}large", headers={"Authorization": http.credentials})
    response: HTTPResponse = connection.getresponse()
    assert response.status == 200
    with pytest.raises(IncompleteRead):
        response.read()
    connection.close()


@pytest.mark.parametrize("size", [SMALL_BYTES, SMALL_BYTES + 1, 20 << 20])
def test_content_that_cannot_be_read_is_an_error_from_the_beginning(place: Place, http: Http, size: int) -> None:
    name = place.repository()
    put_without_object(place.server.graveler.repository(name).branch("main"), "a", size)
    for headers in ({}, {"Range": "bytes=0-"}, {"Range": f"bytes=1-{size - 1}"}):
        status, body, found = http.send("GET", f"/repositories/{name}/refs/main/objects?path=a", headers=headers)
        assert (status, "message" in json.loads(body)) == (410, True)
        assert int(found["content-length"]) == len(body)
        assert "content-range" not in found


def test_a_write_to_a_protected_branch_is_refused_before_its_body_is_sent(place: Place, http: Http) -> None:
    name = place.repository()
    repo, path = place.server.graveler.repository(name), f"/api/v1/repositories/{name}/branches/main/objects?path=a"
    assert http.send("GET", f"/repositories/{name}/refs/main/objects/ls")[0] == 200  # now the branch is cached
    repo.protect("main")
    address = urlsplit(http.url)
    for condition in ({}, {"If-None-Match": "*"}):
        connection = HTTPConnection(address.hostname, address.port, timeout=30)
        connection.putrequest("POST", path)
        for header, value in {"Authorization": http.credentials, "Content-Length": str(1 << 30), **condition}.items():
            connection.putheader(header, value)
        connection.endheaders()
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["message"]) == (403, "cannot write to protected branch")
        connection.close()


def test_permissions_are_those_of_the_user(place: Place, http: Http) -> None:
    name = place.repository()
    iam = place.server.graveler.iam
    iam.create_user(f"reader-{name}")
    iam.add_member("Viewers", f"reader-{name}")
    made = iam.create_credential(f"reader-{name}")
    reader = {"Authorization": basic(str(made.access_key_id), made.secret.get_secret_value())}
    assert http.send("GET", f"/repositories/{name}/branches", headers=reader)[0] == 200
    assert json.loads(http.send("GET", "/user", headers=reader)[1])["user"]["id"] == f"reader-{name}"
    status, body, _ = http.send("POST", f"/repositories/{name}/branches/main/objects?path=x", b"x", reader)
    assert status == 401
    assert "insufficient permissions" in json.loads(body)["message"]


def test_repositories_that_the_user_may_not_list_are_not_shown(place: Place, http: Http) -> None:
    name, iam = place.repository(), place.server.graveler.iam
    for kind in ("shown", "hidden", "unread"):
        place.server.graveler.create_repository(f"{name}-{kind}", f"{place.server.root}/{name}-{kind}")
    one, all_of_them = (f"arn:graveler:fs:::repository/{name}{rest}" for rest in ("-shown", "*"))
    unread = f"arn:graveler:fs:::repository/{name}-unread"
    iam.create_policy(
        name,
        [
            {"effect": "allow", "actions": ["fs:ListRepositories"], "resources": [one, unread]},
            {"effect": "allow", "actions": ["fs:ReadRepository"], "resources": [all_of_them]},
            {"effect": "deny", "actions": ["fs:ReadRepository"], "resources": [unread]},
        ],
    )
    iam.create_user(f"lister-{name}")
    iam.attach_policy(name, user=f"lister-{name}")
    made = iam.create_credential(f"lister-{name}")
    lister = {"Authorization": basic(str(made.access_key_id), made.secret.get_secret_value())}
    status, body, _ = http.send("GET", "/repositories", headers=lister)
    assert (status, [each["id"] for each in json.loads(body)["results"]]) == (200, [f"{name}-shown"])
    assert http.send("GET", "/repositories?prefix=other", headers=lister)[0] == 401


def test_every_kind_of_error_has_a_status() -> None:
    classes = {GravelerError, *_below(GravelerError)} - {GravelerError}
    assert all(400 <= status_of(each("x")) <= 503 for each in classes)
    assert status_of(PermissionDenied("x", kind=Kind.AccessDenied)) == 401
    assert status_of(PermissionDenied("x", kind=Kind.BranchProtected)) == 403


def _below(parent: type[GravelerError]) -> set[type[GravelerError]]:
    return {found for child in parent.__subclasses__() for found in {child, *_below(child)}}


def test_credentials_are_verified_once_and_failures_are_slowed_down() -> None:
    clock, verified = FakeClock(), []

    def sign_in(given: Credentials) -> SignedIn:
        verified.append(given.access_key_id)
        if given.secret_access_key.get_secret_value() != "right":
            raise PermissionDenied("wrong", kind=Kind.InvalidCredentials)
        return SignedIn("ada", None)  # type: ignore[arg-type]

    authentication = Authentication(sign_in, sign_in, clock)  # type: ignore[arg-type]
    for _ in range(3):
        assert authentication.user_of(basic("key", "right")).user == "ada"
    assert verified == ["key"]
    clock.sleep(REMEMBERED_SECONDS)
    authentication.user_of(basic("key", "right"))
    assert verified == ["key", "key"]
    for attempt in range(MAX_FAILURES):
        for _ in range(3):  # the same wrong secret again is no attempt
            with pytest.raises(PermissionDenied):
                authentication.user_of(basic("other", f"wrong {attempt}"))
    with pytest.raises(SlowDown):
        authentication.user_of(basic("other", "wrong again"))
    with pytest.raises(PermissionDenied):
        authentication.user_of(basic("other", "wrong 0"))
    assert verified.count("other") == MAX_FAILURES
    assert authentication.user_of(basic("key", "right")).user == "ada"
    clock.sleep(LOCKED_SECONDS)
    assert authentication.user_of(basic("other", "right")).user == "ada"


@pytest.mark.parametrize("passed", [REMEMBERED_SECONDS, -1.0], ids=["suspended", "set back"])
def test_credentials_are_verified_again_although_the_monotonic_clock_stood_still(passed: float) -> None:
    clock, verified = SuspendedClock(), []

    def sign_in(given: Credentials) -> SignedIn:
        verified.append(given.access_key_id)
        return SignedIn("ada", None)  # type: ignore[arg-type]

    authentication = Authentication(sign_in, lambda token: pytest.fail("no session"), clock)
    for count in (1, 2):
        for _ in range(2):
            authentication.user_of(basic("key", "right"))
        assert verified == ["key"] * count
        clock.sleep(passed)


def test_wrong_secrets_do_not_lock_out_who_has_the_right_one() -> None:
    clock, right = FakeClock(), ["right"]

    def sign_in(given: Credentials) -> SignedIn:
        if given.secret_access_key.get_secret_value() != right[0]:
            raise PermissionDenied("wrong", kind=Kind.InvalidCredentials)
        return SignedIn("ada", None)  # type: ignore[arg-type]

    authentication = Authentication(sign_in, sign_in, clock)  # type: ignore[arg-type]

    def fail(attempts: int) -> None:
        for attempt in range(attempts):
            with pytest.raises(PermissionDenied):
                authentication.user_of(basic("key", f"wrong at {clock.monotonic():g}: {attempt}"))

    authentication.user_of(basic("key", "right"))
    clock.sleep(REMEMBERED_SECONDS)
    fail(MAX_FAILURES)
    clock.sleep(1)
    with pytest.raises(SlowDown, match="wait 4 seconds") as caught:
        authentication.user_of(basic("key", "another wrong one"))
    assert error_response(caught.value).headers["retry-after"] == "4"
    assert authentication.user_of(basic("key", "right")).user == "ada"
    clock.sleep(REMEMBERED_SECONDS)
    right[0] = "new"  # a secret that is no longer right gets no special treatment
    with pytest.raises(PermissionDenied):
        authentication.user_of(basic("key", "right"))
    fail(MAX_FAILURES - 1)
    with pytest.raises(SlowDown):
        authentication.user_of(basic("key", "new"))
    clock.sleep(LOCKED_SECONDS)
    fail(1)
    with pytest.raises(SlowDown):
        authentication.user_of(basic("key", "right"))


def test_a_store_without_access_control_is_served_only_when_asked_and_only_locally() -> None:
    stores = open_stores("memory://")
    try:
        with pytest.raises(InvalidInput, match="graveler iam setup"):
            users_of(stores, ServerOptions())
        with pytest.raises(InvalidInput, match="loopback"):
            users_of(stores, ServerOptions(host="0.0.0.0", open=True))
        assert users_of(stores, ServerOptions(open=True)).authentication is None
    finally:
        stores.close()


def test_a_page_of_a_listing_takes_the_work_of_its_own_entries(
    place: Place, http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It converts no entry behind the page, and makes no class for its answer."""
    name = place.repository()
    branch = place.server.graveler.repository(name).branch("main")
    branch.stage_many(pa.table({"key": [f"d/{number:03}" for number in range(300)], "data": [b"x"] * 300}))
    converted, made = list[int](), list[str]()

    def counted(table: pa.Table) -> Iterator[Entry]:
        converted.append(table.num_rows)
        return entries(table)

    def build(kind: type, built: str, *rest: object, **options: object) -> type:
        made.append(built)
        return new(kind, built, *rest, **options)

    metaclass = type(BaseModel)
    new = metaclass.__new__
    pages = [("", "refs/main/objects/ls"), ("&prefix=d/", "refs/main/objects/ls")]
    for query, path in pages:  # what the first request makes stays
        assert http.send("GET", f"/repositories/{name}/{path}?amount=10{query}")[0] == 200
    gc.collect()
    monkeypatch.setattr(listing, "entries", counted)
    monkeypatch.setattr(metaclass, "__new__", build)
    for query, path in pages:
        status, body, _ = http.send("GET", f"/repositories/{name}/{path}?amount=10{query}")
        assert (status, len(json.loads(body)["results"])) == (200, 10)
    assert converted == [11, 11]
    assert made == []
