"""What operators need: readiness, metrics, the access log, and limits."""

from __future__ import annotations

import json
import logging
import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest

from graveler.server.http_protocol import MAX_HEAD_BYTES
from graveler.server.limits import MAX_USERS, RequestLimits
from graveler.server.serving import ServerOptions
from graveler_core.cli.app import run
from graveler_core.errors import InvalidInput, PermissionDenied, SlowDown, Unavailable
from graveler_core.model.entities import Commit, Tag
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http
from tests.graveler.server.running import RunningServer, running_server
from tests.graveler.server.web.visitor import visitor

sqlite = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


def id_of(record: logging.LogRecord) -> str:
    return str(record.__dict__.get("request_id", ""))


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


@sqlite
def test_the_server_is_ready_while_it_reaches_its_store(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert get(place.server.url + "/_ready") == (200, "ready")

    def gone(*args: object, **options: object) -> None:
        raise Unavailable("the store at db.internal is gone")

    monkeypatch.setattr("graveler.server.serving.sign_in", gone)
    status, said = get(place.server.url + "/_ready")
    assert (status, json.loads(said)) == (503, {"message": "the server does not reach its store: StoreUnreachable"})
    assert "db.internal" in str([vars(record) for record in caplog.records if record.name == "graveler.ready"])
    assert get(place.server.url + "/_health")[0] == 200


@sqlite
def test_metrics_count_operations_and_name_nobody(place: Place) -> None:
    name, http = place.repository(), Http(place)
    path = f"/repositories/{name}/branches/main/objects?path=secret-path"
    before = get(place.server.url + "/metrics")[1]
    assert http.send("POST", path, b"content")[0] == 201
    assert http.send("GET", f"/repositories/{name}/refs/main/objects?path=none")[0] == 404

    def count(text: str, line: str) -> float:
        return next((float(each.split()[-1]) for each in text.splitlines() if each.startswith(line)), 0.0)

    after = before
    for operation, status in (("upload_object", 201), ("get_object", 404)):
        line = f'graveler_server_requests_total{{operation="{operation}",status="{status}"}}'
        while count(after, line) != count(before, line) + 1:  # a request is counted after its answer
            after = get(place.server.url + "/metrics")[1]
    assert 'graveler_server_request_seconds_bucket{le="0.005",operation="upload_object"}' in after
    for hidden in ("secret-path", name, "ada"):
        assert hidden not in after


@sqlite
def test_the_access_log_names_user_and_operation_and_no_secret(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    http = Http(place)
    with caplog.at_level(logging.INFO, "graveler.request"):
        _, _, headers = http.send("GET", "/repositories?prefix=query-of-the-user")
        while not (logged := [each for each in caplog.records if id_of(each) == headers["x-request-id"]]):
            threading.Event().wait(0.01)  # the event comes after the answer
    (found,) = logged
    facts = found.__dict__
    assert (found.getMessage(), facts["user"], facts["method"]) == ("list_repositories 200", "ada", "GET")
    assert (facts["operation"], facts["status"], facts["client"]) == ("list_repositories", 200, "127.0.0.1")
    assert facts["seconds"] > 0
    assert facts["sent_bytes"] > 0
    everything = " ".join(str(value) for record in caplog.records for value in record.__dict__.values())
    for hidden in ("query-of-the-user", http.credentials.split()[1], place.server.admin.secret.get_secret_value()):
        assert hidden not in everything


@sqlite
def test_an_error_that_nobody_expects_is_json_and_says_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **options: object) -> None:
        raise ZeroDivisionError("internal secret")

    monkeypatch.setattr("graveler_core.facade.graveler.Graveler.list_repositories", broken)
    status, said, headers = Http(place).send("GET", "/repositories")
    assert (status, headers["content-type"]) == (500, "application/json")
    assert "internal secret" not in said.decode()


@sqlite
def test_nothing_allows_other_sites(place: Place) -> None:
    request = urllib.request.Request(
        place.server.url + "/api/v1/healthcheck", headers={"Origin": "https://evil.example"}
    )
    with urllib.request.urlopen(request) as response:
        assert not [name for name in response.headers if name.lower().startswith("access-control")]
        assert response.headers["x-content-type-options"] == "nosniff"


LIMITS = RequestLimits(3, 1, lambda: 0.0)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    root: Path = tmp_path_factory.mktemp("limited")
    store = f"sqlite:///{root / 'meta.db'}?durability=process"
    with running_server(store, root.as_uri(), limits=LIMITS) as running:
        yield running


def test_requests_and_uploads_beyond_the_limits_are_told_to_wait(limited: RunningServer) -> None:
    limited.graveler.create_repository("limited", f"{limited.root}/limited")
    http = Http(Place(limited, lambda: ""))
    end = threading.Event()

    def slowly() -> Iterator[bytes]:
        yield b"x"
        end.wait()

    path = "/repositories/limited/branches/main/objects?path="
    answers: list[int] = []
    first = threading.Thread(target=lambda: answers.append(http.send("POST", path + "slow", slowly())[0]))  # type: ignore[arg-type]
    first.start()
    while not LIMITS._uploading:
        threading.Event().wait(0.01)
    status, said, headers = http.send("POST", path + "other", b"x")
    end.set()
    first.join()
    assert (status, headers["retry-after"]) == (503, "1")
    assert "1 upload already" in json.loads(said)["message"]
    assert answers == [201]
    found = [http.send("GET", "/user") for _ in range(2)]
    assert [status for status, *_ in found] == [200, 429]  # with the two uploads, three were allowed
    assert found[-1][2]["retry-after"] == "1"
    assert http.send("GET", "/healthcheck")[0] == 204  # it belongs to nobody


def test_requests_beyond_the_connections_are_told_to_wait_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running_server(f"sqlite:///{tmp_path / 'meta.db'}", tmp_path.as_uri(), max_connections=2) as running:
        http = Http(Place(running, lambda: ""))
        address = urlsplit(running.url)
        assert http.send("GET", "/healthcheck")[0] == 204
        assert [record for record in caplog.records if record.name == "graveler.connections"] == []
        with socket.create_connection((str(address.hostname), address.port or 0)):
            status, said, headers = http.send("GET", "/healthcheck")
            assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
            assert "too many connections" in json.loads(said)["message"]
            assert (headers["x-request-id"], "too many connections") in [
                (id_of(record), record.getMessage())
                for record in caplog.records
                if record.name == "graveler.connections"
            ]
        eventually = (http.send("GET", "/healthcheck")[0] for _ in range(100))
        assert 204 in eventually


def signed(tag: Tag, commit: Commit) -> None:
    """Refuse tags that are not signed."""
    if not tag.signature:
        raise PermissionDenied(f"tag {tag.id}: is not signed")


def test_the_server_verifies_tags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the function of the settings, before it creates them and on their pages."""
    store, given = f"sqlite:///{tmp_path / 'meta.db'}?durability=process", dict[str, Any]()
    monkeypatch.setattr("graveler.server.serving.serve", lambda *arguments, **options: given.update(options))
    monkeypatch.setenv("GRAVELER_TAG_VERIFIER", f"{__name__}:signed")
    assert run(["--store", store, "serve"]) == 0
    assert given["verify_tag"] is signed
    with running_server(store, tmp_path.as_uri(), verify_tag=given["verify_tag"]) as running:
        place = Place(running, lambda: "")
        repo = running.graveler.repository(place.repository())
        body = json.dumps({"id": "v1", "ref": "main"}).encode()
        answer = Http(place).send("POST", f"/repositories/{repo.id}/tags", body, {"Content-Type": "application/json"})
        assert (answer[0], json.loads(answer[1])["message"]) == (403, "tag v1: is not signed")
        repo.create_tag("v1", "main")
        repo.create_tag("v2", "main", signature="by ada")
        with visitor(place) as person:
            shown = [person.see(f"/ui/repositories/{repo.id}/tag?name={name}").text for name in ("v1", "v2")]
    assert "not verified: tag v1: is not signed" in shown[0]
    assert "valid" in shown[1]


def test_requests_are_counted_by_user_and_time() -> None:
    now = [0.0]
    limits = RequestLimits(2, 1, lambda: now[0])
    for _ in range(2):
        limits.admit("ada")
    with pytest.raises(SlowDown):
        limits.admit("ada")
    limits.admit("eve")
    now[0] += 0.5
    limits.admit("ada")
    with pytest.raises(SlowDown):
        limits.admit("ada")
    now[0] += 100  # a pause gives no more than a second's worth
    for _ in range(2):
        limits.admit("ada")
    with pytest.raises(SlowDown):
        limits.admit("ada")
    for number in range(MAX_USERS):
        limits.admit(f"user {number}")
    assert len(limits._allowances) == MAX_USERS
    slow = RequestLimits(0.5, 1, lambda: now[0])
    slow.admit("ada")
    with pytest.raises(SlowDown):
        slow.admit("ada")


def test_options_that_make_no_sense_are_refused() -> None:
    for wrong in ({"rate": -1}, {"rate": float("nan")}, {"max_uploads": 0}):
        with pytest.raises(InvalidInput):
            ServerOptions(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [20_000, 2_000_000])
def test_a_request_with_a_large_head_is_refused(limited: RunningServer, size: int) -> None:
    address, answer = urlsplit(limited.url), b""
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=30) as client:
        try:
            client.sendall(b"GET /_health HTTP/1.1\r\nX-Long: ")
            for _ in range(size // 1_000):
                client.sendall(b"x" * 1_000)
            client.sendall(b"\r\n\r\n")
            answer = client.recv(1_000)
        except ConnectionError:  # refused before its end
            answer = b"HTTP/1.1 400"
    assert answer.split()[1] == (b"200" if size < MAX_HEAD_BYTES else b"400")
