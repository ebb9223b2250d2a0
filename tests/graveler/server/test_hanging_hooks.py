"""Receivers of webhooks that hang keep no thread that reads and other repositories need."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event, Semaphore

import pytest

from graveler.server.change_threads import CHANGE_LIMITS, ChangeLimits, ChangeThreads
from graveler.server.limits import RequestLimits
from graveler.server.serving import ServerOptions
from graveler.server.worker_threads import MAX_THREADS
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http
from tests.graveler.server.running import running_server
from tests.graveler.server.silent_clients import SECONDS
from tests.unit.stores.test_webhook_request import answering, receiver

COMMIT = json.dumps({"message": "m", "allow_empty": True}).encode()
Commit = Callable[[str], "Future[tuple[int, dict[str, str]]]"]


class Limits(RequestLimits):
    """Limits that count the requests that have arrived."""

    def __init__(self) -> None:
        super().__init__(0, ServerOptions().max_uploads)
        self.arrived = Semaphore(0)

    def admit(self, user: str) -> None:
        super().admit(user)
        self.arrived.release()


LIMITS = Limits()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root: Path = tmp_path_factory.mktemp("hanging")
    with running_server(f"sqlite:///{root / 'meta.db'}?durability=process", root.as_uri(), limits=LIMITS) as running:
        yield Place(running, lambda: "")


@contextmanager
def hanging(server: Place) -> Iterator[tuple[str, Semaphore, Event]]:
    """A repository whose webhook hangs before commits, until an event is set.

    Yield its name, a semaphore that counts the calls of the webhook, and the event.
    """
    called, answer, name = Semaphore(0), Event(), server.repository()

    def hang(handler: BaseHTTPRequestHandler) -> None:
        called.release()
        assert answer.wait(SECONDS)
        answering(200)(handler)

    with receiver(hang) as received:
        url = f"http://127.0.0.1:{received.port}/"
        server.server.graveler.repository(name).set_hook("hangs", url, ["pre-commit"], timeout=60, attempts=1)
        try:
            yield name, called, answer
        finally:
            answer.set()


@pytest.fixture
def commit(server: Place) -> Iterator[Commit]:
    """Function that begins a commit in a repository. Its result has the status and the headers of the answer."""

    def committed(repository: str) -> tuple[int, dict[str, str]]:
        status, _, headers = http.send("POST", f"/repositories/{repository}/branches/main/commits", COMMIT, JSON)
        return status, {name.lower(): value for name, value in headers.items()}

    http = Http(server, SECONDS)
    with ThreadPoolExecutor(MAX_THREADS + 2) as clients:
        yield lambda repository: clients.submit(committed, repository)


JSON = {"Content-Type": "application/json"}


def test_a_server_whose_commits_all_wait_for_a_hook_answers_reads(server: Place, commit: Commit) -> None:
    """The commits are on one branch, so all but one of those that run wait for their turn."""
    with hanging(server) as (name, called, answer):
        waiting = [commit(name) for _ in range(MAX_THREADS + 1)]
        assert all(LIMITS.arrived.acquire(timeout=SECONDS) for _ in waiting)
        assert called.acquire(timeout=SECONDS)
        assert Http(server, SECONDS).send("GET", f"/repositories/{name}/branches/main")[0] == 200
        assert commit(server.repository()).result(SECONDS)[0] == 201
        assert not any(each.done() for each in waiting)
        answer.set()
        assert [each.result(SECONDS)[0] for each in waiting] == [201] * len(waiting)


def test_a_hook_may_read_and_change_other_branches_of_its_repository(server: Place) -> None:
    """A receiver that calls the server has an answer, as long as a place is left for its change."""
    name, http = server.repository(), Http(server, SECONDS)
    repo = server.server.graveler.repository(name)
    for number in range(CHANGE_LIMITS.of_one - 1):
        repo.create_branch(f"b{number}", "main")
    repo.create_branch("other", "main")

    def call_back(handler: BaseHTTPRequestHandler) -> None:
        status, _, _ = http.send("POST", f"/repositories/{name}/branches/other/commits", COMMIT, JSON)
        answering(200 if status == 201 else 400)(handler)

    with receiver(call_back) as received, ThreadPoolExecutor(CHANGE_LIMITS.of_one) as clients:
        url = f"http://127.0.0.1:{received.port}/"
        repo.set_hook("calls-back", url, ["pre-commit"], pattern="b*", timeout=60, attempts=1)
        paths = [f"/repositories/{name}/branches/b{number}/commits" for number in range(CHANGE_LIMITS.of_one - 1)]
        answers = clients.map(lambda path: http.send("POST", path, COMMIT, JSON)[0], paths)
        assert [*answers] == [201] * len(paths)


def test_changes_beyond_the_limit_are_told_to_try_again(
    server: Place, commit: Commit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LIMITS, "change_threads", ChangeThreads(ChangeLimits(at_once=2, of_one=1, most_of_one=1)))
    with hanging(server) as (name, called, answer):
        first = commit(name)
        assert called.acquire(timeout=SECONDS)
        status, headers = commit(name).result(SECONDS)
        assert (status, headers["retry-after"]) == (503, "1")
        assert commit(server.repository()).result(SECONDS)[0] == 201
        answer.set()
        assert first.result(SECONDS)[0] == 201
        assert commit(name).result(SECONDS)[0] == 201
