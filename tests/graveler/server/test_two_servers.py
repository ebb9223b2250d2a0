"""Two server processes on one PostgreSQL store: each sees what the other did, and a killed one loses nothing."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

import pytest

import graveler
from graveler import Credentials
from graveler_core.gc.findings import Trouble
from graveler_core.model.iam import NewCredential
from tests.postgresql_server import fresh_schema


@dataclass(frozen=True)
class Process:
    """A running `graveler serve`."""

    process: subprocess.Popen[str]
    url: str
    credentials: str

    def send(self, method: str, path: str, body: bytes | None = None, authorization: str = "") -> bytes:
        headers = {"Authorization": authorization or self.credentials, "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + "/api/v1" + path, data=body, headers=headers, method=method)
        with urllib.request.urlopen(request) as response:
            content: bytes = response.read()
        return content


@contextmanager
def serving(store: str, root: Path, admin: NewCredential) -> Iterator[Process]:
    environment = {**os.environ, "GRAVELER_STORE": store, "GRAVELER_DATA": root.as_uri(), "GRAVELER_CONFIG": ""}
    command = [str(Path(sys.executable).parent / "graveler"), "--json", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        secret = f"{admin.access_key_id}:{admin.secret.get_secret_value()}"
        encoded = base64.b64encode(secret.encode()).decode()
        yield Process(process, json.loads(process.stdout.readline())["url"], f"Basic {encoded}")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def store(postgresql_server: str) -> Iterator[str]:
    with fresh_schema(postgresql_server) as url:
        yield url


def test_what_was_acknowledged_is_there(store: str, tmp_path: Path) -> None:
    with graveler.connect(store) as g:
        admin = g.iam.set_up("ada")
    with serving(store, tmp_path, admin) as first, serving(store, tmp_path, admin) as second:
        first.send("POST", "/repositories", json.dumps({"name": "shared", "storage_namespace": "local://x"}).encode())
        branch = "/repositories/shared/branches/main"
        first.send("POST", f"{branch}/objects?path=a", b"from the first")
        made = json.loads(first.send("POST", f"{branch}/commits", json.dumps({"message": "First"}).encode()))
        assert json.loads(second.send("GET", branch))["commit_id"] == made["id"]
        assert second.send("GET", "/repositories/shared/refs/main/objects?path=a") == b"from the first"
        login = {
            "access_key_id": str(admin.access_key_id),
            "secret_access_key": admin.secret.get_secret_value(),
        }
        token = json.loads(first.send("POST", "/auth/login", json.dumps(login).encode()))["token"]
        shown = second.send("GET", "/user", authorization=f"Bearer {token}")
        assert json.loads(shown)["user"]["id"] == "ada"

        acknowledged: list[list[str]] = [[] for _ in range(3)]

        def write(writer: int) -> None:
            try:
                for number in range(10_000):
                    path = f"load/{writer}/{number:05}"
                    first.send("POST", f"{branch}/objects?path={path}", path.encode())
                    acknowledged[writer].append(path)
                    if number % 5 == 4:
                        first.send("POST", f"{branch}/commits", b'{"message": "load", "allow_empty": true}')
            except (OSError, HTTPException):
                return  # the server was killed

        writers = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
        for writer in writers:
            writer.start()
        while min(map(len, acknowledged)) < 10 and all(writer.is_alive() for writer in writers):
            threading.Event().wait(0.01)
        assert all(writer.is_alive() for writer in writers)
        first.process.send_signal(signal.SIGKILL)
        for writer in writers:
            writer.join()

        for path in (path for written in acknowledged for path in written):
            assert second.send("GET", f"/repositories/shared/refs/main/objects?path={path}") == path.encode()
        second.send("POST", f"{branch}/commits", b'{"message": "After", "allow_empty": true}')
        second.process.terminate()
        assert second.process.wait() == 0
    with graveler.connect(store, credentials=Credentials(admin.access_key_id, admin.secret)) as g:
        repo = g.repository("shared")
        known = {entry.path for entry in repo.at("main").list()}
        assert known >= {path for written in acknowledged for path in written}
        assert {found.trouble for found in repo.fsck()} <= {Trouble.UNREACHABLE}  # a commit that the kill cut off
