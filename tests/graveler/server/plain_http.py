"""Plain HTTP requests to a running server."""

from __future__ import annotations

import base64
import urllib.request
from collections.abc import Mapping
from urllib.error import HTTPError

from tests.graveler.server.conftest import Place


def basic(id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{id}:{secret}".encode()).decode()


class Http:
    """Plain requests to a server as its administrator."""

    def __init__(self, place: Place, timeout: float | None = None) -> None:
        self.timeout = timeout
        self.url = place.server.url
        self.credentials = basic(str(place.server.admin.access_key_id), place.server.admin.secret.get_secret_value())

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, Mapping[str, str]]:
        sent = {"Authorization": self.credentials, **(headers or {})}
        request = urllib.request.Request(self.url + "/api/v1" + path, data=body, headers=sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                return response.status, response.read(), dict(response.headers.items())
        except HTTPError as error:
            with error:
                return error.code, error.read(), dict(error.headers.items())
