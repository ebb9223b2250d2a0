"""Real processes that erase content, killed in the middle: the next call ends the erasure, and nothing else is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.errors import Kind, NotFound
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.registry import open_store
from graveler_core.model.erasure import ErasureState
from graveler_core.stores import Stores
from tests.postgresql_server import own_server
from tests.proofs.processes import erasing_process
from tests.s3_server import S3Server

pytestmark = pytest.mark.ci

PREFIX = "u/1/"
STRIDE = 22
"""The process is killed before every call with a number that this divides. The unit tests try all numbers."""


def opened(url: str, options: dict[str, str]) -> Stores:
    return Stores(kv=open_store(url), blobs=OpenedBlobs(options))


def filled(graveler: Graveler, lake: str) -> None:
    """A repository with four contents at paths to erase: in old commits, in the head, and staged on another branch."""
    repo = graveler.create_repository("repo", lake)
    main = repo.branch("main")
    for number in range(2):
        main.put_many({f"{PREFIX}a": b"a%d" % number, "u/2/b": b"b%d" % number})
        main.commit(f"commit {number}")
    main.put(f"{PREFIX}c", b"c")
    main.commit("commit 2")
    repo.create_branch("dev", source="main")
    repo.branch("dev").put_many({f"{PREFIX}staged": b"staged", "other": b"other"})


def killed(url: str, options: dict[str, str], kind: str, number: int) -> bool:
    """Erase in a process that dies before a call. Return `False` if it has fewer calls, and ended."""
    module = erasing_process.__name__
    command = [sys.executable, "-m", module, url, json.dumps(options), PREFIX, kind, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        assert int(done.stdout) <= number
        return False
    assert done.returncode == -signal.SIGKILL, done.stderr
    return True


def require_erased(repo: Repository) -> None:
    (erasure,) = repo.erasures()
    assert (erasure.state, erasure.objects) == (ErasureState.DONE, 4)
    kept = set()
    for commit in repo.commits():
        for entry in repo.at(commit.id).list():
            if entry.path.startswith(PREFIX):
                with pytest.raises(NotFound, match="request 17") as gone:
                    repo.at(commit.id).read(entry.path)
                assert gone.value.kind is Kind.ContentErased
            else:
                kept.add(repo.at(commit.id).read(entry.path))
    assert kept == {b"b0", b"b1"}
    for branch in ("main", "dev"):
        assert not list(repo.branch(branch).list(PREFIX))
    assert repo.branch("dev").read("other") == b"other"
    assert not [finding for finding in repo.fsck(data=True) if finding.damage]


def tried(place: tuple[str, str, dict[str, str]], kind: str, number: int) -> bool:
    """Kill an erasure before a call, and let this process end it. Return `False` if the erasure had ended."""
    url, lake, options = place
    with closing(opened(url, options)) as stores:
        filled(Graveler(stores), lake)
    died = killed(url, options, kind, number)
    with closing(opened(url, options)) as stores:
        repo = Graveler(stores).repository("repo")
        if died:
            repo.erase(prefix=PREFIX, why="request 17")
        require_erased(repo)
        repo.branch("main").put("u/2/b", b"afterwards")
        blobs = stores.blobs.at(lake)
        assert len(list(blobs.list("data/"))) == 4, "two of u/2/b, one of other, and the last one"
    return died


@pytest.mark.parametrize(("kind", "stride"), [("calls", STRIDE), ("deletions", 1)])
def test_on_sqlite(tmp_path: Path, kind: str, stride: int) -> None:
    for number in count(0, stride):
        place = tmp_path / str(number)
        place.mkdir()
        if not tried((f"sqlite:///{place / 'kv.db'}", (place / "lake").as_uri(), {}), kind, number):
            break
    assert number >= 4


def test_on_postgresql_and_s3(tmp_path: Path, s3: S3Server) -> None:
    for kind, number in (("calls", 33), ("deletions", 1)):
        with own_server() as server:
            bucket = s3.make_bucket(f"erased-{kind}-{number}")
            assert tried((server.url, f"s3://{bucket}/lake", s3.options), kind, number)
