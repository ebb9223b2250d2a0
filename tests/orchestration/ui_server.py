"""Web server, daemon, run queue and code servers, as `./run ui` starts them, and what they can be asked."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from graveler_core.facade.graveler import Graveler
from orchestration.local import Installation

PATIENCE_SECONDS = 600
LAUNCH = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } } }"""
LOCATIONS = "{ workspaceOrError { ... on Workspace { locationEntries { name locationOrLoadError { __typename } } } } }"
STATE = '{ assetNodes(assetKeys: [{path: ["worst_days"]}]) { staleStatus staleCauses { reason key { path } } } }'


class Server:
    """The web server's GraphQL, which is what the UI itself speaks."""

    def __init__(self, port: int, instance: dg.DagsterInstance) -> None:
        self._url = f"http://127.0.0.1:{port}/graphql"
        self._instance = instance

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            data: dict[str, Any] = json.load(answer)["data"]
        return data

    def locations(self) -> dict[str, str]:
        """Which code locations are loaded, and how that went; empty while nobody listens."""
        with suppress(OSError):
            entries = self.ask(LOCATIONS)["workspaceOrError"]["locationEntries"]
            return {e["name"]: (e["locationOrLoadError"] or {}).get("__typename", "") for e in entries}
        return {}

    def run(self, location: str, job: str, tags: dict[str, str], assets: Sequence[list[str]] = ()) -> dg.DagsterRun:
        """Queue a run; wait until the daemon has taken it and it has ended."""
        selector = {"repositoryLocationName": location, "repositoryName": "__repository__", "jobName": job}
        selection = {"assetSelection": [{"path": path} for path in assets]} if assets else {}
        metadata = {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
        params = {"selector": {**selector, **selection}, "runConfigData": {}, "executionMetadata": metadata}
        run_id = self.ask(LAUNCH, params=params)["launchRun"]["run"]["runId"]
        wait_until(lambda: self._record(run_id).is_finished)
        return self._record(run_id)

    def state(self) -> tuple[str, list[str]]:
        """Whether `worst_days` is stale, and why."""
        (node,) = self.ask(STATE)["assetNodes"]
        return node["staleStatus"], ["/".join(cause["key"]["path"]) for cause in node["staleCauses"]]

    def _record(self, run_id: str) -> dg.DagsterRun:
        run = self._instance.get_run_by_id(run_id)
        assert run is not None
        return run


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.3)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@pytest.fixture
def server(installation: Installation, instance: dg.DagsterInstance, graveler: Graveler) -> Iterator[Server]:
    port, log = free_port(), installation.root / "ui.log"
    program = [sys.executable, "-P", "-m", "orchestration.ui", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(program, cwd=installation.root.parent, stdout=output, stderr=output)
    try:
        found = Server(port, instance)
        wait_until(lambda: process.poll() is not None or len(found.locations()) == 2)
        assert process.poll() is None, log.read_text()
        yield found
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0, log.read_text()
        assert processes_of(installation) == []
    finally:
        for pid in processes_of(installation):  # none may outlive the test
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def processes_of(installation: Installation) -> list[int]:
    """Return the ids of other processes that work on an installation."""
    home = f"DAGSTER_HOME={os.environ['DAGSTER_HOME']}".encode()
    assert str(installation.root) in os.environ["DAGSTER_HOME"]
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended
            if home in environment.read_bytes().split(b"\0"):
                found.append(int(environment.parent.name))
    return [pid for pid in found if pid != os.getpid()]
