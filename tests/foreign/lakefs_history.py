"""A history in a real server of lakeFS, from which the fixtures in `tests/foreign/lakefs` were made.

    python -m tests.foreign.lakefs_history PATH_OF_LAKEFS DIRECTORY

starts the server on a free port of this machine with its objects in a temporary directory, makes a repository, and
writes into the directory: the storage namespace (`blocks/flights`), the manifests of two dumps of references, what the
server says of each commit (`expected.json.gz`), and its answers to a migration (`answers.json.gz`).
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlencode

KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
REPOSITORY = "flights"
BLOCKS = "/lakefs/blocks"
"""Stands for the temporary directory of all storage namespaces in what the server says."""
OUTSIDE = "/outside"
"""Directory outside of the storage namespace to which entries refer. It need not exist."""


@dataclass(frozen=True)
class Server:
    """A running server."""

    port: int
    blocks: Path
    """Directory of the storage namespaces."""

    @property
    def url(self) -> str:
        """URL of a repository for a migration."""
        return f"lakefs+http://{KEY}:{quote(SECRET, safe='')}@127.0.0.1:{self.port}/{REPOSITORY}"

    def call(
        self, verb: str, path: str, body: Any = None, query: Mapping[str, str] | None = None, raw: bool = False
    ) -> Any:
        """Send a request to the API, and return the answer."""
        where = f"http://127.0.0.1:{self.port}/api/v1{path}" + (f"?{urlencode(query)}" if query else "")
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        pair = base64.b64encode(f"{KEY}:{SECRET}".encode()).decode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        headers = {"Authorization": f"Basic {pair}", "Content-Type": kind}
        request = urllib.request.Request(where, data, headers, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as e:
            e.add_note(f"{verb} {where}: {e.read()!r}")
            raise
        return text if raw else json.loads(text) if text else None

    def of(self, verb: str, at: str, body: Any = None, /, **query: str) -> Any:
        """Send a request about the repository."""
        return self.call(verb, f"/repositories/{REPOSITORY}{at}", body, query)

    def pages(self, at: str, /, **query: str) -> list[Any]:
        """Return all items of a listing."""
        found, after = [], ""
        while True:
            page = self.of("GET", at, amount="1000", after=after, **query)
            found += page["results"]
            if not page["pagination"]["has_more"]:
                return found
            after = page["pagination"]["next_offset"]

    def put(self, branch: str, path: str, content: bytes) -> None:
        """Upload an object."""
        self.of("POST", f"/branches/{branch}/objects", content, path=path)

    def stage(self, branch: str, path: str, said: Mapping[str, Any]) -> None:
        """Add an entry that refers to an object."""
        self.of("PUT", f"/branches/{branch}/objects", said, path=path)

    def remove(self, branch: str, path: str) -> None:
        """Remove an entry."""
        self.of("DELETE", f"/branches/{branch}/objects", path=path)

    def commit(self, branch: str, message: str, **metadata: str) -> str:
        """Commit a branch, and return the id of the commit."""
        id: str = self.of("POST", f"/branches/{branch}/commits", {"message": message, "metadata": metadata})["id"]
        return id

    def branch(self, name: str, source: str) -> None:
        """Create a branch."""
        self.call("POST", f"/repositories/{REPOSITORY}/branches", {"name": name, "source": source}, raw=True)

    def tag(self, name: str, ref: str) -> None:
        """Create a tag."""
        self.of("POST", "/tags", {"id": name, "ref": ref})

    def merge(self, source: str, destination: str, message: str) -> None:
        """Merge a branch into another one."""
        self.of("POST", f"/refs/{source}/merge/{destination}", {"message": message})

    def dump(self) -> Any:
        """Dump the references, and return the manifest."""
        task = self.of("POST", "/dump")["id"]
        while not (said := self.of("GET", "/dump", task_id=task))["done"]:
            time.sleep(0.1)
        return said["refs"]


@contextmanager
def server(lakefs: Path, raggedness: int = 12) -> Iterator[Server]:
    """Start a server with a new database.

    Args:
        lakefs: Path of the program.
        raggedness: Mean number of entries of a range.
    """
    with TemporaryDirectory() as place, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        settings = {
            "DATABASE_TYPE": "local",
            "DATABASE_LOCAL_PATH": f"{place}/kv",
            "BLOCKSTORE_TYPE": "local",
            "BLOCKSTORE_LOCAL_PATH": f"{place}/blocks",
            "BLOCKSTORE_LOCAL_IMPORT_ENABLED": "true",
            "BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES": OUTSIDE,
            "COMMITTED_LOCAL_CACHE_DIR": f"{place}/cache",
            "COMMITTED_PERMANENT_RANGE_RAGGEDNESS_ENTRIES": str(raggedness),
            "AUTH_ENCRYPT_SECRET_KEY": "only for tests",
            "BLOCKSTORE_SIGNING_SECRET_KEY": "only for tests",
            "LISTEN_ADDRESS": f"127.0.0.1:{port}",
            "STATS_ENABLED": "false",
            "EMAIL_SUBSCRIPTION_ENABLED": "false",
            "SECURITY_CHECK_LATEST_VERSION": "false",
            "USAGE_REPORT_ENABLED": "false",
            "INSTALLATION_USER_NAME": "ada",
            "INSTALLATION_ACCESS_KEY_ID": KEY,
            "INSTALLATION_SECRET_ACCESS_KEY": SECRET,
            "LOGGING_LEVEL": "ERROR",
        }
        environment = {**os.environ, "HOME": place, **{f"LAKEFS_{name}": value for name, value in settings.items()}}
        program = subprocess.Popen([lakefs, "run"], env=environment)
        try:
            found = Server(port, Path(place) / "blocks")
            _wait(found)
            yield found
        finally:
            program.terminate()
            program.wait()


def _wait(found: Server) -> None:
    for _ in range(300):
        try:
            found.call("GET", "/user")
            return
        except (OSError, urllib.error.URLError):
            time.sleep(0.2)
    raise TimeoutError("lakeFS did not start")


def create(there: Server) -> None:
    """Create the repository."""
    wanted = {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}", "default_branch": "main"}
    there.call("POST", "/repositories", wanted)


def first_state(there: Server) -> None:
    """Commits on two branches, a merge, tags, entries of all kinds, and a commit that no branch reaches."""
    for day in range(1, 25):
        there.put("main", f"raw/2024-05-{day:02d}.csv", b"carrier,flights\nAA,%d\n" % day)
    for number in range(90):
        there.stage("main", f"tables/part-{number:04d}.parquet", _said(number))
    there.stage("main", "outside/of the lake?.bin", {**_said(7), "physical_address": f"local://{OUTSIDE}/a b/ü.bin"})
    first = there.commit("main", "Days of May", source="airport", night="yes")
    there.tag("v1", first)
    there.branch("dev", "main")
    there.put("dev", "raw/2024-05-25.csv", b"carrier,flights\nAA,25\n")
    there.stage("dev", "tables/part-0042.parquet", _said(4242))
    there.remove("dev", "tables/part-0001.parquet")
    there.commit("dev", "A day, a part, and a part less", author="grace")
    there.put("main", "raw/2024-05-01.csv", b"carrier,flights\nAA,1000\n")
    there.remove("main", "raw/2024-05-02.csv")
    there.commit("main", "Correction")
    there.merge("dev", "main", "Take over dev")
    there.tag("v2", "main")
    there.branch("gone", "main")
    there.put("gone", "raw/gone.csv", b"gone")
    there.commit("gone", "A commit that no branch reaches")
    there.of("DELETE", "/branches/gone")


def second_state(there: Server) -> None:
    """Further commits, a further branch, and an assignment of a branch."""
    for number in range(90, 110):
        there.stage("main", f"tables/part-{number:04d}.parquet", _said(number))
    there.put("main", "raw/2024-05-26.csv", b"carrier,flights\nAA,26\n")
    there.commit("main", "Twenty parts")
    there.branch("later", "main")
    there.tag("v3", "main")


def uncommitted(there: Server) -> None:
    """Uncommitted changes of all kinds on a branch."""
    there.put("dev", "raw/added.csv", b"added")
    there.stage("dev", "tables/part-0003.parquet", {**_said(3), "metadata": {"by": "hand"}})
    there.stage("dev", "outside/local.bin", {**_said(5), "physical_address": f"local://{OUTSIDE}/c.bin"})
    there.remove("dev", "tables/part-0004.parquet")


def state(there: Server) -> dict[str, Any]:
    """Return what the server says of branches, tags, commits and their entries."""
    branches = {item["id"]: item["commit_id"] for item in there.pages("/branches")}
    tags = {item["id"]: item["commit_id"] for item in there.pages("/tags")}
    commits: dict[str, Any] = {}
    for ref in [*branches.values(), *tags.values()]:
        for commit in there.pages(f"/refs/{ref}/commits"):
            commits[commit["id"]] = commit
    for id, commit in commits.items():
        commit["entries"] = there.pages(f"/refs/{id}/objects/ls", user_metadata="true")
    return {"branches": branches, "tags": tags, "commits": commits}


def _said(number: int) -> dict[str, Any]:
    return {
        "physical_address": f"local://{OUTSIDE}/tables/{number:08d}",
        "checksum": f"{number:032x}",
        "size_bytes": number * 1000,
        "mtime": 1_700_000_000 + number,
        "content_type": "application/x-parquet",
        "metadata": {"number": str(number)} if number % 10 == 0 else {},
    }


def make(lakefs: Path, into: Path) -> None:
    """Make all fixtures."""
    with server(lakefs) as there:
        create(there)
        first_state(there)
        expected = {"first": state(there)}
        manifests = {"first": there.dump()}
        second_state(there)
        uncommitted(there)
        expected["second"] = state(there)
        answers = _answers(there)
        manifests["second"] = answers["refs"]
        shutil.rmtree(into / "blocks", ignore_errors=True)
        shutil.copytree(there.blocks / REPOSITORY, into / "blocks" / REPOSITORY)
    for name, manifest in manifests.items():
        (into / f"refs-{name}.json").write_text(json.dumps(manifest, indent=2) + "\n")
    texts = {name: json.dumps(said, sort_keys=True) for name, said in (("expected", expected), ("answers", answers))}
    for name, text in texts.items():
        placed = text.replace(str(there.blocks), BLOCKS).encode()
        (into / f"{name}.json.gz").write_bytes(gzip.compress(placed, mtime=0))


def _answers(there: Server) -> dict[str, Any]:
    """Return the answers that a migration with uncommitted changes gets."""
    found: dict[str, Any] = {"repository": there.of("GET", ""), "refs": there.dump(), "diff": {}, "stat": {}}
    for branch in ("dev", "later", "main"):
        page = found["diff"][branch] = there.of("GET", f"/branches/{branch}/diff", amount="1000", after="")
        for item in page["results"]:
            if item["type"] != "removed":
                where = f"/refs/{branch}/objects/stat"
                found["stat"][item["path"]] = there.of("GET", where, path=item["path"], user_metadata="true")
    return found


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
