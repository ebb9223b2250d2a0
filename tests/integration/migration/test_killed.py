"""Real processes that migrate from real databases, killed at one write after another: the next one goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import graveler_core
from benchmarks.lifecycle.sources import entry, insert, make_tables, opened
from tests.unit.engine.world import START

pytestmark = pytest.mark.ci

PROGRAM = """
import os, signal, sys
from dataclasses import replace
from graveler_core.facade.graveler import Graveler
from graveler_core.testing.faulty_store import Faulty
from graveler_core.transfer import migrated
from graveler_core.wiring.opening import open_stores

source, target, writes = sys.argv[1], sys.argv[2], int(sys.argv[3])
migrated.BATCH_COMMITS = 3
done = []

def plan(call, number):
    if call.writes:
        done.append(call)
    if len(done) > writes:
        os.kill(os.getpid(), signal.SIGKILL)

stores = open_stores(target)
migrated = Graveler(replace(stores, kv=Faulty(stores.kv, plan))).migrate_from(source)
print([(found.repository, found.result.value, found.resumed) for found in migrated.outcomes], len(done))
"""
"""Kills itself before the write that comes after so many."""
COMMITS, STAGED = 20, 2_500
SAME = [pytest.param(store, store, marks=pytest.mark.slow) for store in ("sqlite", "postgresql")]
on_each_side = pytest.mark.parametrize(
    ("url", "target"), [("sqlite", "postgresql"), ("postgresql", "sqlite"), *SAME], indirect=True
)


def fill(url: str, place: Path) -> None:
    """Two repositories: a line of commits with much staged on it."""
    with opened(url) as connection:
        make_tables(connection)
        for name in ("one", "two"):
            namespace = (place / name).as_uri()
            repository = {"id": f"repo-{name}", "storage_namespace": namespace, "creation_date": START}
            insert(connection, "graveler_repositories", [{**repository, "default_branch": "main"}])
            insert(connection, "graveler_commits", [commit(f"repo-{name}", number) for number in range(COMMITS)])
            branch = {"repository_id": f"repo-{name}", "staging_token": name, "commit_id": f"c{COMMITS - 1}"}
            insert(connection, "graveler_branches", [{**branch, "id": "main"}])
            staged = ({"key": f"{n:05}".encode(), "identity": b"i", "data": entry(n)} for n in range(STAGED))
            insert(connection, "graveler_staging_kv", [{"staging_token": name, **row} for row in staged])


def commit(repository: str, number: int) -> dict[str, object]:
    return {
        "repository_id": repository,
        "id": f"c{number}",
        "committer": "ann",
        "message": "m",
        "creation_date": START,
        "meta_range_id": "",
        "metadata": {},
        "parents": [f"c{number - 1}"] if number else [],
        "version": 1,
    }


@on_each_side
def test_killed_processes_are_gone_on_with(url: str, target: str, tmp_path: Path) -> None:
    fill(url, tmp_path)

    def run(writes: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM, url, target, str(writes)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    seen = list[list[str]]()
    for writes in (0, 3, 7, 12):
        assert run(writes).returncode == -signal.SIGKILL
        with graveler_core.connect(target) as graveler:
            seen.append([repository.id for repository in graveler.list_repositories()])
    assert seen == sorted(seen)
    assert seen[0] == []
    ended = run(1_000)
    assert ended.returncode == 0, ended.stderr
    assert "'repo-two', 'migrated'" in ended.stdout
    with graveler_core.connect(target) as graveler:
        assert list(graveler.verify_against(url)) == []
        for name in ("repo-one", "repo-two"):
            repo = graveler.repository(name)
            assert len(list(repo.log("main"))) == COMMITS
            assert sum(1 for _ in repo.branch("main").list()) == STAGED
            assert not [finding for finding in repo.fsck(deep=True) if finding.damage]


@on_each_side
def test_two_processes_at_once(url: str, target: str, tmp_path: Path) -> None:
    """One of them ends with all there; the other one with that, or with the word that it was not needed."""
    fill(url, tmp_path)
    command = [sys.executable, "-c", PROGRAM, url, target, "1000"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    said = [process.communicate()[0].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert all("'broken'" not in line for line in said)
    with graveler_core.connect(target) as graveler:
        assert graveler.migrate_from(url).good
        assert list(graveler.verify_against(url)) == []
