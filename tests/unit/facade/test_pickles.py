"""Pickled handles: opened again by what they were opened with, and never with secrets."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import graveler
from graveler_core.errors import InvalidInput
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.credentials import Credentials
from tests.unit.engine.world import World

SECRET = "hunter22"
READ = "import pickle, sys; print(pickle.load(sys.stdin.buffer).read('a').decode(), end='')"


def accept(tag: object, commit: object) -> None:
    """A verifier of tags that a pickle names."""


MEMORY = 1_000_000


@pytest.fixture
def g(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Graveler]:
    monkeypatch.chdir(tmp_path)
    with graveler.connect(
        "sqlite:///kept/meta.db", cache_dir="cache", memory_cache_bytes=MEMORY, verify_tag=accept
    ) as opened:
        main = opened.create_repository("lake", (tmp_path / "lake").as_uri()).branch("main")
        main.put("a", b"one")
        main.commit("one")
        main.put("a", b"two")
        yield opened


def test_each_handle_comes_back(g: Graveler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = g.repository("lake")
    given = [g, repo, repo.branch("main"), repo.at("main"), repo.at("main@")]
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    found = [pickle.loads(pickle.dumps(each)) for each in given]
    again, lake, main, live, committed = found
    assert [type(each) for each in found] == [Graveler, Repository, Branch, Snapshot, Snapshot]
    with again:
        assert again.repository("lake").uid == lake.uid == repo.uid
        assert again._stores is not lake._stores
    assert (main.read("a"), live.read("a"), committed.read("a")) == (b"two", b"two", b"one")
    assert committed.commit_id == repo.at("main@").commit_id
    assert lake._stores is main._stores is committed._stores
    assert lake._stores.hooks.verify_tag is accept
    assert lake._stores.opening is not None
    assert lake._stores.opening.memory_cache_bytes == MEMORY
    main.put("a", b"three")
    assert repo.branch("main").read("a") == b"three"
    assert not any((tmp_path / "other").iterdir())


def test_another_process_reads(g: Graveler, tmp_path: Path) -> None:
    with graveler.connect("sqlite:///kept/meta.db") as plain:
        pickled = pickle.dumps(plain.repository("lake").at("main@"))
    (tmp_path / "other").mkdir()
    ran = subprocess.run([sys.executable, "-c", READ], input=pickled, capture_output=True, check=True, cwd="other")
    assert ran.stdout == b"one"


def with_opening(g: Graveler, **changes: object) -> Graveler:
    opening = g._stores.opening
    assert opening is not None
    return Graveler(replace(g._stores, opening=replace(opening, **changes)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"url": f"postgresql://ann:{SECRET}@host/db"}, "GRAVELER_STORE"),
        ({"url": f"postgresql://host/db?password={SECRET}"}, "GRAVELER_STORE"),
        ({"credentials": Credentials("a" * 32, SECRET)}, "GRAVELER_SECRET_ACCESS_KEY"),
        ({"storage_options": {"aws_secret_access_key": SECRET}}, "aws_secret_access_key"),
        ({"storage_options": {"session_token": SECRET}}, "session_token"),
        ({"storage_options": {"endpoint": f"http://ann:{SECRET}@host"}}, "endpoint"),
    ],
)
def test_secrets_are_refused(g: Graveler, changes: dict[str, object], told: str) -> None:
    opened = with_opening(g, **changes)
    assert SECRET not in repr(opened._stores)
    repo = Repository(opened._stores, g.repository("lake")._record)
    for handle in (opened, repo, repo.branch("main"), repo.at("main@")):
        with pytest.raises(InvalidInput, match="cannot be pickled") as refused:
            pickle.dumps(handle)
        assert told in refused.value.message
        assert SECRET not in refused.value.message


def test_secrets_of_the_environment_stay_there(g: Graveler, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"postgresql://ann:{SECRET}@host/db"
    monkeypatch.setenv("GRAVELER_STORE", url)
    monkeypatch.setenv("GRAVELER_ACCESS_KEY_ID", "a" * 32)
    monkeypatch.setenv("GRAVELER_SECRET_ACCESS_KEY", SECRET)
    options = {"aws_region": "eu-west-1"}
    opened = with_opening(g, url=url, credentials=Credentials("a" * 32, SECRET), storage_options=options)
    pickled = pickle.dumps(opened)
    assert SECRET.encode() not in pickled
    asked: list[tuple[object, ...]] = []

    def connect(url: str, **given: object) -> Graveler:
        asked.append((url, given["credentials"], given["storage_options"]))
        return g

    monkeypatch.setattr("graveler_core.wiring.handles.connect", connect)
    assert pickle.loads(pickled) is g
    assert asked == [(url, Credentials("a" * 32, SECRET), options)]


@pytest.mark.parametrize("open_store", [lambda: graveler.connect("memory://"), lambda: World().graveler()])
def test_a_store_that_no_other_process_can_open_is_refused(open_store: Callable[[], Graveler]) -> None:
    with pytest.raises(InvalidInput, match="cannot be pickled"):
        pickle.dumps(open_store())
