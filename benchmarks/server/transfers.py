"""Large objects through the S3 gateway: throughput of an upload and of a download."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import boto3
from botocore.config import Config

from benchmarks.scenario import Measured, Place, scenario
from benchmarks.server.requests import nothing
from benchmarks.server.servers import REPOSITORY, Served, serving

_ROUNDS: Final = 7
_PIECE: Final = 1 << 20


@scenario("server", nothing, sizes=(100_000_000,), counts="bytes")
def large_objects(place: Place) -> Iterator[Measured]:
    """Upload and download one object with boto3, in one request each.

    By default boto3 asks for a checksum, which only our server has, and compares it. So it does more work than with
    lakeFS. A second download asks for none.
    """
    content = os.urandom(place.size)
    with serving(place) as servers:
        clients = {served: _client(served, "when_supported") for served in servers}
        asking_nothing = {served: _client(served, "when_required") for served in servers}

        def upload(client: Any) -> None:
            client.put_object(Bucket=REPOSITORY, Key="main/large", Body=content)

        def download(client: Any) -> None:
            body = client.get_object(Bucket=REPOSITORY, Key="main/large")["Body"]
            received = sum(map(len, body.iter_chunks(_PIECE)))
            if received != len(content):
                raise RuntimeError(f"received {received} bytes")

        for name, work, used in (
            ("upload", upload, clients),
            ("download", download, clients),
            ("download without checksum", download, asking_nothing),
        ):
            found = {served: list[float]() for served in servers}
            for _ in range(_ROUNDS):
                for served, client in used.items():
                    found[served].append(place.size / 1e6 / _seconds(work, client))
            for served, rates in found.items():
                yield Measured(served.row(name), "MB/s", tuple(rates))
        for client in (*clients.values(), *asking_nothing.values()):
            client.close()


def _client(served: Served, compared: Literal["when_supported", "when_required"]) -> Any:
    config = Config(
        signature_version="s3v4",
        s3={"addressing_style": "path"},
        request_checksum_calculation="when_required",
        response_checksum_validation=compared,
    )
    return boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{served.port}",
        region_name="us-east-1",
        aws_access_key_id=served.access_key_id,
        aws_secret_access_key=served.secret,
        config=config,
    )


def _seconds(work: Callable[[Any], None], client: Any) -> float:
    begun = time.perf_counter()
    work(client)
    return time.perf_counter() - begun
