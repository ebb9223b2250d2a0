"""Real processes on one store, killed at random, and a PostgreSQL that is restarted under them: nothing is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.facade.graveler import Graveler
from graveler_core.kv import open_store
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.objects.commits import CommitCache, StoredCommit, read_commit
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.refs.branches import get_branch
from graveler_core.stores import Stores
from graveler_core.testing.invariants import check_history, check_layers
from graveler_core.wiring.handles import connect
from tests.postgresql_server import own_server
from tests.proofs.processes.crew import crew, disturb
from tests.proofs.processes.journal import NEVER, read_all
from tests.proofs.processes.judge import Judge, Look

pytestmark = pytest.mark.ci

SECONDS = pytest.param(6, id="seconds")
MINUTES = pytest.param(50, id="minutes", marks=pytest.mark.slow)


@pytest.mark.parametrize("kills", [SECONDS, MINUTES])
def test_on_one_sqlite_file(tmp_path: Path, kills: int) -> None:
    file = tmp_path / "kv.db"
    url = f"sqlite:///{file}?durability=process"
    _create(url, tmp_path)
    with crew(url, tmp_path / "journals", seed=kills) as crowd:
        disturb(crowd, kills, {})
    _judge(url, tmp_path / "journals")
    connection = sqlite3.connect(file)
    partitions = [row[0] for row in connection.execute("SELECT DISTINCT partition FROM kv")]
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    _no_token_is_leaked(url, partitions)


@pytest.mark.parametrize("kills", [SECONDS, MINUTES])
def test_on_one_postgresql(tmp_path: Path, kills: int) -> None:
    with own_server() as server:
        _create(server.url, tmp_path)

        def restart(mode: str) -> None:
            server.stop(mode)
            server.start()

        restarts = {number: lambda: restart("immediate") for number in range(2, kills, 6)}
        restarts |= {number: lambda: restart("fast") for number in range(5, kills, 6)}
        with crew(server.url, tmp_path / "journals", seed=kills) as crowd:
            disturb(crowd, kills, restarts)
        _judge(server.url, tmp_path / "journals")
        with psycopg.connect(server.url) as connection:
            partitions = [row[0] for row in connection.execute("SELECT DISTINCT partition FROM graveler_kv")]
        _no_token_is_leaked(server.url, partitions)


def _create(url: str, directory: Path) -> None:
    with connect(url) as graveler:
        graveler.create_repository("repo", f"{(directory / 'objects').as_uri()}")


def _judge(url: str, journals: Path) -> None:
    """By a process that has nothing cached."""
    with closing(Stores(kv=open_store(url), blobs=OpenedBlobs(None, durable=False))) as stores:
        judged(stores, journals)


def judged(stores: Stores, journals: Path) -> None:
    """Compare the journals with what stores hold that have nothing cached."""
    judge = Judge(read_all(journals))
    assert not [operation for operation in judge.operations if operation.outcome == "crashed"]
    repository = Graveler(stores).repository("repo")
    record, _ = _records(stores)
    chain = chain_of(stores)
    check_history(stores, record)
    check_layers(stores, record)
    assert chain[-1].header.parents == ()
    assert not list(judge.commits(chain))
    assert not list(judge.reads())
    assert not list(judge.trees(repository, chain))
    assert not list(judge.content(repository, "main", Look("the branch", NEVER - 1)))


def chain_of(stores: Stores, name: str = "main") -> list[StoredCommit]:
    """The commits of a branch, newest first, each read from the store."""
    record, _ = _records(stores)
    return list(_chain(stores, record, get_branch(stores.kv, record, BranchId(name)).value))


def _records(stores: Stores) -> tuple[RepositoryRecord, BranchRecord]:
    record = repositories.get(stores.kv, stores.clock, stores.ids, RepositoryId("repo"))
    return record, get_branch(stores.kv, record, record.default_branch).value


def _chain(stores: Stores, record: RepositoryRecord, branch: BranchRecord) -> Iterator[StoredCommit]:
    commit = read_commit(stores.kv, CommitCache(), record, branch.commit_id)
    while True:
        yield commit
        if not commit.header.parents:
            return
        commit = read_commit(stores.kv, CommitCache(), record, commit.header.parents[0])


def _no_token_is_leaked(url: str, partitions: Sequence[bytes]) -> None:
    """Every staging partition that holds something is on the branch, or its cleanup record tells where to find it."""
    stores = Stores(kv=open_store(url), blobs=OpenedBlobs(None, durable=False))
    record, branch = _records(stores)
    named = {branch.staging_token, *(layer.id for layer in branch.sealed_tokens)}
    folder = keys.cleanup(record, "")
    named |= {row.key.removeprefix(folder.key).decode() for row in stores.kv.scan(folder.partition, prefix=folder.key)}
    stores.close()
    assert not {partition.decode() for partition in partitions if partition.startswith(b"repo/main:")} - named
