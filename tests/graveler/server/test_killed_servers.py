"""Two servers on one PostgreSQL store are killed and started again, under writers by both protocols and committers.

What a server has acknowledged is there afterwards, whole. What was not acknowledged is there whole, or not at all.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

import graveler
from graveler import Credentials, SecretsKeys
from graveler_core.gc.findings import Trouble
from graveler_core.model.iam import NewCredential
from tests.graveler.server.plain_http import basic
from tests.postgresql_server import fresh_schema
from tests.servers.process import free_port

KILLS = 8
WRITERS = 2
"""Writers by each protocol, and committers, for each server."""
LOST = (OSError, HTTPException, URLError, BotoCoreError)
"""Errors of a client whose server is gone."""


def content_of(path: str) -> bytes:
    """Content that belongs to a path, of some hundred kilobytes for every tenth."""
    return path.encode() * (5_000 if path.endswith("0") else 1)


@dataclass
class KilledServer:
    """A server at one port that is killed and started again."""

    store: str
    root: Path
    keys: str
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        environment = {
            **os.environ,
            "GRAVELER_STORE": self.store,
            "GRAVELER_DATA": self.root.as_uri(),
            "GRAVELER_SERVER_KEY": self.keys,
            "GRAVELER_CONFIG": "",
        }
        command = [str(Path(sys.executable).parent / "graveler"), "--json", "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert json.loads(self.process.stdout.readline())["url"] == self.url

    def kill(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass
class Clients:
    """Writers and committers of one server, and what was acknowledged to them."""

    server: KilledServer
    admin: NewCredential
    stop: threading.Event = field(default_factory=threading.Event)
    written: dict[str, bool] = field(default_factory=dict)
    """True for the paths whose write was acknowledged, false for those that were begun."""
    commits: list[str] = field(default_factory=list)
    refused: set[tuple[int, bytes]] = field(default_factory=set)
    """Status and text of answers other than successes."""
    failed: list[BaseException] = field(default_factory=list)

    def threads(self) -> list[threading.Thread]:
        works = [self.write_by_api, self.write_by_s3, self.commit]
        return [threading.Thread(target=self.guarded, args=(work,)) for work in works for _ in range(WRITERS)]

    def guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self.failed.append(error)
            raise

    def write_by_api(self) -> None:
        self.write(lambda path: self.send("POST", f"/objects?path={path}", content_of(path)))

    def write_by_s3(self) -> None:
        config = Config(signature_version="s3v4", retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
        secret = self.admin.secret.get_secret_value()
        client = boto3.session.Session().client(
            "s3",
            endpoint_url=self.server.url,
            region_name="us-east-1",
            aws_access_key_id=str(self.admin.access_key_id),
            aws_secret_access_key=secret,
            config=config,
        )
        self.write(lambda path: client.put_object(Bucket="lake", Key=f"main/{path}", Body=content_of(path)))

    def write(self, put: Callable[[str], object]) -> None:
        name, number = uuid4().hex[:8], 0
        while not self.stop.is_set():
            path, number = f"load/{name}/{number:05}", number + 1
            self.written[path] = False
            if self.tried(lambda path=path: put(path)) is not None:  # type: ignore[misc]
                self.written[path] = True

    def commit(self) -> None:
        while not self.stop.is_set():
            made = self.tried(lambda: self.send("POST", "/commits", b'{"message": "load", "allow_empty": true}'))
            if isinstance(made, bytes):
                self.commits.append(json.loads(made)["id"])

    def tried(self, call: Callable[[], object]) -> object:
        """Return the answer, or `None` if the server is gone or asks to try again."""
        try:
            return call()
        except HTTPError as error:
            with error:
                self.refused.add((error.code, error.read()))
        except ClientError as error:
            self.refused.add((error.response["ResponseMetadata"]["HTTPStatusCode"], str(error).encode()))
        except LOST:
            time.sleep(0.05)
        return None

    def send(self, method: str, path: str, body: bytes) -> bytes:
        headers = {
            "Authorization": basic(str(self.admin.access_key_id), self.admin.secret.get_secret_value()),
            "Content-Type": "application/json" if path == "/commits" else "application/octet-stream",
        }
        url = f"{self.server.url}/api/v1/repositories/lake/branches/main{path}"
        with urlopen(Request(url, body, headers, method=method), timeout=60) as answer:
            content: bytes = answer.read()
        return content


@pytest.fixture
def store(postgresql_server: str) -> Iterator[str]:
    with fresh_schema(postgresql_server) as url:
        yield url


@contextmanager
def running(servers: list[KilledServer]) -> Iterator[None]:
    for server in servers:
        server.start()
    try:
        yield
    finally:
        for server in servers:
            server.kill()


@pytest.mark.slow
def test_what_was_acknowledged_survives_killed_servers(store: str, tmp_path: Path) -> None:
    keys = SecretsKeys.new().get_secret_value()
    with graveler.connect(store) as g:
        admin = g.iam.set_up("ada", secrets_keys=SecretsKeys(keys))
    own = Credentials(admin.access_key_id, admin.secret)
    with graveler.connect(store, credentials=own) as g:
        g.create_repository("lake", (tmp_path / "lake").as_uri())
    servers = [KilledServer(store, tmp_path, keys) for _ in range(2)]
    clients = [Clients(server, admin) for server in servers]
    with running(servers):
        threads = [thread for each in clients for thread in each.threads()]
        for thread in threads:
            thread.start()
        chance = random.Random(26)
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.3, 2.0))
            server = chance.choice(servers)
            server.kill()
            time.sleep(chance.uniform(0, 0.5))
            server.start()
        time.sleep(1)
        for each in clients:
            each.stop.set()
        for thread in threads:
            thread.join()
    assert [error for each in clients for error in each.failed] == []
    assert [said for each in clients for said in each.refused if said[0] not in (429, 500, 503)] == []
    written = {path: known for each in clients for path, known in each.written.items()}
    commits = [id for each in clients for id in each.commits]
    assert min(sum(written.values()), len(commits)) > 20, "the servers did nothing"
    assert_whole(store, own, written, commits)


def assert_whole(store: str, own: Credentials, written: dict[str, bool], commits: list[str]) -> None:
    with graveler.connect(store, credentials=own) as g:
        repo = g.repository("lake")
        main = repo.branch("main")
        main.commit("The rest", allow_empty=True)
        found = {entry.path for entry in main.list()}
        assert found >= {path for path, acknowledged in written.items() if acknowledged}
        assert found <= written.keys()
        for path in found:
            assert main.read(path) == content_of(path)
        history = {entry.id for entry in repo.log("main")}
        assert history >= set(commits)
        assert len(set(commits)) == len(commits)
        assert {each.trouble for each in repo.fsck()} <= {Trouble.UNREACHABLE}  # commits that a kill cut off
