"""Client of the JSON gateway of etcd: endpoints, authentication, and requests that are sent once.

A request goes to one endpoint of the cluster. The next endpoint is used if this one cannot be connected to, because
nothing was sent then. A read is also repeated if no answer arrives, a write never. If an endpoint does not answer, or
answers that its member has no leader, later requests go to the next endpoint.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass, field
from typing import Any, Final

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, Timeout
from urllib3.connection import HTTPConnection
from urllib3.exceptions import HTTPError

from graveler_core.errors import Unavailable
from graveler_core.kv.backends.backing_off import backing_off
from graveler_core.kv.backends.cluster_url import TLS_OPTIONS, Encryption, parse_encryption, parse_place
from graveler_core.kv.backends.etcd.errors import NOT_SENT, concerns_member, failed, needs_new_token, refused
from graveler_core.kv.backends.keepalive import TCP_OPTIONS
from graveler_core.kv.backends.key_space import KeySpace
from graveler_core.kv.backends.url_options import ANSWER_SECONDS, CONNECT_SECONDS, invalid_url, query_options, seconds
from graveler_core.model.forks import ForkSafe
from graveler_core.telemetry.secrets import without_password

_PORT: Final = 2379
_PREFIX: Final = "graveler"
_OPTIONS: Final = TLS_OPTIONS | {"timeout"}
_KEPT: Final = 20
"""Number of idle connections that stay open for each endpoint."""
_KEEPALIVE: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *((socket.IPPROTO_TCP, option, value) for option, value in TCP_OPTIONS.items()),
)
"""Options of the sockets."""


@dataclass(frozen=True, slots=True)
class ClusterTarget:
    """Cluster to use, and the prefix of all keys of the store."""

    endpoints: tuple[tuple[str, int], ...]
    """Host and port of each endpoint."""
    prefix: bytes
    shown: str
    """URL without secrets, for messages."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    encryption: Encryption = field(default_factory=Encryption)
    timeout: float = ANSWER_SECONDS
    """Maximum time in seconds until an answer arrives."""

    @property
    def key_space(self) -> KeySpace:
        """Names of the rows: they begin with the prefix and a slash."""
        return KeySpace(self.prefix + b"/")

    def connect(self) -> tuple[HTTPConnectionPool, ...]:
        """Return a pool of connections for each endpoint.

        Raises:
            Unavailable: A file with a certificate or key cannot be read.
        """
        options: dict[str, Any] = {
            "maxsize": _KEPT,
            "timeout": Timeout(connect=CONNECT_SECONDS, read=self.timeout),
            "socket_options": [*HTTPConnection.default_socket_options, *_KEEPALIVE],
        }
        context = self.encryption.context(self.shown)
        if context is None:
            return tuple(HTTPConnectionPool(*each, **options) for each in self.endpoints)
        return tuple(HTTPSConnectionPool(*each, **options, ssl_context=context) for each in self.endpoints)


def parse_url(url: str) -> ClusterTarget:
    """Parse `etcd://user:password@host:port,host:port/prefix?tls=true&ca=FILE&cert=FILE&key=FILE`.

    The default port is 2379, the default prefix `graveler`. User, password and options are not required. The option
    `timeout` is the maximum time in seconds until an answer arrives.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    place = parse_place(url, _PORT)
    prefix = place.path or _PREFIX
    if prefix.strip("/") != prefix or "//" in prefix or not prefix.isprintable():
        raise invalid_url(url, "the prefix consists of printable characters, without a slash at its end")
    options = query_options(url, _OPTIONS)
    return ClusterTarget(
        place.endpoints,
        prefix.encode(),
        without_password(url.partition("?")[0]),
        place.user,
        place.password,
        parse_encryption(url, options),
        seconds(url, options.get("timeout"), ANSWER_SECONDS),
    )


class EtcdClient(ForkSafe):
    """Client of one cluster. After a fork, the child opens connections of its own."""

    def __init__(self, target: ClusterTarget) -> None:
        super().__init__()
        self.target = target
        self._pools: tuple[HTTPConnectionPool, ...] = ()
        self._process = 0
        self._current = 0
        self._token: str | None = None
        self._closed = False

    def close(self) -> None:
        """Close the connections. Later requests raise `Unavailable`."""
        self._closed = True
        if self._process == os.getpid():
            for pool in self._pools:
                pool.close()

    def read(self, path: str, **body: Any) -> dict[str, Any]:
        """Send a request that only reads. It is sent once more if no answer arrives.

        Args:
            path: Path below `/v3/`, such as `kv/range`.
            body: Fields of the request. Bytes are in base64.

        Raises:
            SlowDown: The cluster was busy or had no leader during several attempts.
            Unavailable: The cluster cannot be reached.
        """
        first = self._current
        try:
            return backing_off(lambda: self._authenticated(path, body, writing=False))
        except Unavailable:
            if self._current == first:
                self._current = first + 1
            return backing_off(lambda: self._authenticated(path, body, writing=False))

    def write(self, path: str, **body: Any) -> dict[str, Any]:
        """Send a request that writes. It is sent again only if the cluster has refused it.

        Args:
            path: Path below `/v3/`, such as `kv/put`.
            body: Fields of the request. Bytes are in base64.

        Raises:
            OutcomeUnknown: The request may have been executed.
            SlowDown: The cluster was busy during several attempts.
            Unavailable: The cluster cannot be reached.
        """
        return backing_off(lambda: self._authenticated(path, body, writing=True))

    def _authenticated(self, path: str, body: dict[str, Any], *, writing: bool) -> dict[str, Any]:
        """Send a request with a token, if the target has a user. Tokens expire after some minutes."""
        if self.target.user is None:
            return self._answered(path, self._send(path, body, None, writing=writing), writing=writing)
        token = self._token or self._new_token(None)
        response = self._send(path, body, token, writing=writing)
        if response.status != 200 and needs_new_token(_failure(response)[1]):
            response = self._send(path, body, self._new_token(token), writing=writing)
        return self._answered(path, response, writing=writing)

    def _new_token(self, old: str | None) -> str:
        """Return a token. One thread asks for it, and the others take that one."""
        with self._lock:
            if self._token is None or self._token == old:
                login = {"name": self.target.user, "password": self.target.password}
                path = "auth/authenticate"
                answer = self._answered(path, self._send(path, login, None, writing=False), writing=False)
                self._token = str(answer["token"])
            return self._token

    def _send(self, path: str, body: dict[str, Any], token: str | None, *, writing: bool) -> BaseHTTPResponse:
        headers = {"Content-Type": "application/json", **({"Authorization": token} if token else {})}
        content = json.dumps(body).encode()
        pools = self._connected()
        first = self._current
        for number in range(first, first + len(pools)):
            try:
                pool = pools[number % len(pools)]
                response = pool.request("POST", f"/v3/{path}", body=content, headers=headers, retries=False)
            except NOT_SENT as error:
                self._current = number + 1
                failure = failed(error, self.target.shown, writing=writing)
            except HTTPError as error:
                self._current = number + 1
                raise failed(error, self.target.shown, writing=writing) from error
            else:
                if not _tells_its_end(response):
                    self._current = number + 1
                    raise failed(HTTPError("the answer was cut off"), self.target.shown, writing=writing)
                if response.status != 200 and concerns_member(_failure(response)[0], response.status):
                    self._current = number + 1
                return response
        raise failure

    def _answered(self, path: str, response: BaseHTTPResponse, *, writing: bool) -> dict[str, Any]:
        if response.status != 200:
            code, text = _failure(response)
            raise refused(code, response.status, text, self.target.shown, writing=writing)
        try:
            answer = json.loads(response.data)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise refused(None, 404, f"{path}: {response.data[:80]!r}", self.target.shown, writing=writing)
        date = response.headers.get("Date")
        return answer if date is None else {**answer, "date": date}

    def _connected(self) -> tuple[HTTPConnectionPool, ...]:
        if self._closed:
            raise Unavailable(f"the store {self.target.shown} was closed", store=self.target.shown)
        if self._process != os.getpid():
            self._pools, self._process = self.target.connect(), os.getpid()
        return self._pools


def _tells_its_end(response: BaseHTTPResponse) -> bool:
    """Return true if the headers say where the answer ends, so that urllib3 has noticed a missing part.

    If the connection ends within the headers, it takes that for their end, and the answer for an empty one.
    """
    length = response.headers.get("Content-Length", "")
    return length.isdecimal() or response.headers.get("Transfer-Encoding") == "chunked"


def _failure(response: BaseHTTPResponse) -> tuple[int | None, str]:
    """Return the gRPC code and the text of an answer that is not a success."""
    try:
        told = json.loads(response.data)
        return int(told["code"]), str(told.get("error") or told.get("message"))
    except (ValueError, TypeError, KeyError):
        return None, response.data[:200].decode(errors="replace")
