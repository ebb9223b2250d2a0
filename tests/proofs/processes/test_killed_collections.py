"""Real writers, uploaders, committers, readers and two collectors on one store, killed at random: no content is lost.

The clock goes ahead by half of the grace period before every kill. In the end every entry of every commit and branch
reads as it was written, and a last collection leaves nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.ids import RepositoryId
from graveler_core.objects.commits import CommitCache, StoredCommit, read_commit
from graveler_core.refs import repositories
from graveler_core.refs.branches import get_branch
from graveler_core.stores import Stores
from graveler_core.testing.invariants import check_history, check_layers
from tests.postgresql_server import own_server
from tests.proofs.processes.collection_actor import GRACE, OPTIONS, live, opened
from tests.proofs.processes.crew import Cast, crew, disturb
from tests.proofs.processes.fast_clock import fast_clock
from tests.proofs.processes.journal import NEVER, read_all
from tests.proofs.processes.judge import Judge, Look
from tests.s3_server import S3Server

pytestmark = pytest.mark.ci

CAST = Cast(("w0", "w1", "u0", "u1", "c0", "g0", "g1", "r0"), live, enough=2_000, in_calls=True)
"""Two writers, two uploaders, a committer, two collectors and a reader; a dozen operations."""
HALF = GRACE // timedelta(minutes=1) // 2
JOURNALS = "journals"
SECONDS = pytest.param(7, id="seconds")
MINUTES = pytest.param(40, id="minutes", marks=pytest.mark.slow)


@pytest.mark.parametrize("kills", [SECONDS, MINUTES])
def test_on_one_sqlite_file(tmp_path: Path, kills: int) -> None:
    _run(f"sqlite:///{tmp_path / 'kv.db'}?durability=process", tmp_path, (tmp_path / "lake").as_uri(), {}, kills)


@pytest.mark.parametrize("kills", [pytest.param(7, id="seconds"), MINUTES])
def test_on_one_postgresql_and_s3(tmp_path: Path, s3: S3Server, kills: int) -> None:
    bucket = s3.make_bucket(f"collections-{kills}")
    with own_server() as server:
        _run(server.url, tmp_path, f"s3://{bucket}/lake", s3.options, kills)


def _run(url: str, home: Path, lake: str, options: dict[str, str], kills: int) -> None:
    (home / OPTIONS).write_text(json.dumps({"options": options}))
    clock = fast_clock(home / "clock")
    with closing(opened(url, home)) as stores:
        Graveler(stores).create_repository("repo", lake)
    with crew(url, home / JOURNALS, seed=kills, cast=CAST) as crowd:
        disturb(crowd, kills, dict.fromkeys(range(kills), lambda: clock.put_forward(HALF)))
    judge = Judge(read_all(home / JOURNALS))
    assert not [operation for operation in judge.operations if operation.outcome == "crashed"]
    done = {operation.verb for operation in judge.operations if operation.outcome == "done"}
    assert done >= {"put", "upload", "stage", "commit", "collect", "get"}
    assert sum(int(o.answer or 0) for o in judge.operations if o.verb == "collect" and o.outcome == "done") > 0
    with closing(opened(url, home)) as stores:
        repository = Graveler(stores).repository("repo")
        _judge(stores, repository, judge)
        for _ in range(3):
            clock.put_forward(2 * HALF)
            repository.collect(grace=GRACE)
        _judge(stores, repository, judge)
        blobs = stores.blobs.at(lake)
        assert {blob.address for blob in blobs.list("data/")} == _contents(stores, repository)


def _judge(stores: Stores, repository: Repository, judge: Judge) -> None:
    record = repositories.get(stores.kv, stores.clock, stores.ids, RepositoryId("repo"))
    chain = list(_chain(stores))
    check_history(stores, record)
    check_layers(stores, record)
    assert not list(judge.commits(chain))
    assert not list(judge.reads())
    assert not list(judge.trees(repository, chain))
    assert not list(judge.content(repository, "main", Look("the branch", NEVER - 1)))
    assert _contents(stores, repository)


def _contents(stores: Stores, repository: Repository) -> set[str]:
    """The addresses of all entries of all commits and of the branch, each of which reads as it was written."""
    named = {(one.entry.address, one.entry.checksum) for one in repository.branch("main").staged() if one.entry}
    for commit in repository.commits():
        for batch in repository.at(commit.id).to_arrow():
            named |= set(zip(batch["address"].to_pylist(), batch["checksum"].to_pylist(), strict=True))
    lake, addresses = repository.storage_namespace, set[str]()
    for address, checksum in named:
        relative = str(address).removeprefix(f"{lake}/")
        content = stores.blobs.at(lake).read(relative)
        assert f"sha256:{hashlib.sha256(content).hexdigest()}" == checksum, address
        addresses.add(relative)
    return addresses


def _chain(stores: Stores) -> Iterator[StoredCommit]:
    record = repositories.get(stores.kv, stores.clock, stores.ids, RepositoryId("repo"))
    commit = get_branch(stores.kv, record, record.default_branch).value.commit_id
    while True:
        stored = read_commit(stores.kv, CommitCache(), record, commit)
        yield stored
        if not stored.header.parents:
            return
        commit = stored.header.parents[0]
