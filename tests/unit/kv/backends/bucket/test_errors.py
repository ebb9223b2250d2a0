"""Every exception class of obstore, and the answers of services, become errors of the tree."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from obstore import exceptions
from obstore.store import S3Store

from graveler_core.blobs.failures import Verb
from graveler_core.errors import GravelerError, Kind, SlowDown
from graveler_core.kv.backends import backing_off
from graveler_core.kv.backends.bucket.errors import FAILURES, exists, has_changed, mapped
from graveler_core.kv.backends.bucket.requests import BucketRequests
from tests.servers.process import free_port

URL = "s3://bucket/lake"
BUSY = (Kind.StoreBusy, Kind.StoreBusy)
UNREACHABLE = (Kind.StoreUnreachable, Kind.StoreUnreachable)
DENIED = (Kind.PermissionDenied, Kind.PermissionDenied)
NO_BUCKET = (Kind.BucketNotFound, Kind.BucketNotFound)
ANSWERS = {
    "400 RequestTimeout": UNREACHABLE,
    "400 InvalidArgument": UNREACHABLE,
    "401 ": DENIED,
    "403 AccessDenied": DENIED,
    "403 RequestTimeTooSkewed": DENIED,
    "404 NoSuchBucket": NO_BUCKET,
    "404 ContainerNotFound": NO_BUCKET,
    "405 MethodNotAllowed": UNREACHABLE,
    "409 OperationAborted": BUSY,
    "429 ": BUSY,
    "500 InternalError": (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    "500 OperationTimedOut": (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    "501 NotImplemented": UNREACHABLE,
    "502 ": (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    "503 SlowDown": BUSY,
    "503 ServerBusy": BUSY,
    "503 ServiceUnavailable": (Kind.StoreBusy, Kind.OutcomeUnknown),
    "503 ": (Kind.StoreBusy, Kind.OutcomeUnknown),
    "504 ": (Kind.StoreUnreachable, Kind.OutcomeUnknown),
}
"""Kind after a read and after a write, by status and code of the answer."""


@contextmanager
def answering(answer: str) -> Iterator[tuple[BucketRequests, list[str]]]:
    """Requests to a service that always gives one answer, and the methods of the requests that it got."""
    status, _, code = answer.partition(" ")
    body = f"<Error><Code>{code}</Code></Error>".encode()
    methods: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            methods.append(self.command)
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(int(status))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Be silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            yield to_port(server.server_port), methods
        finally:
            server.shutdown()
            serving.join()


def to_port(port: int) -> BucketRequests:
    """Requests to a port of this machine, each of which is sent once."""
    options = {"endpoint": f"http://127.0.0.1:{port}", "allow_http": "true", "region": "us-east-1"}
    keys = {"access_key_id": "key", "secret_access_key": "hunter22"}
    once = {"max_retries": 0, "retry_timeout": timedelta(seconds=1)}
    store = S3Store("bucket", config={**options, **keys}, retry_config=once)  # type: ignore[arg-type]
    return BucketRequests(store, store, URL)


def told(work: object) -> GravelerError:
    assert callable(work)
    with pytest.raises(GravelerError) as caught:
        work()
    assert URL in caught.value.message
    assert "hunter22" not in repr(caught.value)
    return caught.value


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backing_off, "_PAUSE", 0)


def test_every_class_of_the_library_is_mapped() -> None:
    """Unless nothing was sent or the service has refused it, the outcome of a write is unknown."""
    found = [cls for _, cls in inspect.getmembers(exceptions, inspect.isclass) if issubclass(cls, Exception)]
    assert len(found) > 10
    for cls in (*found, FileNotFoundError, ConnectionError, ValueError):
        assert issubclass(cls, FAILURES)
        for verb in Verb:
            error = mapped(cls("as it happens"), verb, URL)
            assert type(error) is not GravelerError
            assert URL in error.message
    for cls in (exceptions.GenericError, exceptions.JoinError, exceptions.BaseError):
        assert mapped(cls("as it happens"), Verb.WRITE, URL).kind is Kind.OutcomeUnknown
        assert mapped(cls("as it happens"), Verb.READ, URL).kind is Kind.StoreUnreachable


@pytest.mark.parametrize(("answer", "expected"), ANSWERS.items(), ids=[answer.strip() for answer in ANSWERS])
def test_answers(answer: str, expected: tuple[Kind, Kind]) -> None:
    with answering(answer) as (requests, methods):
        assert told(lambda: requests.read("name")).kind is expected[0]
        assert told(lambda: list(requests.pages("directory"))).kind is expected[0]
        writes = (
            lambda: requests.put("name", b"x"),
            lambda: requests.create("name", b"x"),
            lambda: requests.replace("name", b"x", '"tag"'),
            lambda: requests.delete(["name"]),
        )
        for write in writes:
            methods.clear()
            error = told(write)
            assert error.kind is expected[1]
            assert len(methods) == (backing_off.ATTEMPTS if isinstance(error, SlowDown) else 1)


@pytest.mark.parametrize(
    ("answer", "created", "replaced"),
    [
        ("412 PreconditionFailed", None, None),
        ("409 BlobAlreadyExists", None, Kind.StoreUnreachable),
        ("409 ConditionalRequestConflict", Kind.StoreBusy, Kind.StoreBusy),
        ("404 NoSuchKey", Kind.BucketNotFound, None),
        ("304 ", None, None),
    ],
)
def test_answers_to_conditions(answer: str, created: Kind | None, replaced: Kind | None) -> None:
    """`None` means that the condition does not hold, and that the request was sent once."""
    with answering(answer) as (requests, methods):
        for write, expected in (
            (lambda: requests.create("name", b"x"), created),
            (lambda: requests.replace("name", b"x", '"tag"'), replaced),
        ):
            methods.clear()
            if expected is None:
                assert write() is None
                assert methods == ["PUT"]
            else:
                assert told(write).kind is expected


def test_an_absent_object_is_no_missing_bucket() -> None:
    with answering("404 NoSuchKey") as (requests, _):
        assert requests.read("name") is None
        requests.delete(["name"])


def test_nobody_listens() -> None:
    """The write was not sent."""
    requests = to_port(free_port())
    for work in (lambda: requests.read("name"), lambda: requests.put("name", b"x"), lambda: requests.create("n", b"x")):
        assert told(work).kind is Kind.StoreUnreachable


def test_losses() -> None:
    assert exists(exceptions.AlreadyExistsError("it is there"))
    assert not exists(exceptions.AlreadyExistsError("<Code>ConditionalRequestConflict</Code>"))
    assert not exists(exceptions.PreconditionError("changed"))
    assert has_changed(exceptions.PreconditionError("changed"))
    assert has_changed(exceptions.NotFoundError("<Code>NoSuchKey</Code>"))
    assert not has_changed(exceptions.PreconditionError("<Code>NoSuchBucket</Code>"))
    assert not has_changed(exceptions.GenericError("<Code>SlowDown</Code>"))
