"""A server without access control: only programs of its machine may change something, and no pages of other sites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import httpx
import pytest

from graveler.server.serving import ServerOptions, application_of
from graveler.server.task_runner import TaskRunner
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.wiring.opening import open_stores
from graveler_core.wiring.users import sign_in
from tests.graveler.server.running import running_application

_S3 = {"Authorization": "AWS4-HMAC-SHA256 Credential=a"}
_API = "/api/v1/repositories/{repo}/branches/main"
_DELETION = "<Delete><Object><Key>main/raw/orders.csv</Key></Object></Delete>"
_CHANGES: tuple[tuple[str, str, str, dict[str, str], int], ...] = (
    ("POST", f"{_API}/objects/delete", '{"paths": ["raw/orders.csv"]}', {}, 200),
    ("POST", f"{_API}/objects?path=new", "x", {}, 201),
    ("POST", f"{_API}/commits", '{"message": "Change it", "allow_empty": true}', {}, 201),
    ("POST", "/{repo}?delete", _DELETION, _S3, 200),
    ("PUT", "/{repo}/main/new", "x", _S3, 200),
)


@dataclass(frozen=True)
class OpenServer:
    """A running server without access control."""

    client: httpx.Client
    graveler: Graveler

    def repository(self) -> Repository:
        """Create a repository with an object."""
        name = f"open-{uuid4().hex[:12]}"
        repo = self.graveler.create_repository(name, f"memory://{name}")
        repo.branch("main").put("raw/orders.csv", b"id,amount\n")
        return repo


@pytest.fixture(scope="module")
def server() -> Iterator[OpenServer]:
    stores = open_stores("memory://")
    try:
        options = ServerOptions(port=0, open=True, s3_domains=("s3.lake",))
        app = application_of(stores, options, TaskRunner())
        with running_application(app, options) as url, httpx.Client(base_url=url, timeout=60) as client:
            yield OpenServer(client, sign_in(stores, None))
    finally:
        stores.close()


def _state(repo: Repository) -> tuple[str, list[str]]:
    return repo.commit("main").id, [entry.path for entry in repo.branch("main").list()]


@pytest.mark.parametrize(("method", "path", "body", "more", "status"), _CHANGES)
def test_a_page_of_another_site_changes_nothing(  # noqa: PLR0917 - a table
    server: OpenServer, method: str, path: str, body: str, more: dict[str, str], status: int
) -> None:
    """A browser sends such requests without a question to the server if their content type is `text/plain`."""
    repo = server.repository()

    def sent(**headers: str) -> httpx.Response:
        given = {
            "Content-Type": "text/plain",
            **more,
            **{key.replace("_", "-"): value for key, value in headers.items()},
        }
        return server.client.request(method, path.format(repo=repo.id), content=body, headers=given)

    before = _state(repo)
    foreign = ("http://evil.example", "null", "http://127.0.0.1:1")
    for answer in (
        *(sent(origin=origin) for origin in foreign),
        *(sent(sec_fetch_site=site) for site in ("cross-site", "same-site")),
    ):
        assert (answer.status_code, "another site" in answer.text) == (403, True), answer.request.headers
        assert answer.headers["x-request-id"]
    assert _state(repo) == before
    here = str(server.client.base_url).rstrip("/")
    assert sent(origin=here, sec_fetch_site="same-origin").status_code == status
    assert _state(repo) != before
    assert sent().status_code == status


def test_a_page_of_another_site_may_lead_to_one_of_the_server(server: OpenServer) -> None:
    assert server.client.get("/ui", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


def test_names_of_other_hosts_are_refused(server: OpenServer) -> None:
    def status(host: str, path: str) -> int:
        return server.client.get(path, headers={"Host": host}).status_code

    own = f"localhost LOCALHOST:80 a.localhost 127.0.0.1:{server.client.base_url.port} 127.9.9.9 [::1]:8000"
    assert [status(host, "/_health") != 421 for host in [*own.split(), "s3.lake", "b.s3.lake:1"]] == [True] * 8
    for host in ("evil.example:8000", "127.0.0.1.evil.example", "10.0.0.1", "xs3.lake", "localhost.evil", ""):
        for path in ("/_health", "/api/v1/repositories", "/ui", "/bucket/main/a?X-Amz-Credential=a"):
            assert status(host, path) == 421, (host, path)
