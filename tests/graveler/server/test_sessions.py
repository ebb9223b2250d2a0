"""Login with an access key: the token of a session stands for it, until its end or the end of the access key."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http.cookies import SimpleCookie
from uuid import uuid4

import jwt
import pytest

from graveler.server.authentication import MAX_FAILURES, SignedIn
from graveler.server.sessions import COOKIE, SESSION_TIME, UserSessions
from graveler_core.errors import Kind, PermissionDenied
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http

KEY = b"k" * 32
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def http(place: Place) -> Http:
    return Http(place)


def log_in(http: Http, key: str, secret: str, sent: Mapping[str, str] = JSON) -> tuple[int, bytes, SimpleCookie]:
    body = json.dumps({"access_key_id": key, "secret_access_key": secret}).encode()
    status, said, headers = http.send("POST", "/auth/login", body, {"Authorization": "", **sent})
    return status, said, SimpleCookie(headers.get("set-cookie", ""))


def test_the_token_and_the_cookie_stand_for_the_user(place: Place, http: Http) -> None:
    admin = place.server.admin
    status, said, cookies = log_in(http, str(admin.access_key_id), admin.secret.get_secret_value())
    assert status == 200
    token = json.loads(said)["token"]
    assert json.loads(said)["token_expiration"] > datetime.now(UTC).timestamp()
    cookie = cookies[COOKIE]
    assert (cookie.value, cookie["path"], cookie["httponly"], cookie["samesite"]) == (token, "/", True, "lax")
    assert not cookie["secure"]  # this server has no TLS
    for headers in (
        {"Authorization": f"Bearer {token}"},
        {"Authorization": "", "Cookie": f"{COOKIE}={token}"},
    ):
        status, said, _ = http.send("GET", "/user", headers=headers)
        assert (status, json.loads(said)["user"]["id"]) == (200, "ada")
        assert http.send("GET", "/repositories", headers=headers)[0] == 200
    assert admin.secret.get_secret_value() not in token


def test_a_cookie_does_not_replace_a_wrong_header(place: Place, http: Http) -> None:
    admin = place.server.admin
    *_, cookies = log_in(http, str(admin.access_key_id), admin.secret.get_secret_value())
    cookie = f"{COOKIE}={cookies[COOKIE].value}"
    assert http.send("GET", "/user", headers={"Authorization": "Bearer wrong", "Cookie": cookie})[0] == 401


def test_pages_of_other_sites_cannot_log_in(place: Place, http: Http) -> None:
    admin = place.server.admin

    def status(sent: dict[str, str]) -> int:
        return log_in(http, str(admin.access_key_id), admin.secret.get_secret_value(), sent)[0]

    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert status({**JSON, **headers}) == 403
    for content_type in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert status({"Content-Type": content_type}) == 400
    assert status({"Content-Type": "application/json; charset=utf-8", "Origin": place.server.url}) == 200


def test_the_cookie_does_not_count_for_changes_that_another_site_causes(place: Place, http: Http) -> None:
    admin, name = place.server.admin, place.repository()
    *_, cookies = log_in(http, str(admin.access_key_id), admin.secret.get_secret_value())
    ours = {"Authorization": "", "Cookie": f"{COOKIE}={cookies[COOKIE].value}"}
    path, here = f"/repositories/{name}/branches/main/objects?path=x", place.server.url
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}):
        assert http.send("POST", path, b"x", {**ours, **headers})[0] == 401, headers
        assert http.send("GET", f"/repositories/{name}", headers={**ours, **headers})[0] == 200
        assert http.send("POST", path, b"x", headers)[0] == 201  # the access key itself is not one of the browser
    assert http.send("POST", path, b"x", {**ours, "Origin": here, "Sec-Fetch-Site": "same-origin"})[0] == 201


def test_a_form_cannot_send_json_with_the_cookie(place: Place, http: Http) -> None:
    """A form with the type `text/plain` can send valid JSON."""
    admin, path = place.server.admin, f"/repositories/{place.repository()}/branches"
    *_, cookies = log_in(http, str(admin.access_key_id), admin.secret.get_secret_value())
    ours = {"Authorization": "", "Cookie": f"{COOKIE}={cookies[COOKIE].value}"}
    for kind in ("text/plain", "Text/Plain; charset=utf-8", "application/x-www-form-urlencoded", "multipart/form-data"):
        body = json.dumps({"name": f"b{uuid4().hex}", "source": "main"}).encode()
        status, said, _ = http.send("POST", path, body, {**ours, "Content-Type": kind})
        assert (status, "application/json" in json.loads(said)["message"]) == (400, True), kind
        assert http.send("POST", path, body, {"Content-Type": kind})[0] == 201
    body = json.dumps({"name": "again", "source": "main"}).encode()
    assert http.send("POST", path, body, {**ours, **JSON})[0] == 201


def test_the_session_ends_with_the_access_key(place: Place, http: Http) -> None:
    iam, user = place.server.graveler.iam, f"user-{uuid4().hex[:8]}"
    iam.create_user(user)
    key = iam.create_credential(user)
    status, said, _ = log_in(http, str(key.access_key_id), key.secret.get_secret_value())
    assert status == 200
    iam.delete_credential(user, str(key.access_key_id))
    header = {"Authorization": f"Bearer {json.loads(said)['token']}"}
    assert http.send("GET", "/user", headers=header)[0] == 401


def test_wrong_secrets_are_refused_and_slowed_down(place: Place, http: Http) -> None:
    iam, user = place.server.graveler.iam, f"user-{uuid4().hex[:8]}"
    iam.create_user(user)
    key = str(iam.create_credential(user).access_key_id)
    answers = [log_in(http, key, f"wrong {attempt}")[0] for attempt in range(MAX_FAILURES + 1)]
    assert answers == [401] * MAX_FAILURES + [429]


def _sessions(now: list[datetime]) -> UserSessions:
    def key_of(access_key_id: str) -> tuple[SignedIn, bytes]:
        if access_key_id != "key":
            raise PermissionDenied("no such key", kind=Kind.InvalidCredentials)
        return SignedIn("ada", None), KEY  # type: ignore[arg-type]

    return UserSessions(key_of, lambda: now[0])


def _forged() -> Iterator[str]:
    end = datetime(2100, 1, 1, tzinfo=UTC)
    right = {"sub": "key", "aud": "graveler", "exp": end}
    yield ""
    yield "a.b.c"
    yield "\xff.\xff.\xff"
    yield jwt.encode(right, b"x" * 32, algorithm="HS256")
    yield jwt.encode(right, "", algorithm="none")
    yield jwt.encode({**right, "sub": "other"}, KEY, algorithm="HS256")
    yield jwt.encode({**right, "aud": "another"}, KEY, algorithm="HS256")
    yield jwt.encode({"sub": "key", "aud": "graveler"}, KEY, algorithm="HS256")
    yield jwt.encode({"aud": "graveler", "exp": end}, KEY, algorithm="HS256")
    yield jwt.encode(right, b"k" * 64, algorithm="HS512")
    head, body, signature = jwt.encode(right, KEY, algorithm="HS256").split(".")
    longer = {**right, "exp": 9_999_999_999}
    yield ".".join([head, base64.urlsafe_b64encode(json.dumps(longer, default=str).encode()).decode(), signature])
    yield ".".join([head, body, signature[:-4]])


@pytest.mark.parametrize("token", [*_forged()])
def test_forged_tokens_are_refused(token: str) -> None:
    with pytest.raises(PermissionDenied) as refused:
        _sessions([datetime(2026, 1, 1, tzinfo=UTC)]).resume(token)
    assert refused.value.kind is Kind.InvalidCredentials


def test_a_token_ends() -> None:
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    sessions = _sessions(now)
    token, end = sessions.begin("key")
    assert sessions.resume(token).user == "ada"
    assert end == now[0] + SESSION_TIME
    now[0] = end
    with pytest.raises(PermissionDenied):
        sessions.resume(token)
