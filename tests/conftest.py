"""Set-up of all tests: the developer's environment is hidden, and no test depends on the clock."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import examples
from tests.forked_programs import forked_programs
from tests.postgresql_server import postgresql_server, postgresql_url
from tests.s3_server import S3Server
from tests.servers.process import ServerProcess
from tests.servers.spark_classes import options

__all__ = ["postgresql_server", "postgresql_url"]

# Before Spark or matplotlib are imported: workers are this interpreter, and no plot asks for a screen.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["MPLBACKEND"] = "Agg"
# Sessions of tests are short: what the second compiler and a parallel collector of garbage gain, they cost many times.
os.environ["SPARK_SUBMIT_OPTS"] = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {options()}".strip()

# A shell starts its background jobs with SIGINT ignored, and processes pass that on to the processes they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Time limits fail on a busy machine, and say nothing about the code.
settings.register_profile(
    "house",
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("house")

LONGEST_ID = 500
"""Characters of a value in the name of a test."""

COSTLY_FIXTURES = {
    "spark",
    "engines",
    "postgresql_server",
    "mariadb",
    "redis",
    "etcd",
    "dynamodb",
    "mongodb",
    "bigtable",
    "cassandra",
    "s3",
    "s3_process",
    "installation",
    "server",
}
"""Fixtures that start a Spark session, a server, or work on a Dagster instance on disk."""
COSTLY_PARAMETERS = {"postgresql", "mysql", "redis", "etcd", "dynamodb", "mongodb", "bigtable", "cassandra", "s3"}
"""Parameters of fixtures that then use a server."""
OF_CI = (
    "tests/conformance/test_bigtable.py",
    "tests/conformance/test_bucket_on_azure.py",
    "tests/conformance/test_cassandra.py",
    "tests/conformance/test_dynamodb.py",
    "tests/conformance/test_etcd.py",
    "tests/conformance/test_mongodb.py",
    "tests/conformance/test_mysql.py",
    "tests/conformance/test_redis.py",
    "tests/dagster_graveler/io_managers/test_partitions.py",
    "tests/dagster_graveler/publishing/",
    "tests/graveler/server/test_permissions.py",
    "tests/house/",
    "tests/integration/lakefs/",
    "tests/integration/migration/",
    "tests/integration/test_cli_iam.py",
    "tests/integration/test_corruption.py",
    "tests/proofs/fuzzing/",
    "tests/proofs/model/",
)
"""Directories and modules whose tests are for CI, since they need servers or take long. No daily run has them.

`./run check` has those of the house. Tests of `tests/unit` visit the same rules, decoders and protocols every day.
"""
SHARED = {
    "spark": "spark",
    "dynamodb": "dynamodb",
    "bigtable": "bigtable",
    "mariadb": "mariadb",
    "mysql": "mariadb",
    "s3_process": "s3",
    "s3": "s3",
}
"""Group of the tests that share a program which is slow to start, in the order in which the groups begin: one worker
starts the program, and has its code compiled.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take programs that no package registry has. Their tests are left out without them, and the run says so."""
    parser.addoption("--lakectl", type=Path, help="Command line of lakeFS.")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the programs that are missing."""
    return [] if config.getoption("lakectl") else ["lakectl: not given (--lakectl PATH), so its tests are left out"]


@pytest.fixture(scope="session")
def lakectl(request: pytest.FixtureRequest) -> Path:
    """Command line of lakeFS."""
    found: Path = request.config.getoption("lakectl")
    return found.resolve()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let a worker that ends free no memory object by object: with all that it has gathered, this takes seconds."""
    if hasattr(config, "workerinput"):
        atexit.register(_leave, os.getpid())  # the functions that tests register run before it


def _leave(worker: int) -> None:
    if os.getpid() == worker:
        os._exit(0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out whole modules where `./run test` asks for groups."""
    from tests.work_units import WorkUnits

    return WorkUnits(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Name a long value by its length: an environment that contains a long name cannot be given to a program."""
    return f"{argname} of {len(val)}" if isinstance(val, str | bytes) and len(val) > LONGEST_ID else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out `OF_CI` where tests of CI are deselected, before their modules are imported."""
    place = f"{collection_path.relative_to(config.rootpath).as_posix()}/"
    return True if "not ci" in config.option.markexpr and place.startswith(OF_CI) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, and exempt from it what was collected.

    Modules and test items live until the end of the run. Each pass over them costs time and frees nothing.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Exempt from the garbage collector what a full collection leaves: modules, sessions, tables that tests share.

    Otherwise each full collection visits all that a worker has gathered, which takes two seconds at the end of a run.
    This is done between tests, so that the garbage of a test is not kept.
    """
    before = _full_collections()
    done = yield
    if _full_collections() != before:
        gc.collect()
        gc.freeze()
    return done


def _full_collections() -> int:
    return int(gc.get_stats()[2]["collections"])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests of `OF_CI`, with costly fixtures or on PostgreSQL to CI, but for those marked as `everyday`.

    Tests that read the whole project run in one worker, so that each file is parsed once a run, and so do those that
    share a program that is slow to start. These are the longest groups and begin, followed by the other tests of CI,
    which are the long ones: no worker waits at the end for one of them.
    """
    if not config.getoption("lakectl"):
        left_out = [item for item in items if "lakectl" in getattr(item, "fixturenames", ())]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
    for item in items:
        if "project" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("project"))
        used = _used(item)
        if shared := next((group for name, group in SHARED.items() if name in used), ""):
            item.add_marker(pytest.mark.xdist_group(shared))
        if item.nodeid.startswith(OF_CI) or (used and not item.get_closest_marker("everyday")):
            item.add_marker(pytest.mark.ci)
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    groups = [*SHARED.values()]
    for mark in item.iter_markers("xdist_group"):
        if mark.args[0] in groups:
            return groups.index(mark.args[0])
    return len(groups) + (not any(map(item.get_closest_marker, ("ci", "everyday", "slow"))))


def _used(item: pytest.Item) -> set[str]:
    """Return the costly fixtures of a test, and the parameters that stand for one."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    chosen = {value for value in parameters if isinstance(value, str)}
    return COSTLY_FIXTURES & set(getattr(item, "fixturenames", ())) | COSTLY_PARAMETERS & chosen


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what a developer's shell may say about stores and instances."""
    for name in list(os.environ):
        if name.startswith("GRAVELER_") or name == "DAGSTER_HOME":
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    """The directory of `graveler` and `python` as processes that are forked: one for each worker."""
    with forked_programs("graveler", "python") as directory:
        yield directory


@pytest.fixture(scope="session")
def mariadb() -> Iterator[ServerProcess]:
    """A running MariaDB: one for each worker."""
    from tests.servers.mariadb import mariadb_server

    with mariadb_server() as server:
        yield server


@pytest.fixture
def mysql_url(mariadb: ServerProcess) -> str:
    """The URL of an empty database."""
    from tests.servers.mariadb import fresh_database

    return fresh_database(mariadb)


@pytest.fixture(scope="session")
def redis() -> Iterator[ServerProcess]:
    """A running Redis: one for each worker."""
    from tests.servers.redis import redis_server

    with redis_server() as server:
        yield server


@pytest.fixture
def redis_url(redis: ServerProcess) -> str:
    """The URL of an empty namespace."""
    return f"redis://127.0.0.1:{redis.port}/0?namespace=test-{uuid4().hex}"


@pytest.fixture(scope="session")
def etcd() -> Iterator[ServerProcess]:
    """A running etcd: one for each worker."""
    from tests.servers.etcd import etcd_server

    with etcd_server() as server:
        yield server


@pytest.fixture
def etcd_url(etcd: ServerProcess) -> str:
    """The URL of an empty prefix."""
    return f"etcd://127.0.0.1:{etcd.port}/test/{uuid4()}"


@pytest.fixture(scope="session")
def dynamodb() -> Iterator[ServerProcess]:
    """A running DynamoDB Local: one for each worker."""
    from tests.servers.dynamodb import dynamodb_server

    with dynamodb_server() as server:
        yield server


@pytest.fixture
def dynamodb_url(dynamodb: ServerProcess) -> str:
    """The URL of a table that does not exist yet."""
    from tests.servers.dynamodb import fresh_table

    return fresh_table(dynamodb.port)


@pytest.fixture(scope="session")
def mongodb() -> Iterator[ServerProcess]:
    """A running fake of MongoDB: one for each worker."""
    from tests.servers.mongodb import mongodb_server

    with mongodb_server() as server:
        yield server


@pytest.fixture
def mongodb_url(mongodb: ServerProcess) -> str:
    """The URL of a collection that does not exist yet."""
    from tests.servers.mongodb import fresh_collection

    return fresh_collection(mongodb.port)


@pytest.fixture(scope="session")
def bigtable() -> Iterator[ServerProcess]:
    """A running emulator of Bigtable: one for each worker."""
    from tests.servers.bigtable import bigtable_server

    with bigtable_server() as server:
        yield server


@pytest.fixture
def bigtable_url(bigtable: ServerProcess) -> str:
    """The URL of a table that does not exist yet."""
    from tests.servers.bigtable import fresh_table

    return fresh_table(bigtable.port)


@pytest.fixture(scope="session")
def cassandra() -> Iterator[ServerProcess]:
    """A running Cassandra: one for each worker."""
    from tests.servers.cassandra import cassandra_server

    with cassandra_server() as server:
        yield server


@pytest.fixture
def cassandra_url(cassandra: ServerProcess) -> str:
    """The URL of a table that does not exist yet."""
    from tests.servers.cassandra import fresh_table

    return fresh_table(cassandra.port)


@pytest.fixture(scope="session")
def s3_process() -> Iterator[ServerProcess]:
    """A running S3 of moto: one for each worker."""
    from tests.servers.s3 import s3_server

    with s3_server() as server:
        yield server


@pytest.fixture(scope="session")
def s3(s3_process: ServerProcess) -> S3Server:
    """The same server, for tests that make buckets of their own."""
    return S3Server(s3_process)


@pytest.fixture
def s3_url(s3_process: ServerProcess) -> str:
    """The URL of a store in an empty bucket."""
    from tests.servers.s3 import fresh_bucket

    return fresh_bucket(s3_process.port)
