"""A running lakeFS is asked for a dump and for uncommitted changes. The answers are those of a real one."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from graveler_core.errors import InvalidInput, Kind, NotFound, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.transfer.lakefs import migration
from graveler_core.transfer.lakefs.api import LakefsApi
from graveler_core.transfer.lakefs.report import LakefsMigrated
from tests.foreign import fixtures
from tests.foreign.lakefs_history import REPOSITORY
from tests.integration.lakefs.replay import Replay, replaying
from tests.integration.lakefs.states import SOURCE, entries, entry, require_equal
from tests.unit.engine.world import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def graveler(world: World) -> Graveler:
    return world.graveler()


@pytest.fixture
def server() -> Iterator[Replay]:
    with replaying(Replay()) as found:
        yield found


def migrate(graveler: Graveler, world: World, server: Replay, **options: Any) -> LakefsMigrated:
    options = {"objects": SOURCE, **options}
    return graveler.migrate_lakefs(REPOSITORY, server.url, world.namespace("own"), **options)


def test_everything_comes_over(world: World, graveler: Graveler, server: Replay) -> None:
    migrate(graveler, world, server)
    made = {item.origin: item.commit_id for item in graveler.migrated_ids(REPOSITORY)}
    repo = graveler.repository(REPOSITORY)
    require_equal(repo, made, fixtures.expected("second")["commits"])
    assert repo.default_branch == "main"
    assert repo.creation_date.timestamp() == fixtures.answers()["repository"]["creation_date"]
    assert [*graveler.verify_lakefs(REPOSITORY, server.url, objects=SOURCE)] == []


@pytest.mark.parametrize("page", [1, 2, 1000])
def test_uncommitted_changes_are_staged(world: World, graveler: Graveler, server: Replay, page: int) -> None:
    server.page = page
    assert migrate(graveler, world, server, uncommitted=True).staged == 4
    repo, said = graveler.repository(REPOSITORY), fixtures.answers()["stat"]
    changes = {change.path: change.kind.value for change in repo.branch("dev").uncommitted()}
    assert changes == {
        "outside/local.bin": "added",
        "raw/added.csv": "added",
        "tables/part-0003.parquet": "changed",
        "tables/part-0004.parquet": "removed",
    }
    staged = entries(repo.branch("dev").get(path) for path in said)
    assert staged == {path: entry(each) for path, each in said.items()}
    assert repo.branch("dev").read("raw/added.csv") == b"added"
    assert [*repo.branch("main").uncommitted()] == []


def test_uncommitted_changes_are_staged_once(world: World, graveler: Graveler, server: Replay) -> None:
    migrate(graveler, world, server)
    assert migrate(graveler, world, server, uncommitted=True).staged == 4
    assert migrate(graveler, world, server, uncommitted=True).staged == 0


def test_uncommitted_changes_that_are_interrupted_are_all_staged_by_the_next_run(
    world: World, graveler: Graveler, server: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = LakefsApi.stat, list[str]()

    def stat(api: LakefsApi, ref: str, path: str) -> Mapping[str, Any] | None:
        asked.append(path)
        if len(asked) == 3:
            raise Unavailable("the server is away")
        return real(api, ref, path)

    monkeypatch.setattr(migration, "PAGE_ENTRIES", 1)
    monkeypatch.setattr(LakefsApi, "stat", stat)
    with pytest.raises(Unavailable, match="the server is away"):
        migrate(graveler, world, server, uncommitted=True)
    assert migrate(graveler, world, server, uncommitted=True).staged == 4


def test_a_dump_and_a_server_are_one_source(world: World, graveler: Graveler, server: Replay) -> None:
    graveler.migrate_lakefs(REPOSITORY, SOURCE, world.namespace("own"), manifest=fixtures.manifest("first"))
    done = migrate(graveler, world, server)
    assert (done.commits, done.branches.moved, done.tags.created) == (1, ("main",), ("v3",))


def test_an_old_server_dumps_in_one_request(world: World, graveler: Graveler, server: Replay) -> None:
    server.old = True
    assert migrate(graveler, world, server).commits == 7
    assert [line.rpartition("flights")[2] for line in server.asked] == ["", "/dump", "/refs/dump"]


def test_a_dump_in_progress_is_waited_for(world: World, graveler: Graveler, server: Replay) -> None:
    server.looks = 5
    assert migrate(graveler, world, server).commits == 7
    assert sum(line.startswith("GET") and line.endswith("/dump") for line in server.asked) == 6


def test_a_dump_that_never_ends(world: World, graveler: Graveler, server: Replay) -> None:
    server.looks = 1 << 30
    with pytest.raises(Unavailable, match="did not end within 3,600 seconds"):
        migrate(graveler, world, server)


def test_a_dump_that_fails(world: World, graveler: Graveler, server: Replay) -> None:
    server.failure = "no space"
    with pytest.raises(Unavailable, match="the dump of references failed: no space"):
        migrate(graveler, world, server)


def test_the_location_of_a_local_namespace_must_be_named(world: World, graveler: Graveler, server: Replay) -> None:
    with pytest.raises(InvalidInput, match=r"'local://flights' of lakeFS: pass its location"):
        migrate(graveler, world, server, objects=None)


def test_wrong_credentials(world: World, graveler: Graveler, server: Replay) -> None:
    url = f"lakefs+http://wrong:secret@127.0.0.1:{server.port}/{REPOSITORY}"
    with pytest.raises(Unavailable, match="status 401") as refused:
        graveler.migrate_lakefs(REPOSITORY, url, world.namespace("own"), objects=SOURCE)
    assert "secret" not in refused.value.message


def test_a_repository_that_lakefs_lacks(world: World, graveler: Graveler, server: Replay) -> None:
    with pytest.raises(NotFound, match="not found"):
        graveler.migrate_lakefs(REPOSITORY, server.url.replace("/flights", "/other"), world.namespace("own"))


def test_a_server_that_does_not_run(world: World, graveler: Graveler) -> None:
    with replaying(Replay()) as server:
        pass
    with pytest.raises(Unavailable, match="cannot be reached"):
        migrate(graveler, world, server)


@pytest.mark.parametrize("end", ["flights", "/dump", "/diff", "/stat"])
def test_an_answer_that_is_cut_off(world: World, graveler: Graveler, server: Replay, end: str) -> None:
    server.cut = end
    with pytest.raises(Unavailable, match="cannot be reached: IncompleteRead"):
        migrate(graveler, world, server, uncommitted=True)
    server.cut = None
    assert migrate(graveler, world, server, uncommitted=True).staged == 4


@pytest.mark.parametrize(
    ("end", "document"),
    [
        ("flights", []),
        ("/dump", {"id": "DRone"}),
        ("/diff", {"results": [{}], "pagination": {"has_more": False, "next_offset": ""}}),
        ("/diff", {"results": ["text"], "pagination": {"has_more": False, "next_offset": ""}}),
        ("/stat", "text"),
    ],
)
def test_an_answer_of_another_form(
    world: World, graveler: Graveler, server: Replay, end: str, document: object
) -> None:
    server.wrong[end] = document
    with pytest.raises(Unavailable, match="does not answer as lakeFS does"):
        migrate(graveler, world, server, uncommitted=True)


@pytest.mark.parametrize(
    "url",
    [
        "lakefs+ftp://h/r",
        "lakefs+http:///r",
        "lakefs+http://h",
        "lakefs+http://h/a/b",
        "lakefs+http://h:99999/r",
        "lakefs+https://h:port/r",
        "lakefs+http://key:geheim/x@h/r",
        "lakefs+http://[::1/r",
        "lakefs+http://a host/r",
    ],
)
def test_urls_that_are_none(world: World, graveler: Graveler, url: str) -> None:
    with pytest.raises(InvalidInput, match="is not the URL of a repository") as caught:
        graveler.migrate_lakefs(REPOSITORY, url, world.namespace("own"))
    assert caught.value.kind is Kind.InvalidUrl
    assert "geheim" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("url", "port"),
    [("http://[::1]/r", 80), ("https://[::1]/r", 443), ("http://[::1]:8000/r", 8000), ("https://[::1]:0/r", 0)],
)
def test_a_host_may_be_an_address_of_ipv6(monkeypatch: pytest.MonkeyPatch, url: str, port: int) -> None:
    """Only an address without a port has the default port."""

    tried: list[tuple[str, int]] = []

    def refuse(address: tuple[str, int], *_: object) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("socket.create_connection", refuse)
    with pytest.raises(Unavailable, match="cannot be reached"):
        LakefsApi(url, lambda seconds: None)
    assert tried == [("::1", port)]


def test_options_that_belong_to_the_other_kind_of_source(world: World, graveler: Graveler, server: Replay) -> None:
    with pytest.raises(InvalidInput, match="manifest: is only for"):
        migrate(graveler, world, server, manifest=fixtures.manifest("first"))
    with pytest.raises(InvalidInput, match="objects: is only for"):
        graveler.migrate_lakefs(REPOSITORY, SOURCE, world.namespace("own"), objects=SOURCE)
    with pytest.raises(InvalidInput, match="a dump has none"):
        graveler.migrate_lakefs(
            REPOSITORY, SOURCE, world.namespace("own"), manifest=fixtures.manifest("first"), uncommitted=True
        )
    assert [*graveler.list_repositories()] == []
