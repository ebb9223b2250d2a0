"""Connections cross to other processes whole, and show nothing of what is secret."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from graveler.spark import connection as module
from graveler.spark.connection import Connection, opened, refuse_memory
from graveler_core.errors import InvalidInput

SECRET = "hunter2-canary"


def test_pickled_it_is_the_same_connection() -> None:
    made = Connection("postgresql://me@host/db", {"region": "eu"}, cache_dir="/cache", cache_bytes=7)
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert hash(again) == hash(made)
    assert Connection("postgresql://me@host/db", {"region": "us"}) != Connection("postgresql://me@host/db")


def test_it_shows_no_secret() -> None:
    made = Connection(f"postgresql://me:{SECRET}@host/db", {"secret_access_key": SECRET})
    assert SECRET not in f"{made!r} {made}"
    assert str(made) == "postgresql://me:***@host/db"


def test_options_are_not_shared_with_the_caller() -> None:
    given = {"region": "eu"}
    made = Connection("postgresql://me@host/db", given)
    given["region"] = "us"
    assert made.storage_options == {"region": "eu"}


def test_a_relative_path_counts_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "100 % real"
    place.mkdir()
    monkeypatch.chdir(place)
    made = Connection("sqlite:///meta.db?durability=process")
    monkeypatch.chdir("/")
    made.connect().close()
    assert (place / "meta.db").exists()
    assert Connection("sqlite:////tmp/x.db").url == "sqlite:////tmp/x.db"


@pytest.mark.parametrize("uri", ["memory://", "memory://bucket/lake"])
def test_what_is_in_memory_is_refused(uri: str) -> None:
    with pytest.raises(InvalidInput, match="exists in one process"):
        refuse_memory(uri)
    with pytest.raises(InvalidInput, match="exists in one process"):
        Connection(uri)


def test_a_process_opens_a_connection_once_and_keeps_a_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_opened", module._OpenedStores())
    made = [Connection(f"sqlite:///{tmp_path}/{n}.db") for n in range(6)]
    first = opened(made[0])
    assert opened(pickle.loads(pickle.dumps(made[0]))) is first
    for connection in made[1:]:
        opened(connection)
    assert list(module._opened._stores) == made[2:]
    assert opened(made[0]) is not first
    for stores in module._opened._stores.values():
        stores.close()


def test_a_worker_takes_no_namespace_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_opened", module._OpenedStores())
    stores = opened(Connection(f"sqlite:///{tmp_path}/meta.db"))
    with pytest.raises(InvalidInput, match="exists in one process"):
        stores.blobs.at("memory://bucket/lake")
    assert stores.blobs.at((tmp_path / "lake").as_uri()).head("x") is None
    stores.close()
