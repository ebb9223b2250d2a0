"""Tests of sources that cannot be migrated: one clear error without secrets, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.lifecycle.sources import make_tables, opened
from graveler_core.errors import GravelerError, InvalidInput, Kind, Unavailable
from graveler_core.transfer.migration.report import Migrated
from graveler_core.transfer.migration.source import COLUMNS
from tests.integration.migration.histories import Lake, flights
from tests.integration.migration.runs import rows
from tests.unit.engine.world import World

VERBS: list[Callable[[World, str], object]] = [
    lambda world, url: world.graveler().migrate_from(url),
    lambda world, url: list(world.graveler().compare_with(url)),
    lambda world, url: list(world.graveler().verify_against(url)),
]


def failure(url: str) -> GravelerError:
    """What every verb says of a source."""
    world = World()
    said = set()
    for verb in VERBS:
        with pytest.raises(GravelerError) as caught:
            verb(world, url)
        assert "canary" not in f"{caught.value.message} {caught.value.details} {caught.value!r}"
        assert caught.value.__cause__ is None or "canary" not in repr(caught.value.__cause__)
        said.add(caught.value.message)
    assert rows(world) == {}
    assert len(said) == 1
    return caught.value


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ada:canary@host/lake",
        "nothing",
        "://x",
        "postgresql://",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite+pysqlite:///x.db",
        "sqlite:///x.db?password=canary",
        "postgresql://ada:canary@host:port/lake",
        "memory://",
    ],
)
def test_urls_of_nothing(url: str) -> None:
    error = failure(url)
    assert isinstance(error, InvalidInput)
    assert error.kind is Kind.InvalidUrl


def test_a_server_that_does_not_answer() -> None:
    error = failure("postgresql://ada:canary@127.0.0.1:1/lake?connect_timeout=1")
    assert isinstance(error, Unavailable)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "unable to open" in failure(f"sqlite:///{tmp_path}/nothing.db").message
    assert not (tmp_path / "nothing.db").exists()


def test_a_file_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database " * 100)
    assert isinstance(failure(f"sqlite:///{tmp_path}/text.db"), Unavailable)


@pytest.mark.parametrize("table", COLUMNS)
def test_a_table_that_is_missing(url: str, table: str) -> None:
    with opened(url) as connection:
        make_tables(connection)
        connection.exec_driver_sql(f"DROP TABLE {table}")
    error = failure(url)
    assert isinstance(error, Unavailable)
    assert f"it has no table {table}" in error.message


def test_a_column_that_is_missing(url: str) -> None:
    with opened(url) as connection:
        make_tables(connection)
        connection.exec_driver_sql("ALTER TABLE graveler_commits DROP COLUMN generation")
        connection.exec_driver_sql("ALTER TABLE graveler_commits DROP COLUMN version")
    assert "its table graveler_commits has no column version, generation" in failure(url).message


def test_a_store_of_ours_is_none(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/meta.db"
    with opened(url) as connection:
        connection.exec_driver_sql("CREATE TABLE kv (partition BLOB)")
    assert "it has no table graveler_repositories" in failure(url).message


def test_nothing_is_written_to_a_source(small: Lake) -> None:
    flights(small)
    path = Path(small.url.removeprefix("sqlite:///"))
    before = path.read_bytes()
    path.chmod(0o400)
    assert small.migrate().good
    assert small.differences() == []
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_one_without_repositories(lake: Lake) -> None:
    assert lake.migrate() == Migrated(())
    assert lake.migrate().good
    assert lake.differences() == []
