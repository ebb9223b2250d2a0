"""Processes on one store beyond a network that fails, killed at random: nothing is lost, torn or done twice, every call
ends, and every error says truly whether its call had an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from redis import Redis

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.registry import open_store
from graveler_core.stores import Stores
from graveler_core.wiring.handles import connect
from tests.chaotic_network import MessageFate, chaotic_network
from tests.faulty_proxy import RequestFate, faulty_proxy
from tests.integration.stores.conftest import SERVERS
from tests.proofs.processes.crew import Cast, crew, disturb
from tests.proofs.processes.journal import read_all
from tests.proofs.processes.network_actor import SECRET, TRUNK, live
from tests.proofs.processes.network_judge import NetworkJudge
from tests.proofs.processes.test_processes import chain_of, judged
from tests.servers.mariadb import execute
from tests.servers.process import ServerProcess


@dataclass(frozen=True)
class Beyond:
    """A store and its server."""

    url: str
    """URL of the store without the network."""
    server: int | str
    """Port of the server, or path of its socket."""
    through: Callable[[int], str]
    """The URL with the network, from its port."""


def with_mysql_account(server: ServerProcess, url: str) -> str:
    """Return the URL with an account that has the password of the run."""
    execute(server, f"CREATE USER IF NOT EXISTS chaos IDENTIFIED BY '{SECRET}'", "GRANT ALL ON *.* TO chaos")
    return url.replace("root@", f"chaos:{SECRET}@")


def with_redis_account(server: ServerProcess, url: str) -> str:
    """Return the URL with an account that has the password of the run."""
    with closing(Redis(port=server.port)) as client:
        client.execute_command("ACL", "SETUSER", "chaos", "on", f">{SECRET}", "~*", "+@all")
    return url.replace("redis://", f"redis://chaos:{SECRET}@")


RATES = {
    MessageFate.LATE: 0.005,
    MessageFate.LOST: 0.005,
    MessageFate.UNANSWERED: 0.005,
    MessageFate.HALF: 0.0025,
    MessageFate.RESET: 0.0025,
    MessageFate.SWALLOWED: 0.0015,
    MessageFate.SILENT: 0.0015,
}
TWICE = dict.fromkeys(RequestFate, 0.01)
DOWN = 1.0
"""Seconds for which connections are refused, at every fifth kill."""
BOUNDS = {"swap": 30.0, "": 120.0}
"""Seconds of a call: two requests to the store, and an operation of the library with its repetitions."""
FEW = Cast(("w0", "c0", "t0", "m0", "b0", "x0", "x1", "k0"), live, enough=600)
"""A writer, a committer, and one each with transactions, merges and branches; two that swap, and one that compacts,
sweeps, cleans, collects and begins uploads.
"""
CROWD = Cast((*FEW.names, "w1", "t1", "m1", "r0", "k1"), live, enough=3_000)
"""Twice as many of most, and a reader; some twenty operations."""
BEHIND_A_PROXY = Cast(tuple(name for name in CROWD.names if name[0] not in "xb"), live, enough=3_000)
"""Without those that swap and create branches: a swap or creation that is executed twice is told that it failed."""
MINUTES = 30
"""Kills of the long run, which is on PostgreSQL."""
ON_EACH_SERVER = 10
"""Kills of a run on each other server."""
WAITS = {
    "mysql": "?connect_timeout=2&read_timeout=1&write_timeout=1",
    "redis": "&connect_timeout=2&timeout=1",
    "etcd": "?timeout=1",
    "dynamodb": "&timeout=1",
    "mongodb": "&timeout=1",
    "bigtable": "&timeout=1",
    "cassandra": "&timeout=2",
    "s3": "&timeout=2s&max_retries=1",
}
"""Options with short time-outs, by the scheme of the store."""
ACCOUNTS: dict[str, Callable[[ServerProcess, str], str]] = {
    "mysql": with_mysql_account,
    "redis": with_redis_account,
    "dynamodb": lambda _, url: url.replace("key:secret@", f"key:{SECRET}@"),
}


@pytest.fixture
def beyond_postgresql(postgresql_url: str) -> Beyond:
    """A PostgreSQL that is reached by its port."""
    options = dict(parse_qsl(urlsplit(postgresql_url).query))
    plain = "sslmode=disable&gssencmode=disable&connect_timeout=2&read_timeout=1"
    login, path = f"postgres:{SECRET}", f"postgres?options={quote(options['options'])}&{plain}"
    socket = f"{options['host']}/.s.PGSQL.5432"
    return Beyond(postgresql_url, socket, lambda port: f"postgresql://{login}@127.0.0.1:{port}/{path}")


@pytest.mark.ci
def test_for_seconds(beyond_postgresql: Beyond, tmp_path: Path) -> None:
    _run(beyond_postgresql, tmp_path, FEW, kills=1)


@pytest.mark.slow
def test_for_minutes(beyond_postgresql: Beyond, tmp_path: Path) -> None:
    _run(beyond_postgresql, tmp_path, CROWD, MINUTES)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", WAITS)
def test_on_each_server(scheme: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server: ServerProcess = request.getfixturevalue(SERVERS[scheme])
    url = request.getfixturevalue(f"{scheme}_url")
    far = ACCOUNTS.get(scheme, lambda _, url: url)(server, url) + WAITS[scheme]
    _run(
        Beyond(url, server.port, lambda port: far.replace(f":{server.port}", f":{port}")),
        tmp_path,
        CROWD,
        ON_EACH_SERVER,
    )


@pytest.mark.slow
def test_requests_to_dynamodb_that_are_executed_twice(
    dynamodb: ServerProcess, dynamodb_url: str, tmp_path: Path
) -> None:
    """A proxy may repeat a request that it did not see answered."""
    _prepare(dynamodb_url, tmp_path)
    with faulty_proxy(f"http://127.0.0.1:{dynamodb.port}", TWICE, seed=1) as proxy:
        through = dynamodb_url.replace(f"http://127.0.0.1:{dynamodb.port}", proxy.endpoint) + WAITS["dynamodb"]
        with crew(through, tmp_path / "journals", 1, BEHIND_A_PROXY) as crowd:
            disturb(crowd, ON_EACH_SERVER, {})
        assert all(proxy.fates[fate] for fate in RequestFate)
    _judge(dynamodb_url, tmp_path, f"requests: {_named(proxy.fates)}")


def _prepare(url: str, directory: Path) -> None:
    with connect(url) as graveler:
        graveler.create_repository("repo", (directory / "objects").as_uri()).create_branch(TRUNK, "main")


def _run(place: Beyond, directory: Path, cast: Cast, kills: int) -> None:
    _prepare(place.url, directory)
    with chaotic_network(place.server, RATES, seed=kills) as network:

        def refuse() -> None:
            Thread(target=network.refuse, args=(DOWN,), daemon=True).start()

        with crew(place.through(network.port), directory / "journals", kills, cast) as crowd:
            disturb(crowd, kills, dict.fromkeys(range(0, kills, 5), refuse))
        assert network.refusals
        assert sum(network.fates[fate] for fate in RATES) > kills, "in a short run, a rare fate may not occur"
    _judge(place.url, directory, f"{kills} kills, {network.refusals} refusals, messages: {_named(network.fates)}")


def _named(fates: Mapping[Enum | None, int]) -> dict[str, int]:
    return {"passed on" if fate is None else fate.value: number for fate, number in fates.items()}


def _judge(url: str, directory: Path, figures: str) -> None:
    """Compare the journals with the store, without the network."""
    operations = read_all(directory / "journals")
    judge = NetworkJudge(operations)
    print(f"{len(operations)} operations, {figures}\n{dict(sorted(judge.tally().items()))}\n{judge.longest()}")
    with closing(Stores(kv=open_store(url), blobs=OpenedBlobs(None, durable=False))) as stores:
        judged(stores, directory / "journals")
        graveler = Graveler(stores)
        repository = graveler.repository("repo")
        assert not list(judge.changes("transact", repository, chain_of(stores)))
        assert not list(judge.changes("merge", repository, chain_of(stores, TRUNK)))
        assert not list(judge.torn_listings())
        assert not list(judge.branches({branch.id for branch in repository.branches()}))
        assert not list(judge.swaps(stores.kv))
        assert not list(judge.slow(BOUNDS))
        assert not [finding for finding in repository.fsck(deep=True) if finding.damage]
        repository.branch("main").commit("the rest", allow_empty=True)
        assert not [each for each in graveler.doctor(deep=True).found if each.ailment.value != "store-not-durable"]
