"""HTTP connections to servers whose address a user gives."""

from __future__ import annotations

import ssl
from http.client import HTTP_PORT, HTTPS_PORT, HTTPConnection, HTTPSConnection
from urllib.parse import SplitResult


def http_connection(parts: SplitResult, timeout: float) -> HTTPConnection:
    """Return a connection to the server of a URL, which the first request opens.

    Port 0 stays 0. The classes of the standard library would take it for the default port.

    Args:
        parts: The URL, with the scheme `http` or `https`.
        timeout: Maximum time for each read and write, in seconds.

    Raises:
        ValueError: The port is not a number from 0 to 65535.
        http.client.InvalidURL: The host has characters that no host may have.
    """
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "https":
        port, context = HTTPS_PORT if port is None else port, ssl.create_default_context()
        return HTTPSConnection(host, port, timeout=timeout, context=context)
    return HTTPConnection(host, HTTP_PORT if port is None else port, timeout=timeout)
