"""Uploads with `If-None-Match: *` that meet: of all that have begun, one creates the path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from threading import Barrier
from typing import Final
from urllib.parse import urlsplit

import lakefs_sdk
import pytest
from lakefs.client import Client
from lakefs_sdk import models as m
from lakefs_sdk.exceptions import ApiException

from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http
from tests.graveler.server.s3.clients import boto_clients

ABSENT: Final = {"If-None-Match": "*"}
CONTENTS: Final = (b"first upload", b"second upload", b"third upload")
PATHS: Final = ("raw/a", "raw/b", "raw/c", "d")

Send = Callable[[bytes, Barrier], int]


def sent_in_halves(method: str, url: str, headers: Mapping[str, str]) -> Send:
    """Return a function that sends a request, and the last half of the body when all have sent the first one."""

    def send(body: bytes, together: Barrier) -> int:
        address = urlsplit(url)
        connection = HTTPConnection(address.hostname, address.port, timeout=60)
        connection.putrequest(method, f"{address.path}?{address.query}")
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            connection.putheader(name, value)
        connection.endheaders(body[:3])
        together.wait(60)
        connection.send(body[3:])
        status = connection.getresponse().status
        connection.close()
        return status

    return send


def race(place: Place, name: str, path: str, send: Send) -> Counter[int]:
    """Send all contents at once. Return the number of answers with each status; the path has what the winner sent."""
    together = Barrier(len(CONTENTS))
    with ThreadPoolExecutor(len(CONTENTS)) as clients:
        answers = list(clients.map(lambda body: send(body, together), CONTENTS))
    won = [body for body, status in zip(CONTENTS, answers, strict=True) if status < 300]
    assert won == [place.server.graveler.repository(name).branch("main").read(path)]
    return Counter(answers)


def test_one_of_many_uploads_creates_a_path(place: Place) -> None:
    name, http = place.repository(), Http(place)
    for path in PATHS:
        at = f"/repositories/{name}/branches/main/objects?path={path}"
        send = sent_in_halves("POST", f"{place.server.url}/api/v1{at}", {**ABSENT, "Authorization": http.credentials})
        assert race(place, name, path, send) == {201: 1, 412: 2}
        assert http.send("POST", at, b"late", ABSENT)[0] == 412


def test_one_of_many_uploads_by_s3_creates_a_key(place: Place) -> None:
    name = place.repository()
    with boto_clients(place) as clients:
        client = clients.open()
        for path in PATHS:
            key = {"Bucket": name, "Key": f"main/{path}", "IfNoneMatch": "*"}
            send = sent_in_halves("PUT", client.generate_presigned_url("put_object", key), ABSENT)
            assert race(place, name, path, send) == {200: 1, 412: 2}


@pytest.mark.parametrize("others", [False, True], ids=["addresses of the server", "objects that were there"])
def test_one_of_many_links_creates_a_path(place: Place, others: bool) -> None:
    name, admin = place.repository(), place.server.admin
    client = Client(host=place.server.url, username=str(admin.access_key_id), password=admin.secret.get_secret_value())
    staging = lakefs_sdk.StagingApi(client.sdk_client._api)
    blobs = place.server.graveler._stores.blobs.at(f"{place.server.root}/{name}")
    for path in PATHS:

        def send(body: bytes, together: Barrier, path: str = path) -> int:
            address = f"{place.server.root}/{name}/data/{path}-{body[:3].decode()}"
            if not others:
                address = str(staging.get_physical_address(name, "main", path).physical_address)
            blobs.create(address.removeprefix(f"{place.server.root}/{name}/"), body)
            location = m.StagingLocation(physical_address=address)
            wanted = m.StagingMetadata(staging=location, checksum="tag", size_bytes=len(body))
            together.wait(60)
            try:
                staging.link_physical_address(name, "main", path, wanted, if_none_match="*")
            except ApiException as error:
                return int(error.status)
            return 200

        assert race(place, name, path, send) == {200: 1, 412: 2}
