"""Plain HTTP requests to a running server."""

from __future__ import annotations

import base64
import urllib.request
from collections.abc import Mapping
from urllib.error import HTTPError
from uuid import uuid4

from graveler_core.model.iam import NewCredential
from tests.graveler.server.conftest import Place


def basic(id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{id}:{secret}".encode()).decode()


def user_who_may(place: Place, *actions: str) -> NewCredential:
    """Create a user with a policy that allows actions on everything. Return an access key that can sign requests."""
    iam, name = place.server.graveler.iam, f"user-{uuid4().hex[:8]}"
    iam.create_user(name)
    iam.create_policy(name, [{"effect": "allow", "actions": list(actions), "resources": ["*"]}])
    iam.attach_policy(name, user=name)
    return iam.create_credential(name, secrets_keys=place.server.secrets_keys)


def header_of(made: NewCredential) -> dict[str, str]:
    """Return the header with an access key and its secret."""
    return {"Authorization": basic(str(made.access_key_id), made.secret.get_secret_value())}


class Http:
    """Plain requests to a server as its administrator."""

    def __init__(self, place: Place, timeout: float | None = None) -> None:
        self.timeout = timeout
        self.url = place.server.url
        self.credentials = header_of(place.server.admin)["Authorization"]

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
