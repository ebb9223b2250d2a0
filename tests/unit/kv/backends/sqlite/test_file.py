"""Tests of the file that a URL names, its owner, and foreign files, which stay unchanged."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.kv.backends.sqlite.file import APPLICATION_ID, MIGRATIONS, SQLiteFile, parse_url
from graveler_core.kv.backends.sqlite.store import SQLiteStore
from graveler_core.kv.schema_versions import newest


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
    assert header == [APPLICATION_ID, newest(MIGRATIONS)]
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


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text("not a database"),
        lambda path: path.write_bytes(bytes(range(256)) * 64),
        lambda path: path.write_bytes(b"SQLite format 3\x00 and then nothing of the kind" * 50),
        foreign_table,
        other_application,
    ],
    ids=["text", "bytes", "fake", "foreign", "application"],
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


TO_2 = ("ALTER TABLE kv ADD COLUMN note TEXT", "CREATE TABLE notes (note TEXT)")
TO_3 = ("INSERT INTO notes VALUES ('third')",)


def versions(path: Path) -> tuple[int, list[str], list[str]]:
    connection = sqlite3.connect(path)
    [version] = connection.execute("PRAGMA user_version").fetchone()
    columns = [row[1] for row in connection.execute("PRAGMA table_info(kv)")]
    notes = connection.execute("SELECT note FROM notes").fetchall() if "note" in columns else []
    connection.close()
    return version, columns, [note for [note] in notes]


@pytest.fixture
def old(tmp_path: Path) -> SQLiteFile:
    """A store of version 1, with a row."""
    file = SQLiteFile(str(tmp_path / "kv.db"), "process")
    file.prepare(migrations=())
    connection = file.connect()
    connection.execute("INSERT INTO kv VALUES (CAST('p' AS BLOB), CAST('k' AS BLOB), CAST('v' AS BLOB))")
    connection.close()
    return file


def test_an_old_store_is_led_forward_once_and_keeps_its_rows(old: SQLiteFile) -> None:
    for _ in range(2):
        old.prepare((TO_2, TO_3))
    assert versions(Path(old.path)) == (3, ["partition", "key", "value", "note"], ["third"])
    store = SQLiteStore(old)
    store.set(b"p", b"l", b"w")
    assert [(row.key, row.value) for row in store.scan(b"p")] == [(b"k", b"v"), (b"l", b"w")]
    store.close()


def test_a_new_store_goes_the_same_way(old: SQLiteFile, tmp_path: Path) -> None:
    new = SQLiteFile(str(tmp_path / "new.db"), "process")
    new.prepare((TO_2,))
    assert versions(tmp_path / "new.db") == (2, ["partition", "key", "value", "note"], [])
    new.prepare((TO_2, TO_3))
    old.prepare((TO_2, TO_3))
    assert versions(tmp_path / "new.db") == versions(Path(old.path))


def test_a_store_that_is_open_survives_its_migration(old: SQLiteFile) -> None:
    store = SQLiteStore(old)
    found = store.get(b"p", b"k")
    old.prepare((TO_2,))
    assert found is not None
    store.set_if(b"p", b"k", b"w", found.predicate)
    assert [row.value for row in store.scan(b"p")] == [b"w"]
    store.close()


def test_many_lead_a_store_forward_at_once(old: SQLiteFile) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(old.prepare, [(TO_2, TO_3)] * 8))
    assert versions(Path(old.path)) == (3, ["partition", "key", "value", "note"], ["third"])


def test_a_migration_that_fails_leaves_the_store_as_it_was(old: SQLiteFile) -> None:
    with pytest.raises(Unavailable, match="no such table"):
        old.prepare((TO_2, ("INSERT INTO nowhere VALUES (1)",)))
    assert versions(Path(old.path)) == (1, ["partition", "key", "value"], [])
    old.prepare((TO_2, TO_3))
    assert versions(Path(old.path))[0] == 3


def test_a_newer_store_is_refused_and_left_alone(old: SQLiteFile) -> None:
    old.prepare((TO_2, TO_3))
    before = Path(old.path).read_bytes()
    with pytest.raises(Unavailable, match=r"kv.db has schema version 3, .* supports at most 2") as caught:
        old.prepare((TO_2,))
    assert caught.value.kind is Kind.NewerSchema
    assert Path(old.path).read_bytes() == before
