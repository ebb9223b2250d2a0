"""Requests to webhooks on a real connection: signature, token, answers, time limit."""

from __future__ import annotations

import hashlib
import hmac
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic import SecretStr

from graveler_core.model.hook_runs import MAX_HOOK_TEXT
from graveler_core.model.webhooks import HookEvent, Webhook
from graveler_core.stores.hooks import HookAnswer
from graveler_core.stores.webhook_request import post

BODY = b'{"event_type": "pre-commit"}'
Respond = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Received:
    """What a receiver got."""

    port: int = 0
    paths: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@contextmanager
def receiver(respond: Respond) -> Iterator[Received]:
    """A server on this machine, on a free port."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.paths.append(self.path)
            received.headers = {name.lower(): value for name, value in self.headers.items()}
            received.body = self.rfile.read(int(self.headers["content-length"]))
            respond(self)

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answering(status: int, text: bytes = b"", **headers: str) -> Respond:
    def respond(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    return respond


def sent(
    port: int,
    *,
    timeout: float = 20.0,
    path: str = "/hook?x=1",
    key: str = "key",
    token: str = "token",
    **fields: str,
) -> HookAnswer:
    events = (HookEvent.PRE_COMMIT,)
    hook = Webhook(name="hook", url=f"http://127.0.0.1:{port}{path}", events=events, timeout_seconds=timeout, **fields)
    secrets = {"GRAVELER_HOOK_KEY": SecretStr(key), "GRAVELER_HOOK_TOKEN": SecretStr(token)}
    return post(hook, "run1", "pre-commit", BODY, secrets.get)


def test_a_request_carries_the_event_and_a_signature() -> None:
    with receiver(answering(200, b"fine")) as received:
        answer = sent(received.port, secret_variable="GRAVELER_HOOK_KEY", token_variable="GRAVELER_HOOK_TOKEN")
    assert answer == HookAnswer(200, "fine", accepted=True)
    assert (received.paths, received.body) == (["/hook?x=1"], BODY)
    assert received.headers["content-type"] == "application/json"
    assert (received.headers["x-graveler-event"], received.headers["x-graveler-run"]) == ("pre-commit", "run1")
    assert received.headers["x-graveler-signature"] == "sha256=" + hmac.new(b"key", BODY, hashlib.sha256).hexdigest()
    assert received.headers["authorization"] == "Bearer token"


def test_without_a_secret_there_is_no_signature() -> None:
    with receiver(answering(204)) as received:
        assert sent(received.port, path="").accepted
    assert received.paths == ["/"]
    assert not {"authorization", "x-graveler-signature"} & received.headers.keys()


def test_a_variable_that_is_not_set_is_no_answer_and_nothing_is_sent() -> None:
    with receiver(answering(200)) as received:
        answer = sent(received.port, secret_variable="GRAVELER_HOOK_OTHER")
    message = "the environment variable GRAVELER_HOOK_OTHER is not set in this process"
    assert answer == HookAnswer(None, message, final=True)
    assert not answer.may_repeat
    assert not received.paths


@pytest.mark.parametrize("status", [302, 400, 404, 500])
def test_other_answers_do_not_accept_and_redirects_are_not_followed(status: int) -> None:
    with receiver(answering(status, b"no", Location="/elsewhere")) as received:
        assert sent(received.port) == HookAnswer(status, "no")
    assert received.paths == ["/hook?x=1"]


def test_a_long_answer_is_cut() -> None:
    with receiver(answering(200, "é".encode() * 1_000_000)) as received:
        assert sent(received.port).message == "é" * MAX_HOOK_TEXT


def test_a_receiver_that_never_ends_its_answer_is_cut_off() -> None:
    """The receiver sends a byte now and then, so no single wait takes long."""
    ended = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        try:
            while not ended.wait(0.02):
                handler.wfile.write(b"x")
        except OSError:
            ended.set()

    with receiver(drip) as received:
        answer = sent(received.port, timeout=0.3)
        ended.set()
    assert answer == HookAnswer(None, "no answer within 0.3 seconds")
    assert answer.may_repeat


@pytest.mark.parametrize(
    ("url", "port"),
    [("http://[::1]/", 80), ("https://[::1]/", 443), ("http://[::1]:8000/", 8000), ("https://[::1]:0/", 0)],
)
def test_a_host_may_be_an_address_of_ipv6(monkeypatch: pytest.MonkeyPatch, url: str, port: int) -> None:
    """Only an address without a port has the default port."""

    tried: list[tuple[str, int]] = []

    def refuse(address: tuple[str, int], *_: object) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    post(Webhook(name="hook", url=url, events=(HookEvent.PRE_COMMIT,)), "run1", "pre-commit", BODY, {}.get)
    assert tried == [("::1", port)]


def test_no_receiver_is_no_answer() -> None:
    with receiver(answering(200)) as received:
        pass
    answer = sent(received.port)
    assert (answer.status, answer.accepted, answer.may_repeat) == (None, False, True)
    assert answer.message.startswith("ConnectionRefusedError")


def test_an_answer_that_is_not_http_is_no_answer() -> None:
    with receiver(lambda handler: handler.wfile.write(b"hello\r\n\r\n") and None) as received:
        answer = sent(received.port)
    assert answer.status is None


@pytest.mark.parametrize("value", ["gehe\nim", "gehe\rim", "geheim\0", "gehe\u0142im", "gehe\udcffim"])
def test_a_token_that_no_header_can_hold_is_refused_by_its_name(value: str) -> None:
    with receiver(answering(200)) as received:
        answer = sent(received.port, token=value, token_variable="GRAVELER_HOOK_TOKEN")
    assert answer.message == (
        "the environment variable GRAVELER_HOOK_TOKEN holds characters other than printable ASCII, so it cannot be sent"
    )
    assert not received.paths


def test_whitespace_around_a_secret_is_ignored() -> None:
    fields = {"secret_variable": "GRAVELER_HOOK_KEY", "token_variable": "GRAVELER_HOOK_TOKEN"}
    with receiver(answering(200)) as received:
        assert sent(received.port, key="key\n", token=" token\r\n", **fields).accepted
    assert received.headers["x-graveler-signature"] == "sha256=" + hmac.new(b"key", BODY, hashlib.sha256).hexdigest()
    assert received.headers["authorization"] == "Bearer token"


def test_a_secret_of_any_bytes_signs() -> None:
    with receiver(answering(200)) as received:
        assert sent(received.port, key="k\n\u00e9\udcff", secret_variable="GRAVELER_HOOK_KEY").accepted
    expected = hmac.new(b"k\n\xc3\xa9\xff", BODY, hashlib.sha256).hexdigest()
    assert received.headers["x-graveler-signature"] == f"sha256={expected}"


def test_a_variable_of_whitespace_is_not_set() -> None:
    answer = sent(1, token="\n", token_variable="GRAVELER_HOOK_TOKEN")
    assert answer.message == "the environment variable GRAVELER_HOOK_TOKEN is not set in this process"


def test_a_token_that_the_receiver_repeats_is_not_shown() -> None:
    with receiver(answering(400, b"wrong header Authorization: Bearer geheim")) as received:
        answer = sent(received.port, token="geheim", token_variable="GRAVELER_HOOK_TOKEN")
    assert answer == HookAnswer(400, "wrong header Authorization: Bearer ***")


def test_no_error_shows_the_credentials_of_an_address() -> None:
    """Such addresses are refused, but a record may have one."""
    hook = Webhook(name="hook", url="http://ada:geheim/x@127.0.0.1:1/", events=(HookEvent.PRE_COMMIT,))
    answer = post(hook, "run1", "pre-commit", BODY, {}.get)
    assert answer.status is None
    assert "geheim" not in answer.message


@contextmanager
def listener(speak: Callable[[socket.socket], object]) -> Iterator[int]:
    """A port at which a function speaks to each connection, below HTTP and TLS."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=speak, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def dripping(start: bytes) -> Callable[[socket.socket], None]:
    def speak(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(start)
            while True:
                time.sleep(0.02)
                connection.sendall(b"x")

    return speak


SILENT = [].append
"""Keeps the connections, and says nothing."""


@pytest.mark.parametrize(
    ("scheme", "speak"),
    [
        pytest.param("http", SILENT, id="silent"),
        pytest.param("http", dripping(b"HTTP/1.1 200 OK\r\nX-Slow: "), id="slow head"),
        pytest.param("http", dripping(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), id="slow body"),
        pytest.param("https", SILENT, id="silent in the handshake"),
        pytest.param("https", dripping(b"\x16\x03\x03\x3f\xff"), id="slow handshake"),
    ],
)
def test_no_receiver_exceeds_the_time_limit_or_leaves_a_thread(
    scheme: str, speak: Callable[[socket.socket], object]
) -> None:
    with listener(speak) as port:
        hook = Webhook(name="slow", url=f"{scheme}://127.0.0.1:{port}/", events=(HookEvent.PRE_COMMIT,))
        begun = time.monotonic()
        answer = post(hook.model_copy(update={"timeout_seconds": 0.3}), "run1", "pre-commit", BODY, {}.get)
        assert time.monotonic() - begun < 5
        assert answer == HookAnswer(None, "no answer within 0.3 seconds")
        assert no_thread_is_left("slow")


def test_the_resolution_of_the_name_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent if the name is resolved too late."""
    resolved, resolve = threading.Event(), socket.getaddrinfo

    def slowly(*arguments: Any, **named: Any) -> Any:
        resolved.wait(5)
        return resolve(*arguments, **named)

    with receiver(answering(200)) as received:
        monkeypatch.setattr(socket, "getaddrinfo", slowly)
        assert sent(received.port, timeout=0.3) == HookAnswer(None, "no answer within 0.3 seconds")
        assert not resolved.is_set()
        resolved.set()
        assert no_thread_is_left("hook")
    assert not received.paths


def no_thread_is_left(hook: str) -> bool:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if all(thread.name != f"graveler-hook-{hook}" for thread in threading.enumerate()):
            return True
        time.sleep(0.01)
    return False
