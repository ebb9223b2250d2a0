"""Tests of the responses of remote stores, and of missing responses, with a server that fails on request."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from obstore.store import S3Store

from graveler_core.blobs.open import open_blobs, open_bucket
from graveler_core.blobs.port import Blobs
from graveler_core.errors import GravelerError, Kind, NotFound, OutcomeUnknown, SlowDown, Unavailable
from graveler_core.model.address import namespace
from graveler_core.objects.sweep_register import HOLD_TIME, WORK_TIME

OPTIONS = {
    "access_key_id": "canary-key-id",
    "secret_access_key": "canary-secret",
    "region": "us-east-1",
    "allow_http": "true",
    "timeout": "30s",
    "max_retries": "0",
}


_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_KEY = re.compile(rb"<Key>(.*?)</Key>")


class Server:
    """Keeps objects by path, in a bucket "bucket"; each request takes the next step of `script` (none left: it works).

    Steps: a status as "503" or "409 Code"; `hang` and `close` before doing anything; `lost` does it, then hangs up.
    `half` sends half of the content and then nothing more.
    """

    def __init__(self) -> None:
        self.script: list[str] = []
        self.requests: list[str] = []
        self.objects: dict[str, bytes] = {}
        self.refused: dict[str, str] = {}
        """Codes for keys that are never deleted."""
        self.released = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def serve(self) -> None:
                server.serve(self)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = serve

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self) -> None:
        self.released.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def serve(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("content-length") or 0))
        self.requests.append(request.command)
        step = self.script.pop(0) if self.script else "work"
        if step == "hang":
            self.released.wait()
        if step in ("hang", "close"):
            request.close_connection = True
            return
        if step in ("work", "lost", "half"):
            status, content = self.work(request, body)
        else:
            status, content = int(step[:3]), f"<Error><Code>{step[4:]}</Code></Error>".encode()
        if step == "lost":
            request.close_connection = True
            return
        asked = _RANGE.fullmatch(request.headers.get("range", ""))
        if asked and status == 200:
            start, end, size = int(asked[1]), min(int(asked[2] or len(content)) + 1, len(content)), len(content)
            status, content = 206, content[start:end]
            request.send_response(status)
            request.send_header("content-range", f"bytes {start}-{end - 1}/{size}")
        else:
            request.send_response(status)
        request.send_header("content-length", str(len(content)))
        request.send_header("etag", '"1"')
        request.send_header("last-modified", "Sat, 01 Nov 2025 00:00:00 GMT")
        request.end_headers()
        if step == "half":
            request.wfile.write(content[: len(content) // 2])
            self.released.wait()
            request.close_connection = True
        elif request.command != "HEAD":
            request.wfile.write(content)

    def work(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes]:
        if request.command == "PUT":
            if request.headers.get("if-none-match") == "*" and request.path in self.objects:
                return 412, b""
            self.objects[request.path] = body
            return 200, b""
        if request.command == "POST":
            return 200, b"<DeleteResult>%s</DeleteResult>" % b"".join(map(self.delete, _KEY.findall(body)))
        found = self.objects.get(request.path)
        return (404, b"") if found is None else (200, found)

    def delete(self, key: bytes) -> bytes:
        code = self.refused.get(key.decode())
        if code is not None:
            return b"<Error><Key>%s</Key><Code>%s</Code><Message>no</Message></Error>" % (key, code.encode())
        self.objects.pop(f"/bucket/{key.decode()}", None)
        return b"<Deleted><Key>%s</Key></Deleted>" % key


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


def _opened(server: Server, **options: str) -> Blobs:
    return open_blobs("s3://bucket", {**OPTIONS, "endpoint": f"http://127.0.0.1:{server.http.server_port}", **options})


@pytest.fixture
def blobs(server: Server) -> Blobs:
    return _opened(server)


@pytest.fixture
def impatient(server: Server) -> Blobs:
    """The objects as `blobs`, for answers that do not come. A slow machine must not need as long for the others."""
    return _opened(server, timeout="300ms")


def test_works(server: Server, blobs: Blobs) -> None:
    assert blobs.create("a", b"1") is True
    assert blobs.create("a", b"2") is False
    assert blobs.read("a") == b"1"
    assert server.requests == ["PUT", "PUT", "GET"]


@pytest.mark.parametrize("lost", ["lost", "hang", "close", "500", "502", "504"])
def test_a_lost_reply_is_repeated(server: Server, impatient: Blobs, lost: str) -> None:
    server.script = [lost]
    assert impatient.create("a", b"1") is True
    assert impatient.read("a") == b"1"
    assert server.requests[:2] == ["PUT", "PUT"]


@pytest.fixture
def repeating(server: Server) -> Blobs:
    """The objects as `blobs`, but obstore itself repeats requests, as it does by default."""
    return _opened(server, max_retries="10")


@pytest.mark.parametrize("script", [["lost"], ["lost", "409 ConditionalRequestConflict"]], ids=" ".join)
def test_a_request_that_obstore_repeats_creates_the_object(server: Server, repeating: Blobs, script: list[str]) -> None:
    server.script = list(script)
    assert repeating.create("a", b"1") is True
    assert server.requests[:2] == ["PUT", "PUT"]
    assert server.objects == {"/bucket/a": b"1"}


def test_a_request_that_obstore_repeats_tells_anothers_object_apart(server: Server, repeating: Blobs) -> None:
    server.objects["/bucket/a"] = b"another's"
    server.script = ["503 SlowDown"]
    assert repeating.create("a", b"1") is False
    assert server.requests == ["PUT", "PUT", "GET"]
    assert repeating.create("a", b"another's") is False
    assert server.requests[3:] == ["PUT"]


@pytest.mark.parametrize("there", [b"1", b"another's", None])
def test_an_object_that_may_have_existed_is_not_surely_new(
    server: Server, repeating: Blobs, there: bytes | None
) -> None:
    if there is not None:
        server.objects["/bucket/a"] = there
    server.script = ["503 SlowDown"]
    assert repeating.create("a", b"1", sure=True) is (there is None)
    assert server.requests == ["PUT", "PUT"]
    server.script = ["lost"]
    assert repeating.create("b", b"1", sure=True) is False, "it is unknown who has created it"


def test_content_that_does_not_arrive_in_time_is_continued(server: Server) -> None:
    server.objects["/bucket/a"] = b"0123456789"
    server.script = ["half"]
    repeating = _opened(server, timeout="300ms", max_retries="10")
    assert repeating.read("a") == b"0123456789"
    assert server.requests == ["GET", "GET"]


def test_a_late_request_is_repeated_by_default() -> None:
    """obstore repeats nothing later than `retry_timeout`, and a request is late after 30 seconds. The register of
    sweeps needs an end of all repetitions in time.
    """
    store = open_bucket(namespace("s3://bucket"), {"region": "us-east-1"})
    assert isinstance(store, S3Store)
    retry = store.retry_config
    assert retry is not None
    late, pause = timedelta(seconds=30), timedelta(seconds=15)
    assert retry["retry_timeout"] >= 2 * late
    assert retry["retry_timeout"] + pause + late < HOLD_TIME - WORK_TIME


def test_after_a_lost_reply_a_conflict_is_waited_out(server: Server, blobs: Blobs) -> None:
    server.script = ["close", "409 ConditionalRequestConflict"]
    assert blobs.create("a", b"1") is True
    assert server.requests == ["PUT", "PUT", "HEAD", "PUT"]


def test_after_a_lost_reply_anothers_object_is_told_apart(server: Server, blobs: Blobs) -> None:
    server.objects["/bucket/a"] = b"another's"
    server.script = ["close"]
    assert blobs.create("a", b"1") is False
    assert blobs.read("a") == b"another's"


def test_replies_lost_again_and_again_leave_the_outcome_open(server: Server, impatient: Blobs) -> None:
    server.script = ["lost", "close", "hang"]
    with pytest.raises(OutcomeUnknown, match="s3://bucket/a"):
        impatient.create("a", b"1")
    assert len(server.requests) == 3


def test_a_write_under_way_elsewhere_is_waited_out(server: Server, blobs: Blobs) -> None:
    server.script = ["409 ConditionalRequestConflict"]
    assert blobs.create("a", b"1") is True
    server.script = ["409 ConditionalRequestConflict"]
    assert blobs.create("a", b"1") is False
    server.script = ["409 ConditionalRequestConflict", "work"] * 5
    with pytest.raises(SlowDown):
        blobs.create("b", b"1")
    assert "/bucket/b" not in server.objects


EVERY = ("create", "read", "read_range", "head", "list", "delete", "renew")


def _call(blobs: Blobs, verb: str) -> object:
    match verb:
        case "create":
            return blobs.create("a", b"1")
        case "read_range":
            return blobs.read_range("a", 0, 1)
        case "list":
            return list(blobs.list())
        case _:
            return getattr(blobs, verb)("a")


@pytest.mark.parametrize("verb", EVERY)
@pytest.mark.parametrize("status", ["503 SlowDown", "429 TooManyRequests"])
def test_throttling(server: Server, blobs: Blobs, verb: str, status: str) -> None:
    server.script = [status] * 3
    with pytest.raises(SlowDown):
        _call(blobs, verb)
    assert len(server.requests) == 1


@pytest.mark.parametrize("verb", EVERY)
@pytest.mark.parametrize("status", ["401 Unauthorized", "403 AccessDenied"])
def test_no_permission(server: Server, blobs: Blobs, verb: str, status: str) -> None:
    server.script = [status] * 3
    with pytest.raises(Unavailable, match="not permitted") as caught:
        _call(blobs, verb)
    assert caught.value.kind is Kind.PermissionDenied


@pytest.mark.parametrize("verb", EVERY)
def test_no_space(server: Server, blobs: Blobs, verb: str) -> None:
    server.script = ["507 Full"] * 3
    with pytest.raises(Unavailable) as caught:
        _call(blobs, verb)
    assert caught.value.kind is Kind.StoreFull


@pytest.mark.parametrize("verb", ["create", "list", "read"])
def test_no_bucket(server: Server, blobs: Blobs, verb: str) -> None:
    server.script = ["404 NoSuchBucket"] * 3
    with pytest.raises(Unavailable):
        _call(blobs, verb)


def test_no_object(blobs: Blobs) -> None:
    with pytest.raises(NotFound):
        blobs.read("a")
    assert blobs.head("a") is None
    assert blobs.renew("a") is False


@pytest.mark.parametrize("verb", EVERY)
@pytest.mark.parametrize("step", ["hang", "close", "500", "400 Bad"])
def test_nothing_but_our_errors_and_no_secret(server: Server, impatient: Blobs, verb: str, step: str) -> None:
    server.script = [step] * 9
    with pytest.raises(GravelerError) as caught:
        _call(impatient, verb)
    if verb == "delete" and step != "400 Bad":
        assert isinstance(caught.value, OutcomeUnknown)
    seen = "".join(map(repr, (caught.value, caught.value.details, impatient, caught.value.__cause__)))
    assert "canary" not in seen
    assert "127.0.0.1" not in seen


@pytest.mark.parametrize("verb", EVERY)
def test_nobody_there(server: Server, verb: str) -> None:
    """Refused connections never leave an outcome open."""
    closed = Server()
    port = closed.http.server_port
    closed.stop()
    blobs = open_blobs("s3://bucket", {**OPTIONS, "endpoint": f"http://127.0.0.1:{port}"})
    with pytest.raises(Unavailable, match="Connect") as caught:
        _call(blobs, verb)
    assert caught.value.kind is Kind.StoreUnreachable
