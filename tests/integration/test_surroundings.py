"""Stores that cannot be reached, read or written, seen from above: one clear error, and nothing changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import graveler_core as graveler
from graveler_core.errors import GravelerError, InvalidInput, Kind, Unavailable

FLOWS = """
import os, resource, sys
import graveler_core as graveler
from graveler_core.errors import GravelerError

url, namespace, how, warm = sys.argv[1:]
# What is imported at first use is imported now: another user may not read this interpreter's files.
with graveler.connect(f"sqlite:///{warm}/meta.db") as first:
    used = first.create_repository("warm", f"file://{warm}/data").branch("main")
    used.put("a", b"x")
    used.commit("m")
    used.read("a")
    list(used.list())
if how == "read-only" and os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)

def told(what, act):
    try:
        act()
    except GravelerError as error:
        print(what, type(error).__name__, error.kind, error.message.replace("\\n", " "))
    else:
        print(what, "done")

try:
    g = graveler.connect(url)
except GravelerError as error:
    print("connect", type(error).__name__, error.kind, error.message)
    sys.exit()
main = g.repository("repo").branch("main")
print("read", main.read("a").decode(), [item.path for item in main.list()])
if how != "read-only":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(how), int(how)))
told("put", lambda: main.put("b", os.urandom(200_000)))
told("stage", lambda: main.stage("b", graveler.Entry(data=b"x" * 60_000)))
told("remove", lambda: main.remove_prefix("a"))
told("commit", lambda: main.commit("m", metadata={"k": "v" * 30_000}))
told("branch", lambda: g.repository("repo").create_branch("dev", "main"))
told("create", lambda: g.create_repository("other", namespace + "-other"))
told("delete", lambda: g.delete_repository("repo"))
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    """One that other users may enter, unlike pytest's own."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    for below in (path, *path.rglob("*")):
        below.chmod(0o755)
    shutil.rmtree(path)


def filled(directory: Path) -> tuple[str, str]:
    """A repository with one committed and one staged path; URL and namespace."""
    url, namespace = f"sqlite:///{directory}/meta.db", (directory / "data").as_uri()
    with graveler.connect(url) as g:
        main = g.create_repository("repo", namespace).branch("main")
        main.put("a", b"content")
        main.commit("first")
        main.put("staged", b"staged")
    return url, namespace


def told(url: str, namespace: str, how: str, warm: Path) -> dict[str, str]:
    """What each flow said, in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", FLOWS, url, namespace, how, str(warm)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    lines = [line.partition(" ") for line in ran.stdout.splitlines()]
    return {flow: said for flow, _, said in lines}


def state(directory: Path) -> list[tuple[object, ...]]:
    """All rows that the database holds."""
    copied = directory.with_name(directory.name + "-copy")
    shutil.copytree(directory, copied)
    try:
        with sqlite3.connect(copied / "meta.db") as opened:
            rows = opened.execute("SELECT * FROM kv ORDER BY 1, 2").fetchall()
        opened.close()
    finally:
        shutil.rmtree(copied)
    return rows


def test_a_read_only_store(directory: Path, tmp_path: Path) -> None:
    url, namespace = filled(directory)
    before = state(directory)
    for path in (*directory.rglob("*"), directory):
        path.chmod(0o555 if path.is_dir() else 0o444)
    said = told(url, namespace, "read-only", tmp_path)
    assert said["connect"].startswith("Unavailable StoreReadOnly")
    assert str(directory) in said["connect"]
    assert state(directory) == before


def test_a_read_only_namespace(directory: Path, tmp_path: Path) -> None:
    """What needs no object goes on; what needs one is refused, and nothing of it is seen."""
    url, namespace = filled(directory)
    for path in (*directory.rglob("*"), directory):
        below = path.is_relative_to(directory / "data")
        path.chmod((0o555 if below else 0o777) if path.is_dir() else (0o444 if below else 0o666))
    (directory / "data").chmod(0o555)
    directory.chmod(0o1777)
    said = told(url, namespace, "read-only", tmp_path)
    assert said.pop("read") == "content ['a', 'staged']"
    refused = {flow: answer for flow, answer in said.items() if answer != "done"}
    assert refused.keys() == {"put"}
    for flow, answer in refused.items():
        assert answer.startswith(("Unavailable StoreReadOnly", "Unavailable PermissionDenied")), f"{flow}: {answer}"


@pytest.mark.ci  # it waits for a minute, so that it begins early
def test_a_full_disk(directory: Path, tmp_path: Path) -> None:
    """No file may grow: what is written is refused or not acknowledged, and the rest stays readable."""
    url, namespace = filled(directory)
    said = told(url, namespace, "20000", tmp_path)
    assert said.pop("read") == "content ['a', 'staged']"
    assert len(said) == 7
    assert said["put"].startswith("Unavailable StoreFull")
    for flow, answer in said.items():
        assert answer == "done" or answer.startswith(("Unavailable StoreFull", "OutcomeUnknown")), f"{flow}: {answer}"
    assert any(answer != "done" for flow, answer in said.items() if flow != "put")
    with graveler.connect(url) as g:
        assert [repo.id for repo in g.list_repositories()] in (["repo"], [])


def test_no_database(tmp_path: Path) -> None:
    for name, data in (("text.db", b"no database at all\n" * 500), ("dir.db", None)):
        file = tmp_path / name
        file.mkdir() if data is None else file.write_bytes(data)
        with pytest.raises(GravelerError) as caught:
            graveler.connect(f"sqlite:///{file}")
        assert isinstance(caught.value, Unavailable)
        assert str(file) in caught.value.message
        assert data is None or file.read_bytes() == data


def test_a_database_of_something_else(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE people (name TEXT)")
    other.close()
    before = file.read_bytes()
    with pytest.raises(Unavailable) as caught:
        graveler.connect(f"sqlite:///{file}")
    assert caught.value.kind is Kind.NotAGravelerStore
    assert file.read_bytes() == before


def test_nobody_listens() -> None:
    with pytest.raises(Unavailable) as caught:
        graveler.connect("postgresql://user:s3cret@127.0.0.1:1/nothing")
    assert caught.value.kind is Kind.StoreUnreachable
    assert "127.0.0.1" in caught.value.message
    assert "s3cret" not in repr(caught.value)


@pytest.mark.parametrize("url", ["", "nothing", "nosuch://x", "sqlite://", "memory:", "file:///x"])
def test_unknown_urls(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        graveler.connect(url)
    assert caught.value.kind is Kind.InvalidUrl


def test_a_closed_handle(tmp_path: Path) -> None:
    g = graveler.connect(f"sqlite:///{tmp_path}/meta.db")
    main = g.create_repository("repo", (tmp_path / "data").as_uri()).branch("main")
    g.close()
    g.close()
    for act in (lambda: main.put("a", b"x"), lambda: list(main.list()), lambda: g.repository("repo")):
        with pytest.raises(Unavailable):
            act()


def test_an_object_store_that_cannot_be_written(tmp_path: Path) -> None:
    """The namespace is a file: nothing of the repository is left, its name and the namespace stay free."""
    (tmp_path / "file").write_bytes(b"x")
    with graveler.connect(f"sqlite:///{tmp_path}/meta.db") as g:
        with pytest.raises(GravelerError) as caught:
            g.create_repository("repo", (tmp_path / "file").as_uri())
        assert isinstance(caught.value, Unavailable)
        assert list(g.list_repositories()) == []
        (tmp_path / "file").unlink()
        g.create_repository("repo", (tmp_path / "file").as_uri()).branch("main").put("a", b"x")
