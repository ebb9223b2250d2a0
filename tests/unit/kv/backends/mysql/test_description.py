"""Tests of the description of a MySQL server, and of the doctor's findings for a server that may lose writes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest

import graveler_core
from graveler_core.diagnostics.doctor.diagnosis import Ailment
from graveler_core.kv import open_store
from graveler_core.kv.backends.mysql.description import described
from tests.servers.mariadb import PACKAGES, execute
from tests.servers.packages import programs
from tests.servers.process import ServerProcess

SETTINGS = {
    "binlog_format": "MIXED",
    "innodb_doublewrite": "ON",
    "innodb_flush_log_at_trx_commit": "1",
    "log_bin": "OFF",
    "max_allowed_packet": "16777216",
    "max_connections": "151",
    "sync_binlog": "0",
    "version": "8.4.0",
    "version_comment": "MySQL Community Server",
}


def test_a_server(mysql_url: str) -> None:
    with closing(open_store(mysql_url)) as kv:
        kv.set(b"p", b"k", b"v" * 50_000)
        told = kv.describe()
    assert (told["backend"], told["schema_version"], told["durability"]) == ("mysql", 1, "power")
    assert "MariaDB" in str(told["version"])
    assert isinstance(told["connections"], int)
    assert isinstance(told["size"], int)
    assert isinstance(told["clock_ahead"], float)
    assert abs(told["clock_ahead"]) < 60


@pytest.mark.parametrize(
    ("changed", "durability"),
    [
        ({}, "power"),
        ({"innodb_flush_log_at_trx_commit": "3"}, "power"),
        ({"innodb_flush_log_at_trx_commit": "2"}, "process"),
        ({"innodb_flush_log_at_trx_commit": "0"}, "none"),
        ({"innodb_doublewrite": "OFF"}, "process"),
        ({"log_bin": "ON"}, "process"),
        ({"log_bin": "ON", "sync_binlog": "1"}, "power"),
        ({"log_bin": "ON", "sync_binlog": "100"}, "process"),
    ],
)
def test_durability(changed: dict[str, str], durability: str) -> None:
    assert described({**SETTINGS, **changed}, (1, None, 3, 1_000.5), 1_000.0, 1_001.0)["durability"] == durability


@pytest.mark.parametrize(("clock", "ahead"), [(1_000.5, 0.0), (1_060.5, 60.0), (940.5, -60.0)])
def test_the_clocks_are_compared_over_the_time_of_the_answer(clock: float, ahead: float) -> None:
    assert described(SETTINGS, (1, 8_192, 3, clock), 1_000.0, 1_001.0)["clock_ahead"] == ahead


@pytest.fixture
def flush(mariadb: ServerProcess) -> Iterator[None]:
    """A server that writes its log to the disk once a second."""
    execute(mariadb, "SET GLOBAL innodb_flush_log_at_trx_commit = 2")
    yield
    execute(mariadb, "SET GLOBAL innodb_flush_log_at_trx_commit = 1")


def test_a_server_that_would_lose_writes(flush: None, mariadb: ServerProcess, mysql_url: str) -> None:
    """The doctor finds it, and its command repairs it."""
    with graveler_core.connect(mysql_url) as graveler:
        (found,) = graveler.doctor().found
        assert found.ailment is Ailment.STORE_NOT_DURABLE
        assert found.what == "the server has innodb_flush_log_at_trx_commit = 2"
        program, *words = found.command
        client = programs("mariadbd", *PACKAGES)
        where = ["--no-defaults", "--host=127.0.0.1", f"--port={mariadb.port}", "--user=root"]
        subprocess.run([client.path(program), *where, *words], env=client.environment, check=True)
        assert graveler.doctor().healthy
