"""A SQLite store whose surroundings fail: each failure is one clear error, and what was acknowledged stays."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from graveler_core.errors import CorruptData, Kind, SlowDown, Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.backends.sqlite import file as sqlite_file
from graveler_core.kv.backends.sqlite.file import SQLiteFile
from graveler_core.kv.backends.sqlite.store import open_sqlite


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = SQLiteFile.connect

    def limited(file: SQLiteFile, mode: str = "rw") -> sqlite3.Connection:
        connection = connect(file, mode)
        connection.execute("PRAGMA max_page_count = 30")
        return connection

    monkeypatch.setattr(SQLiteFile, "connect", limited)
    store = open_sqlite(f"sqlite:///{tmp_path}/kv.db")
    written = [b"%02d" % number for number in range(4)]
    for key in written:
        store.set(b"p", key, b"v" * 20_000)
    with pytest.raises(Unavailable, match=r"no space.*kv\.db") as caught:
        store.set(b"p", b"large", b"v" * 90_000)
    assert caught.value.kind is Kind.StoreFull
    with pytest.raises(Unavailable):
        bulk.set_many(store, [(b"p", b"small", b"v"), (b"p", b"large", b"v" * 90_000)])
    assert [row.key for row in store.scan(b"p")] == written
    store.delete(b"p", b"00")
    store.set(b"p", b"small", b"v")
    store.close()


def test_another_process_creates_the_store_while_its_version_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is never taken for one of another application because a store appeared between two statements."""
    path = str(tmp_path / "kv.db")
    connect = SQLiteFile.connect

    class Interrupted:
        """Connection that lets another process create the store before the version is read."""

        def __init__(self, connection: sqlite3.Connection) -> None:
            self.connection = connection

        def execute(self, statement: str) -> sqlite3.Cursor:
            if statement == "PRAGMA user_version" and not seen:
                seen.append(statement)
                monkeypatch.setattr(SQLiteFile, "connect", at_once)
                with suppress(Unavailable, SlowDown):
                    open_sqlite(f"sqlite:///{path}").close()
                monkeypatch.setattr(SQLiteFile, "connect", connect)
            return self.connection.execute(statement)

        def close(self) -> None:
            self.connection.close()

    def at_once(file: SQLiteFile, mode: str = "rw") -> sqlite3.Connection:
        connection = connect(file, mode)
        connection.execute("PRAGMA busy_timeout = 0")
        return connection

    seen: list[str] = []
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0)
    monkeypatch.setattr(SQLiteFile, "connect", lambda file, mode="rw": Interrupted(connect(file, mode)))
    store = open_sqlite(f"sqlite:///{path}")
    assert seen
    store.set(b"p", b"k", b"v")
    store.close()


def test_a_writer_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.05)
    store = open_sqlite(f"sqlite:///{tmp_path}/kv.db")
    store.set(b"p", b"k", b"old")
    other = sqlite3.connect(tmp_path / "kv.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for write in (
        lambda: store.set(b"p", b"k", b"new"),
        lambda: store.set_if(b"p", b"l", b"new", None),
        lambda: store.delete(b"p", b"k"),
        lambda: bulk.set_many(store, [(b"p", b"k", b"new")]),
        lambda: bulk.load(store, b"p", pa.array([b"k"]), pa.array([b"new"])),
    ):
        with pytest.raises(SlowDown, match="busy"):
            write()
    found = store.get(b"p", b"k")
    assert found is not None
    assert found.value == b"old"
    other.execute("ROLLBACK")
    other.close()
    store.set(b"p", b"k", b"new")
    store.close()


def test_a_corrupt_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/kv.db"
    store = open_sqlite(url)
    bulk.load(store, b"p", pa.array([b"%04d" % n for n in range(5_000)]), pa.array([b"v" * 50] * 5_000))
    store.close()
    content = bytearray((tmp_path / "kv.db").read_bytes())
    content[4096 * 2 :] = b"\xff" * (len(content) - 4096 * 2)
    (tmp_path / "kv.db").write_bytes(content)
    store = open_sqlite(url)
    with pytest.raises(CorruptData, match=r"kv\.db"):
        list(store.scan(b"p"))
    with pytest.raises(CorruptData, match=r"kv\.db"):
        store.set(b"p", b"2500", b"w")
    store.close()


def test_a_file_that_was_removed(tmp_path: Path) -> None:
    """It is not quietly made again, empty, by the next connection."""
    store = open_sqlite(f"sqlite:///{tmp_path}/kv.db")
    (tmp_path / "kv.db").unlink()
    with pytest.raises(Unavailable, match=r"kv\.db"):
        store.get(b"p", b"k")
    assert not (tmp_path / "kv.db").exists()


def test_a_table_that_was_dropped(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:///{tmp_path}/kv.db")
    other = sqlite3.connect(tmp_path / "kv.db")
    other.execute("DROP TABLE kv")
    other.close()
    with pytest.raises(Unavailable, match="no such table"):
        store.get(b"p", b"k")
    store.close()


READ_ONLY = """
import os, sys
from graveler_core.errors import Unavailable
from graveler_core.kv.backends.sqlite.store import open_sqlite

path = sys.argv[1]
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    store = open_sqlite(f"sqlite:///{path}")
    print(store.get(b"p", b"k").value.decode())
    store.set(b"p", b"k", b"new")
except Unavailable as error:
    print(error.kind, error.message)
"""


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """One that other users may enter, unlike pytest's own."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


@pytest.mark.parametrize("writable", ["nothing", "directory"])
def test_a_read_only_file(public_directory: Path, writable: str) -> None:
    path = public_directory / "kv.db"
    store = open_sqlite(f"sqlite:///{path}")
    store.set(b"p", b"k", b"old")
    store.close()
    path.chmod(0o444)
    public_directory.chmod(0o777 if writable == "directory" else 0o555)
    before = path.read_bytes()
    ran = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1].startswith("StoreReadOnly"), ran.stdout
    assert str(path) in ran.stdout
    assert path.read_bytes() == before


@pytest.mark.parametrize("way", ["moved", "deleted", "replaced", "directory moved"])
def test_a_file_that_is_not_at_its_path_any_more_accepts_no_writes(tmp_path: Path, way: str) -> None:
    """Another process would open a different file, so an acknowledged write would be lost."""
    file = tmp_path / "dir" / "meta.db"
    store = open_sqlite(f"sqlite:///{file}")
    predicate = store.set_if(b"p", b"k", b"1", None)
    if way == "moved":
        file.rename(tmp_path / "elsewhere.db")
    elif way == "deleted":
        file.unlink()
    elif way == "replaced":
        copied = tmp_path / "copy.db"
        with sqlite3.connect(file) as source, sqlite3.connect(copied) as target:
            source.backup(target)
        copied.replace(file)
    else:
        file.parent.rename(tmp_path / "other")
    writes = (
        lambda: store.set(b"p", b"k", b"2"),
        lambda: store.set_if(b"p", b"k", b"2", predicate),
        lambda: store.set_many([(b"p", b"k", b"2")]),
        lambda: store.write_and_swap([(b"p", b"l", b"2")], (b"p", b"k", b"2"), predicate),
        lambda: store.delete(b"p", b"k"),
        lambda: store.delete_if(b"p", b"k", predicate),
        lambda: bulk.delete_together(store, [(b"p", b"k", predicate)], []),
        lambda: bulk.load(store, b"p", pa.array([b"k"]), pa.array([b"2"])),
        lambda: bulk.drop_partition(store, b"p"),
    )
    for write in writes:
        with pytest.raises(Unavailable, match="moved, deleted or replaced") as refused:
            write()
        assert refused.value.kind is Kind.StoreMoved
    store.close()
    if way == "replaced":
        again = open_sqlite(f"sqlite:///{file}")
        found = again.get(b"p", b"k")
        assert found is not None
        assert found.value == b"1"
        again.set(b"p", b"k", b"2")
        again.close()


def test_a_new_connection_does_not_open_another_file(tmp_path: Path) -> None:
    """A second reader needs a second connection, which must not show the content of another store."""
    file, other = tmp_path / "meta.db", tmp_path / "other.db"
    store, second = open_sqlite(f"sqlite:///{file}"), open_sqlite(f"sqlite:///{other}")
    for each, value in ((store, b"1"), (second, b"2")):
        each.set(b"p", b"a", value)
        each.set(b"p", b"b", value)
    second.close()
    held = store._connections.take()  # type: ignore[attr-defined]
    other.replace(file)
    with pytest.raises(Unavailable) as refused:
        store.get(b"p", b"a")
    assert refused.value.kind is Kind.StoreMoved
    store._connections.give(held)  # type: ignore[attr-defined]
    store.close()
