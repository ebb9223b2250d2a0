"""Running of the server on a store: from a URL to a listening socket."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType
from typing import Any, Final

import uvicorn
from pydantic import SecretStr
from starlette.types import ASGIApp

from graveler.server.api.call import ApiSettings
from graveler.server.application import create_application
from graveler.server.authentication import Authentication, SignedIn
from graveler.server.cross_site_protection import CrossSiteProtection, is_loopback
from graveler.server.ending import leave
from graveler.server.http_protocol import HttpProtocol
from graveler.server.limits import RequestLimits
from graveler.server.local_files import LocalFiles
from graveler.server.observing import ObservedApplication, ServerMetrics
from graveler.server.parts import ServerParts, ServerUsers, SharedParts
from graveler.server.processes import run_processes
from graveler.server.s3.gateway import S3Gateway, S3Users
from graveler.server.s3.signing_users import SigningUsers
from graveler.server.sessions import UserSessions
from graveler.server.shared_metrics import MetricsBoard
from graveler.server.task_runner import TaskRunner
from graveler.server.worker_threads import operations_run
from graveler_core.errors import InvalidInput, Kind, PermissionDenied, Unavailable
from graveler_core.model.credentials import Credentials
from graveler_core.model.secrets_keys import SecretsKeys
from graveler_core.stores import Stores
from graveler_core.stores.hooks import TagVerifier
from graveler_core.telemetry.spans import send_spans
from graveler_core.wiring.opening import open_stores
from graveler_core.wiring.users import session_user, sign_in, signing_user

STOP_SECONDS: Final = 30
"""Seconds for which a stopping server waits for requests under way."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Address and limits of a server."""

    host: str = "127.0.0.1"
    port: int = 8000
    open: bool = False
    """Serve a store without access control to everyone who reaches the address, which must be a loopback address."""
    tls_certificate: str | None = None
    """File with the certificate, in PEM form."""
    tls_key: str | None = None
    """File with the private key of the certificate."""
    storage_root: str = ""
    """URI below which namespaces `local://…` are."""
    local_files: tuple[str, ...] = ()
    """Directories besides the storage root whose files users may name, on a store with access control."""
    presign: bool = False
    """Tell clients to read and write content by signed URLs of the object stores, past the server."""
    rate: float = 0
    """Requests per second that one user may send to this process. 0 means any number."""
    max_uploads: int = 64
    """Uploads that this process receives at once."""
    secrets_keys: SecretsKeys | None = None
    """Keys that decrypt the secrets of access keys, for S3 clients."""
    s3_signature_v2: bool = False
    """Accept signatures of version 2 from S3 clients."""
    s3_domains: tuple[str, ...] = ()
    """Names of hosts below which an S3 bucket is a subdomain."""
    max_connections: int = 1_000
    """Number of connections of a process at which further requests are answered with 503."""
    processes: int = 1
    """Number of processes that serve the address. Each has its own caches, limits and metrics."""
    verify_tag: TagVerifier | None = None
    """Function that verifies tags, as for `graveler.connect`."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise InvalidInput(f"port {self.port}: must be a number from 0 to 65535")
        if not 0 <= self.rate < float("inf"):
            raise InvalidInput(f"rate {self.rate}: must be a number of requests per second, or 0 for no limit")
        if self.processes < 1:
            raise InvalidInput(f"processes {self.processes}: must be at least 1")
        if self.max_uploads < 1:
            raise InvalidInput(f"max uploads {self.max_uploads}: must be at least 1")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise InvalidInput("TLS: give both the certificate and its key, or neither")

    @property
    def url(self) -> str:
        """Address for clients."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.tls_certificate is None else 'https'}://{host}:{self.port}"


def serve(url: str, storage_options: Mapping[str, str], started: Callable[[str], object], **options: Any) -> None:
    """Serve a store until the process is told to stop. Requests under way are finished first.

    Args:
        url: URL of the key-value store, as for `graveler.connect`.
        storage_options: Options of the object stores, as for `graveler.connect`.
        started: Called with the address of the server when it accepts requests.
        options: Fields of `ServerOptions`.

    Raises:
        InvalidInput: An option is not valid; or the store has no access control, and the server is not open or its
            address is not loopback; or several processes are to serve a store in memory.
        Unavailable: The address is in use, or one of several processes ended by itself.
        GravelerError: As for `graveler.connect`.
    """
    checked = ServerOptions(**options)
    if checked.processes > 1 and url.startswith("memory:"):
        raise InvalidInput(f"processes {checked.processes}: a store in memory belongs to one process")
    with listening(checked) as server_socket:
        address = replace(checked, port=server_socket.getsockname()[1]).url
        shared = SharedParts(MetricsBoard(checked.processes) if checked.processes > 1 else None)
        opened = partial(open_stores, url, storage_options=storage_options or None)
        serving = partial(_serve_on, server_socket, opened, checked, shared)
        if checked.processes == 1:
            serving(partial(started, address))
        else:
            run_processes(checked.processes, serving, partial(started, address))


def _serve_on(
    server_socket: socket.socket,
    open: Callable[[], Stores],
    checked: ServerOptions,
    shared: SharedParts,
    ready: Callable[[], object],
) -> None:
    """Serve the connections of a listening socket until the process is told to stop."""
    stores = open()
    tasks = TaskRunner()
    try:
        config = uvicorn.Config(
            application_of(stores, checked, tasks, shared=shared),
            http=HttpProtocol,
            ssl_certfile=checked.tls_certificate,
            ssl_keyfile=checked.tls_key,
            limit_concurrency=checked.max_connections,
            timeout_graceful_shutdown=STOP_SECONDS,
            lifespan="off",
            server_header=False,
            access_log=False,
            log_level="warning",
        )
        ready()
        _StoppableServer(config, alone=checked.processes == 1).run([server_socket])
    finally:
        # Operations and tasks that still run end with the process, as after a crash. Another server continues tasks.
        late = operations_run()
        if tasks.idle and not late:
            stores.close()
    if late:
        send_spans()
        leave()


def application_of(
    stores: Stores,
    options: ServerOptions,
    tasks: TaskRunner,
    limits: RequestLimits | None = None,
    shared: SharedParts | None = None,
) -> ASGIApp:
    """Return the application of a server on some stores: the API, and the S3 gateway on the same port.

    Args:
        stores: The stores.
        options: Options of the server.
        tasks: Runs tasks that outlive a request.
        limits: Limits of requests. By default, those of the options.
        shared: What the processes of the server share. By default, it has one process.

    Raises:
        InvalidInput: As for `serve`.
    """
    if options.verify_tag is not None:
        stores = replace(stores, hooks=replace(stores.hooks, verify_tag=options.verify_tag))
    users = users_of(stores, options)
    signing = None
    if users.authentication is not None:
        signing = SigningUsers(lambda id: _signer(stores, options, id), version_2=options.s3_signature_v2)
    local = LocalFiles(options.storage_root, options.local_files) if users.everyone is None else None
    settings = ApiSettings(options.storage_root, options.presign, options.secrets_keys, local)
    limits, shared = limits or RequestLimits(options.rate, options.max_uploads), shared or SharedParts()
    parts = ServerParts(users, settings, tasks, limits, shared)
    gateway = S3Gateway(create_application(parts), S3Users(signing, users.everyone), parts, options.s3_domains)
    served = gateway if users.everyone is None else CrossSiteProtection(gateway, options.s3_domains)
    return ObservedApplication(served, ServerMetrics(shared.board), gateway.is_s3)


class _StoppableServer(uvicorn.Server):
    """Server that ends normally on SIGTERM and SIGINT, so that its stores are closed.

    A second signal ends a server of one process at once. Each of several processes ignores it, because it may get the
    first one twice: from a supervisor that signals every process, and from its parent. The parent kills its processes
    on its own second signal.
    """

    def __init__(self, config: uvicorn.Config, *, alone: bool) -> None:
        super().__init__(config)
        self._alone = alone

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop the server on the first signal. On the second one, end the process if it is alone."""
        if not self.should_exit:
            super().handle_exit(sig, frame)
        elif self._alone:
            leave()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop the server on a signal, and restore the former handlers afterwards."""
        former = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)


def users_of(stores: Stores, options: ServerOptions) -> ServerUsers:
    """Return the users of a server on some stores.

    Args:
        stores: The stores.
        options: Options of the server.

    Raises:
        InvalidInput: As for `serve`.
    """
    try:
        everyone = sign_in(stores, None)
    except PermissionDenied:
        if options.open:
            raise InvalidInput("--open: the store has access control; leave the option out") from None
        sessions = UserSessions(partial(_session_user, stores))
        authentication = Authentication(partial(_signed_in, stores), sessions.resume)
        return ServerUsers(authentication, sessions, partial(_reach, stores), None)
    if not options.open:
        raise InvalidInput(
            "the store has no access control, so a server would let everyone do everything: run `graveler iam setup`, "
            "or serve it on this machine only, with --open"
        )
    if not is_loopback(options.host):
        raise InvalidInput(f"--open: the host {options.host!r} must be a loopback address such as 127.0.0.1")
    return ServerUsers(None, None, partial(_reach, stores), SignedIn("", everyone))


def _reach(stores: Stores) -> None:
    """Read the store once."""
    with suppress(PermissionDenied):  # it has access control, which this read has found
        sign_in(stores, None)


def _signer(stores: Stores, options: ServerOptions, access_key_id: str) -> tuple[SignedIn, SecretStr]:
    if options.secrets_keys is None:
        raise PermissionDenied(
            "the server has no secrets key, so it cannot verify signatures: set GRAVELER_SERVER_KEY or give "
            "--secrets-key-file when you start it",
            kind=Kind.SecretNotKept,
        )
    handle, secret = signing_user(stores, options.secrets_keys, access_key_id)
    return SignedIn(handle.user or "", handle), secret


def _signed_in(stores: Stores, given: Credentials) -> SignedIn:
    handle = sign_in(stores, given)
    return SignedIn(handle.user or "", handle)


def _session_user(stores: Stores, access_key_id: str) -> tuple[SignedIn, bytes]:
    handle, key = session_user(stores, access_key_id)
    return SignedIn(handle.user or "", handle), key


def listening(options: ServerOptions) -> socket.socket:
    """Return a socket that listens on the address, so that clients can connect before the server's loop runs."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family, backlog=2_048)
    except OSError as error:
        raise Unavailable(f"cannot listen on {options.url}: {error.strerror or error}") from error
