"""Tests of the description of a PostgreSQL server, and of the doctor's findings for a server that may lose writes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

import graveler_core
from graveler_core.diagnostics.doctor.diagnosis import Ailment, Diagnosis
from graveler_core.facade.graveler import Graveler
from graveler_core.kv import open_store
from graveler_core.kv.backends.postgresql.description import described

ROW = ("17.1", "on", "on", "on", False, 100, 3, 1, 8_192)


def setting(server: str, statement: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement.encode())


@pytest.fixture
def settings(postgresql_server: str) -> Iterator[str]:
    """The server, whose settings are put back."""
    yield postgresql_server
    for name in ("fsync", "full_page_writes"):
        setting(postgresql_server, f"ALTER SYSTEM RESET {name}")
    setting(postgresql_server, "SELECT pg_reload_conf()")


def test_a_server(postgresql_url: str) -> None:
    with closing(open_store(postgresql_url)) as kv:
        told = kv.describe()
    assert (told["backend"], told["schema_version"], told["in_recovery"]) == ("postgresql", 1, False)
    assert str(told["version"])[0].isdigit()
    assert isinstance(told["fsync"], bool)
    assert isinstance(told["connections"], int)
    assert isinstance(told["clock_ahead"], float)
    assert abs(told["clock_ahead"]) < 60


@pytest.mark.parametrize(("clock", "ahead"), [(1_000.5, 0.0), (1_060.5, 60.0), (940.5, -60.0)])
def test_the_clocks_are_compared_over_the_time_of_the_answer(clock: float, ahead: float) -> None:
    assert described((*ROW, clock), 1_000.0, 1_001.0)["clock_ahead"] == ahead


@pytest.mark.xdist_group("settings of the server")  # which the workers of a run share
@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_a_server_that_would_lose_writes(settings: str, postgresql_url: str, name: str) -> None:
    for other in ("fsync", "full_page_writes"):
        setting(settings, f"ALTER SYSTEM SET {other} = {'off' if other == name else 'on'}")
    setting(settings, "SELECT pg_reload_conf()")
    with graveler_core.connect(postgresql_url) as graveler:
        told = [found for found in until(graveler, ill=True) if found.ailment is Ailment.STORE_NOT_DURABLE]
        (found,) = told
        assert name in found.what
        assert found.command[0] == "psql"
        for statement in found.command[2::2]:
            setting(settings, statement)
        assert until(graveler, ill=False) == ()


def until(graveler: Graveler, *, ill: bool) -> tuple[Diagnosis, ...]:
    """What the doctor finds, once the server has read its configuration again."""
    for _ in range(600):
        found = graveler.doctor().found
        if bool(found) is ill:
            return found
        time.sleep(0.05)
    raise AssertionError(found)
