"""Servers that are compared: ours, and lakeFS at its defaults and tuned."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import psycopg

import graveler
from benchmarks.scenario import Place
from graveler import SecretsKeys
from graveler_core.kv.backends.dynamodb.table import parse_url

REPOSITORY: Final = "bench"
_KEY, _SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
_PROCESSES: Final = 2
"""Number of processes of our second server: one for each core of the machine whose figures are shown."""
_PATIENCE: Final = 60
"""Seconds until a server that does not answer is given up."""


@dataclass(frozen=True, slots=True)
class Served:
    """A running server with an empty repository."""

    name: str
    """Name for rows: "" for ours."""
    port: int
    access_key_id: str
    secret: str

    def connect(self) -> ServerConnection:
        """Return a connection that is kept open."""
        return ServerConnection(self)

    def row(self, what: str) -> str:
        """Return the name of a row."""
        return f"{what}, {self.name}" if self.name else what


class Refused(RuntimeError):
    """Answer with the status of an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ServerConnection:
    """A connection that sends one request after the other."""

    def __init__(self, served: Served) -> None:
        self._http = HTTPConnection("127.0.0.1", served.port, timeout=_PATIENCE)
        pair = base64.b64encode(f"{served.access_key_id}:{served.secret}".encode()).decode()
        self._headers = {"Authorization": f"Basic {pair}"}

    def __enter__(self) -> ServerConnection:
        return self

    def __exit__(self, *error: object) -> None:
        self.open_again()

    def open_again(self) -> None:
        """Close the connection, which the server may have closed. The next request opens another one."""
        self._http.close()

    def send(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request to the API, and return the answer.

        Args:
            method: Method of HTTP.
            path: Path below the repository.
            body: Bytes, or a value that is sent as JSON.
        """
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        self._http.request(method, f"/api/v1/repositories{path}", content, {**self._headers, "Content-Type": kind})
        answer = self._http.getresponse()
        said: bytes = answer.read()
        if answer.status >= 300:
            raise Refused(answer.status, f"{method} {path}: {answer.status} {said!r}")
        return said


@contextmanager
def serving(place: Place) -> Iterator[list[Served]]:
    """Run the servers until the end of the context. Each has the repository `REPOSITORY`."""
    lakefs = os.environ.get("LAKEFS")
    with ExitStack() as stack, tempfile.TemporaryDirectory() as directory:
        found = [stack.enter_context(_ours(place, Path(directory), processes)) for processes in (1, _PROCESSES)]
        if lakefs:
            for name, settings in (("lakeFS", {}), ("lakeFS tuned", {"GRAVELER_MAX_BATCH_DELAY": "0s"})):
                own = Path(directory, name.replace(" ", "-"))
                own.mkdir()
                found.append(stack.enter_context(_theirs(place, own, lakefs, name, settings)))
        for served in found:
            with served.connect() as connection:
                connection.send("POST", "", {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"})
        yield found


@contextmanager
def _ours(place: Place, parent: Path, processes: int) -> Iterator[Served]:
    name = "" if processes == 1 else f"{processes} processes"
    directory, store = parent / f"graveler-{processes}", place.store
    directory.mkdir()
    if store.startswith("memory"):  # a process of its own cannot use it
        store = f"sqlite:///{directory}/meta.db"
    elif store.startswith("postgresql"):  # each scenario sets up access control
        database = _fresh_database(place, f"graveler {name}")
        store = urlsplit(store)._replace(path=f"/{database}").geturl()
    elif store.startswith("dynamodb"):
        table = parse_url(store).table
        store = store.replace(table, _fresh_table(place, f"graveler {name}"))
    keys = SecretsKeys.new().get_secret_value()
    with graveler.connect(store) as g:
        admin = g.iam.set_up("bench", secrets_keys=SecretsKeys(keys))
    (directory / "objects").mkdir()
    environment = {
        **os.environ,
        "GRAVELER_STORE": store,
        "GRAVELER_DATA": (directory / "objects").as_uri(),
        "GRAVELER_SERVER_KEY": keys,
        "GRAVELER_CONFIG": "",
    }
    command = [str(Path(sys.executable).parent / "graveler"), "--json", "serve", "--port", "0"]
    command += ["--processes", str(processes)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        port = int(json.loads(process.stdout.readline())["url"].rpartition(":")[2])
        yield Served(name, port, str(admin.access_key_id), admin.secret.get_secret_value())
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@contextmanager
def _theirs(place: Place, directory: Path, program: str, name: str, more: dict[str, str]) -> Iterator[Served]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    settings = {
        "LISTEN_ADDRESS": f"127.0.0.1:{port}",
        "BLOCKSTORE_TYPE": "local",
        "BLOCKSTORE_LOCAL_PATH": str(directory / "blocks"),
        "COMMITTED_LOCAL_CACHE_DIR": str(directory / "cache"),
        "AUTH_ENCRYPT_SECRET_KEY": "benchmarks",
        "STATS_ENABLED": "false",
        "USAGE_REPORT_ENABLED": "false",
        "EMAIL_SUBSCRIPTION_ENABLED": "false",
        "BLOCKSTORE_SIGNING_SECRET_KEY": "benchmarks",
        "SECURITY_CHECK_LATEST_VERSION": "false",
        "LOGGING_LEVEL": "ERROR",
        **_database(place, directory, name),
        **more,
    }
    environment = {**os.environ, "HOME": str(directory), **{f"LAKEFS_{key}": settings[key] for key in settings}}
    process = subprocess.Popen([program, "run"], env=environment, stdout=subprocess.DEVNULL)
    try:
        served = Served(name, port, _KEY, _SECRET)
        _set_up(served, process)
        yield served
    finally:
        process.kill()
        process.wait()


def _database(place: Place, directory: Path, name: str) -> dict[str, str]:
    """Return the settings of a fresh database on the same server, or of a local one."""
    if place.store.startswith("dynamodb"):
        target = parse_url(place.store)
        return {
            "DATABASE_TYPE": "dynamodb",
            "DATABASE_DYNAMODB_TABLE_NAME": _fresh_table(place, name),
            "DATABASE_DYNAMODB_ENDPOINT": target.endpoint or "",
            "DATABASE_DYNAMODB_AWS_REGION": target.region or "",
            "DATABASE_DYNAMODB_AWS_ACCESS_KEY_ID": target.access_key_id or "",
            "DATABASE_DYNAMODB_AWS_SECRET_ACCESS_KEY": target.secret_access_key or "",
        }
    if not place.store.startswith("postgresql"):
        return {"DATABASE_TYPE": "local", "DATABASE_LOCAL_PATH": str(directory / "metadata")}
    database = _fresh_database(place, name)
    url = urlsplit(place.store)
    host = parse_qs(url.query).get("host", [url.hostname or ""])[0]
    return {
        "DATABASE_TYPE": "postgres",
        "DATABASE_POSTGRES_CONNECTION_STRING": f"host={host} user={url.username or 'postgres'} dbname={database}",
    }


def _fresh_table(place: Place, name: str) -> str:
    """Return the name of a table of DynamoDB that its server creates."""
    return f"{name} {place.repository}".replace(" ", "_")


def _fresh_database(place: Place, name: str) -> str:
    """Create a database on the PostgreSQL server of the store. Return its name."""
    database = f"{name} {place.repository}".replace(" ", "_").lower()
    with psycopg.connect(place.store, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{database}"'.encode())
    return database


def _set_up(served: Served, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server of lakeFS answers, and create its administrator."""
    key = {"access_key_id": _KEY, "secret_access_key": _SECRET}
    body = json.dumps({"username": "bench", "key": key}).encode()
    url = f"http://127.0.0.1:{served.port}/api/v1/setup_lakefs"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="POST")
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            urllib.request.urlopen(request).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.2)
