"""lakeFS's command line `lakectl`, unchanged, against a running server: the commands of a day's work.

The program is not on package registries. The tests are left out without `--lakectl PATH`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from tests.graveler.server.conftest import Place
from tests.graveler.server.running import running_server

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("lakectl")]


@dataclass(frozen=True)
class Lakectl:
    """The program, set up for a server."""

    program: Path
    place: Place
    home: Path

    def __call__(self, *arguments: str, failing: bool = False) -> str:
        """Run a command. Return what it prints."""
        admin = self.place.server.admin
        environment = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LAKECTL_SERVER_ENDPOINT_URL": self.place.server.url,
            "LAKECTL_CREDENTIALS_ACCESS_KEY_ID": str(admin.access_key_id),
            "LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY": admin.secret.get_secret_value(),
            "LAKECTL_INTERACTIVE": "false",
        }
        command = [str(self.program), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert bool(done.returncode) is failing, f"{arguments}: {done.stdout}{done.stderr}"
        assert "WARNING" not in done.stdout + done.stderr
        return done.stdout + done.stderr

    def put(self, uri: str, content: str) -> None:
        """Upload a file."""
        file = self.home / uuid4().hex
        file.write_text(content)
        self("fs", "upload", "-s", str(file), uri)


@pytest.fixture
def run(lakectl: Path, place: Place, tmp_path: Path) -> Lakectl:
    return Lakectl(lakectl, place, tmp_path)


@pytest.fixture
def repo(run: Lakectl) -> str:
    name = f"repo-{uuid4().hex[:12]}"
    assert f"Repository '{name}' created" in run("repo", "create", f"lakefs://{name}", run.place.namespace())
    return f"lakefs://{name}"


def committed(run: Lakectl, branch: str, path: str, content: str, message: str) -> str:
    run.put(f"{branch}/{path}", content)
    said = run("commit", branch, "-m", message, "--meta", "source=test")
    return next(line.split()[-1] for line in said.splitlines() if line.startswith("ID:"))


def test_the_work_of_a_day(run: Lakectl, repo: str, tmp_path: Path) -> None:
    name, main, dev = repo.removeprefix("lakefs://"), f"{repo}/main", f"{repo}/dev"
    assert name in run("repo", "list")
    first = committed(run, main, "raw/a b.csv", "1,2\n", "Load")
    assert "raw/" in run("fs", "ls", f"{main}/")
    assert "a b.csv" in run("fs", "ls", f"{main}/raw/")
    stat = run("fs", "stat", f"{main}/raw/a b.csv")
    assert "Size: 4 bytes" in stat
    assert f"Checksum: {hashlib.md5(b'1,2' + bytes([10]), usedforsecurity=False).hexdigest()}" in stat
    assert run("fs", "cat", f"{main}/raw/a b.csv") == "1,2\n"
    assert first in run("log", main)
    assert run.place.server.graveler.repository(name).commit(first).metadata == {"source": "test"}

    run("branch", "create", dev, "-s", main)
    assert "dev" in run("branch", "list", repo)
    second = committed(run, dev, "raw/b.csv", "3\n", "Add b")
    assert "added raw/b.csv" in run("diff", main, dev)
    run.put(f"{dev}/raw/c.csv", "4\n")
    assert "added raw/c.csv" in run("diff", dev)
    run("branch", "reset", dev, "--yes")
    assert "c.csv" not in run("diff", dev)
    run("merge", dev, main, "-m", "Bring b")
    assert run("fs", "cat", f"{main}/raw/b.csv") == "3\n"
    assert "no changes" in run("merge", dev, main, failing=True)

    run("tag", "create", f"{repo}/v1", main)
    assert "v1" in run("tag", "list", repo)
    third = committed(run, main, "raw/b.csv", "5\n", "Change b")
    run("branch", "revert", main, third, "--yes")
    assert run("fs", "cat", f"{main}/raw/b.csv") == "3\n"
    other = f"{repo}/other"
    run("branch", "create", other, "-s", f"{repo}/{first}")
    run("cherry-pick", f"{repo}/{second}", other)
    assert run("fs", "cat", f"{other}/raw/b.csv") == "3\n"
    run("fs", "rm", f"{other}/raw/b.csv")
    assert "not found" in run("fs", "cat", f"{other}/raw/b.csv", failing=True)

    run("fs", "download", f"{main}/raw/", str(tmp_path / "copy"), "--recursive")
    assert {each.name for each in (tmp_path / "copy").iterdir()} == {"a b.csv", "b.csv"}
    run("branch-protect", "add", repo, "main")
    file = tmp_path / "file"
    file.write_text("x")
    assert "cannot write to protected branch" in run("fs", "upload", "-s", str(file), f"{main}/x", failing=True)
    run("tag", "delete", f"{repo}/v1", "--yes")
    run("branch", "delete", other, "--yes")
    run("repo", "delete", repo, "--yes")


def test_a_conflict(run: Lakectl, repo: str) -> None:
    main, dev = f"{repo}/main", f"{repo}/dev"
    run("branch", "create", dev, "-s", main)
    for branch in (main, dev):
        committed(run, branch, "a", branch, "Write")
    assert "conflict" in run("merge", dev, main, failing=True).lower()
    run("merge", dev, main, "--strategy", "source-wins")
    assert run("fs", "cat", f"{main}/a") == dev


def test_a_directory_is_cloned_changed_and_committed(run: Lakectl, repo: str, tmp_path: Path) -> None:
    main, copy = f"{repo}/main", tmp_path / "local"
    committed(run, main, "data/a", "1", "Write")
    run("local", "clone", f"{main}/data/", str(copy))
    assert (copy / "a").read_text() == "1"
    (copy / "b").write_text("2")
    assert "b" in run("local", "status", str(copy))
    run("local", "commit", str(copy), "-m", "From here")
    assert run("fs", "cat", f"{main}/data/b") == "2"


def test_users_and_groups(run: Lakectl) -> None:
    user, group = f"eve-{uuid4().hex[:8]}", f"team-{uuid4().hex[:8]}"
    run("auth", "users", "create", "--id", user)
    run("auth", "groups", "create", "--id", group)
    run("auth", "groups", "members", "add", "--id", group, "--user", user)
    assert user in run("auth", "groups", "members", "list", "--id", group)
    run("auth", "groups", "acl", "set", "--permission", "Read", "--id", group)
    assert "Read" in run("auth", "groups", "acl", "get", "--id", group)
    assert "secret_access_key" in run("auth", "users", "credentials", "create", "--id", user).lower().replace(" ", "_")
    run("auth", "users", "delete", "--id", user)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_references_are_dumped_and_restored_in_another_store(
    lakectl: Path, run: Lakectl, repo: str, tmp_path: Path
) -> None:
    commit = committed(run, f"{repo}/main", "a", "1", "Write")
    manifest = tmp_path / "refs.json"
    said = run("refs-dump", repo)
    manifest.write_text(said[said.index("{") :])
    assert json.loads(manifest.read_text()).keys() == {
        "commits_meta_range_id",
        "tags_meta_range_id",
        "branches_meta_range_id",
    }
    namespace = run.place.server.graveler.repository(repo.removeprefix("lakefs://")).storage_namespace
    url = f"sqlite:///{tmp_path / 'other.db'}?durability=process"
    with running_server(url, run.place.server.root) as other:
        there = Lakectl(lakectl, Place(other, lambda: ""), tmp_path)
        there("repo", "create-bare", "lakefs://restored", namespace)
        there("refs-restore", "lakefs://restored", "--manifest", str(manifest))
        assert commit[:16] in there("log", "lakefs://restored/main")
        assert there("fs", "cat", "lakefs://restored/main/a") == "1"
