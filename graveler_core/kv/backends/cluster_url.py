"""URLs of stores on a cluster: `scheme://user:password@host:port,host:port/path?tls=true&ca=FILE&cert=FILE&key=FILE`."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from graveler_core.errors import Unavailable
from graveler_core.kv.backends.url_options import invalid_url

_FILES: Final = ("ca", "cert", "key")
TLS_OPTIONS: Final = frozenset(("tls", *_FILES))
"""Options of the encryption."""


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """The parts of a URL before its options, decoded."""

    endpoints: tuple[tuple[str, int], ...]
    """Host and port of each endpoint. Addresses of version 6 are in brackets."""
    user: str | None
    password: str | None = field(repr=False)
    path: str
    """The path without the slash at its beginning. Empty if there is none."""


@dataclass(frozen=True, slots=True)
class Encryption:
    """Encryption of the connections to a cluster."""

    tls: bool = False
    ca: str | None = None
    """File with the certificates of trusted authorities. Default: those of the system."""
    cert: str | None = None
    """File with the certificate of this client."""
    key: str | None = None
    """File with the private key of this client."""

    def context(self, shown: str) -> ssl.SSLContext | None:
        """Return the context of the connections, or `None` if they are not encrypted.

        Args:
            shown: URL without secrets, for messages.

        Raises:
            Unavailable: A file with a certificate or key cannot be read.
        """
        if not self.tls:
            return None
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.cert is not None:
                context.load_cert_chain(self.cert, self.key)
        except OSError as error:
            raise Unavailable(f"the certificates of {shown} cannot be read: {error}", store=shown) from error
        return context


def parse_place(url: str, port: int) -> ClusterPlace:
    """Parse the URL of a store on a cluster, without its options.

    Args:
        url: The URL.
        port: Port of an endpoint that names none.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    place, _, path = url.partition("://")[2].partition("?")[0].partition("/")
    login, at, hosts = place.rpartition("@")
    user, colon, password = login.partition(":")
    if at and not (user and colon and password):
        raise invalid_url(url, "write user:password@host, or no user")
    endpoints = tuple(_endpoint(url, host, port) for host in hosts.split(","))
    return ClusterPlace(endpoints, unquote(user) or None, unquote(password) or None, unquote(path))


def parse_encryption(url: str, options: dict[str, str]) -> Encryption:
    """Return the encryption that the options of a URL ask for.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    tls = options.get("tls", "false")
    files = {name: options[name] for name in _FILES if name in options}
    if tls not in ("true", "false") or (files and tls == "false"):
        raise invalid_url(url, "tls is true or false; ca, cert and key require tls=true")
    if ("cert" in files) != ("key" in files):
        raise invalid_url(url, "cert and key are given together")
    return Encryption(tls == "true", **files)


def _endpoint(url: str, host: str, default: int) -> tuple[str, int]:
    name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    if not colon:
        name, port = host, str(default)
    if not name or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise invalid_url(url, "write host or host:port for each endpoint, separated by commas")
    return name, int(port)
