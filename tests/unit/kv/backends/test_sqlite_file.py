"""Which file a URL names, whose it is, and that a foreign one is left as it was."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.kv.backends.sqlite_file import APPLICATION_ID, SCHEMA_VERSION, SQLiteFile, parse_url


@pytest.mark.parametrize(
    ("url", "path", "durability"),
    [
        ("sqlite:///meta.db", "{here}/meta.db", "power"),
        ("sqlite:///.graveler/meta.db", "{here}/.graveler/meta.db", "power"),
        ("sqlite:////data/meta.db?durability=power", "/data/meta.db", "power"),
        ("sqlite:////data/meta.db?durability=process", "/data/meta.db", "process"),
        ("sqlite:////data/a%20b%3F%25.db", "/data/a b?%.db", "power"),
    ],
)
def test_urls(url: str, path: str, durability: str) -> None:
    assert parse_url(url) == SQLiteFile(path.format(here=Path.cwd()), durability)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("sqlite://meta.db", "sqlite:///relative"),
        ("sqlite:///", "sqlite:///relative"),
        ("sqlite:///directory/", "sqlite:///relative"),
        ("sqlite:///a%00b", "sqlite:///relative"),
        ("sqlite:///:memory:", "memory://"),
        ("sqlite:///meta.db?durability=none", "'none'; it must be power or process"),
        ("sqlite:///meta.db?durability=", "''; it must be power or process"),
        ("sqlite:///meta.db?mode=ro", "unknown option 'mode'"),
    ],
)
def test_other_urls_are_refused(url: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule) as caught:
        parse_url(url)
    assert caught.value.kind is Kind.InvalidUrl


def test_a_new_file_and_its_directories_are_made(tmp_path: Path) -> None:
    file = SQLiteFile(str(tmp_path / "a" / "b ?#%.db"), "power")
    file.prepare()
    file.prepare()
    connection = file.connect()
    settings = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert settings == ["wal", 2]
    header = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    assert header == [APPLICATION_ID, SCHEMA_VERSION]
    connection.close()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b ?#%.db"]


def test_durability_is_sqlites_synchronous(tmp_path: Path) -> None:
    file = SQLiteFile(str(tmp_path / "kv.db"), "process")
    file.prepare()
    connection = file.connect()
    assert connection.execute("PRAGMA synchronous").fetchone() == (1,)
    connection.close()


def test_an_empty_file_is_a_new_store(tmp_path: Path) -> None:
    (tmp_path / "kv.db").touch()
    SQLiteFile(str(tmp_path / "kv.db"), "power").prepare()
    assert (tmp_path / "kv.db").stat().st_size > 0


def foreign_table(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE kv(partition, key, value)")
    connection.close()


def other_application(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA application_id = 252006673")
    connection.close()


def later_version(path: Path) -> None:
    SQLiteFile(str(path), "power").prepare()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text("not a database"),
        lambda path: path.write_bytes(bytes(range(256)) * 64),
        lambda path: path.write_bytes(b"SQLite format 3\x00 and then nothing of the kind" * 50),
        foreign_table,
        other_application,
        later_version,
    ],
    ids=["text", "bytes", "fake", "foreign", "application", "later"],
)
def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path, make: object) -> None:
    assert callable(make)
    path = tmp_path / "kv.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(Unavailable, match=str(path)) as caught:
        SQLiteFile(str(path), "power").prepare()
    assert caught.value.kind is Kind.NotAGravelerStore
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["kv.db"]


def test_paths_that_cannot_be_files(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "directory", tmp_path / "file" / "kv.db"):
        with pytest.raises(Unavailable) as caught:
            SQLiteFile(str(path), "power").prepare()
        assert caught.value.kind is Kind.StoreUnreachable
