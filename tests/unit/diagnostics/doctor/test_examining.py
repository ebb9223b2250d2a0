"""An examination writes nothing, goes on past what cannot be seen, and puts the worst first."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from graveler_core.blobs.port import Blobs
from graveler_core.diagnostics.budget import Budget
from graveler_core.diagnostics.doctor import examination
from graveler_core.diagnostics.doctor.diagnosis import Ailment, Severity
from graveler_core.diagnostics.doctor.examination import Examination
from graveler_core.diagnostics.doctor.examining import examine
from graveler_core.diagnostics.doctor.of_store import judge
from graveler_core.diagnostics.plan import DoctorPlan
from graveler_core.engine.references.events import fold
from graveler_core.errors import GravelerError, InvalidInput, NotFound, Unavailable
from graveler_core.kv.store import Description
from graveler_core.kv.wrappers.passing import StoreCall
from graveler_core.model.compaction import Thresholds
from graveler_core.model.ids import BranchId
from graveler_core.records import layout as keys
from graveler_core.testing.counting_blobs import CountingBlobs
from graveler_core.testing.faulty_store import Faulty, Refuse
from tests.unit.diagnostics.readonly import read_only
from tests.unit.engine.flows import table
from tests.unit.engine.world import World


@cache
def prepared() -> World:
    made = World()
    made.clock.time = datetime.now(UTC)  # objects in memory bear the machine's time
    repo = made.repository("repo")
    main = repo.branch("main")
    for number in range(3):
        main.stage_many(table({f"{number}/{n:03}": n for n in range(40)}))
        main.commit(str(number), idempotency_key=str(number))
    dev = repo.create_branch("dev", "main")
    dev.stage_many(table({"staged": 1}))
    fold(made.stores(), repo._record)
    made.repository("gone")
    made.graveler().delete_repository("gone")
    return made


@pytest.fixture
def world() -> World:
    """The same again for each test. None of them writes objects."""
    return replace(prepared().fork(), clock=copy(prepared().clock))


def ailments(world: World, plan: DoctorPlan | None = None) -> list[Ailment]:
    return [found.ailment for found in examine(read_only(world.stores()), plan).found]


@pytest.mark.parametrize("deep", [False, True])
def test_a_healthy_store(world: World, deep: bool) -> None:
    assert examine(read_only(world.stores()), DoctorPlan(deep=deep)).healthy


def test_what_waited_for_long_is_told_without_a_write_and_the_worst_first(world: World) -> None:
    repo = world.graveler().repository("repo")
    repo.set_thresholds(Thresholds(layers=1))
    where = keys.branch(repo._record, BranchId("broken"))
    world.kv.set(where.partition, where.key, b"damaged")
    world.clock.time += timedelta(days=30)
    assert ailments(world, DoctorPlan(deep=True)) == [
        Ailment.RECORD_DAMAGED,
        Ailment.CONTENT_DAMAGED,
        Ailment.BRANCH_PRESSURE,
        Ailment.DELETED_DUE,
        Ailment.LAYERS_LEFT,
        Ailment.KEYS_OLD,
    ]


def test_the_key_of_a_task_that_has_not_ended_is_not_told() -> None:
    world = World()
    world.repository().begin_import("main", uri="memory://somewhere/else")
    world.clock.time += timedelta(days=30)
    assert Ailment.KEYS_OLD not in ailments(world)


def test_one_repository_alone(world: World) -> None:
    world.clock.time += timedelta(days=30)
    assert ailments(world, DoctorPlan(repository="gone")) == [Ailment.DELETED_DUE]
    assert Ailment.DELETED_DUE not in ailments(world, DoctorPlan(repository="repo"))
    for found in examine(world.stores(), DoctorPlan(repository="repo")).found:
        assert "graveler://repo" in found.command
    with pytest.raises(NotFound, match="nothing"):
        examine(world.stores(), DoctorPlan(repository="nothing"))
    with pytest.raises(InvalidInput, match="No/Name"):
        DoctorPlan(repository="No/Name")


def refusing(
    error: Callable[[], GravelerError], when: Callable[[StoreCall], bool]
) -> Callable[[StoreCall, int], Refuse | None]:
    return lambda call, number: Refuse(error) if when(call) else None


def test_what_cannot_be_seen_is_said_and_the_rest_looked_at(world: World) -> None:
    world.clock.time += timedelta(days=30)
    secret = "postgresql://ada:CANARY@host"
    plan = refusing(lambda: Unavailable(f"gone: {secret}"), lambda call: call.key.startswith(b"uploads/"))
    examined = examine(replace(world.stores(), kv=Faulty(world.kv, plan)))
    assert examined.unseen == (("graveler://repo: uploads", "gone: postgresql://ada:***@host"),)
    assert {found.ailment for found in examined.found} == {Ailment.DELETED_DUE, Ailment.LAYERS_LEFT, Ailment.KEYS_OLD}
    assert not examined.healthy


def test_the_time_is_bounded(world: World) -> None:
    def slow(call: object, number: int) -> None:
        del call, number
        world.clock.sleep(1)

    began = world.clock.monotonic()
    examined = examine(replace(world.stores(), kv=Faulty(world.kv, slow)), DoctorPlan(budget=10, deep=True))
    assert world.clock.monotonic() - began < 10 + 10
    assert ("graveler://repo: fsck", "the time limit was reached") in examined.unseen
    assert ("the repositories", "the time limit was reached") not in examined.unseen


def test_the_number_of_findings_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "MOST", 2)
    world.clock.time += timedelta(days=30)
    examined = examine(world.stores())
    assert len(examined.found) == 2
    assert examined.unseen == (("further findings", "there are more than 2"),)


def test_a_servers_settings_and_clock(world: World) -> None:
    of = Examination(world.stores(), DoctorPlan(), Budget(world.clock, 60), world.clock.now())
    well = {"backend": "postgresql", "fsync": True, "full_page_writes": True, "clock_ahead": 59.0}
    judge(of, well)
    judge(of, {"backend": "of a plug-in"})
    assert of.found == []
    judge(of, {**well, "full_page_writes": False, "clock_ahead": -3_600.0})
    unsafe, late = of.found
    assert (unsafe.ailment, unsafe.severity) == (Ailment.STORE_NOT_DURABLE, Severity.CRITICAL)
    assert unsafe.command == (
        "psql",
        *("-c", "ALTER SYSTEM SET full_page_writes = on"),
        *("-c", "SELECT pg_reload_conf()"),
    )
    assert (late.ailment, late.what[:26]) == (Ailment.CLOCKS_DIFFER, "was written 3,600 s earlie")


def test_settings_of_mysql(world: World) -> None:
    of = Examination(world.stores(), DoctorPlan(), Budget(world.clock, 60), world.clock.now())
    well: Description = {
        "backend": "mysql",
        "version": "8.4.0",
        "innodb_flush_log_at_trx_commit": 1,
        "innodb_doublewrite": True,
        "log_bin": False,
        "sync_binlog": 0,
        "clock_ahead": 0.0,
    }
    judge(of, well)
    assert of.found == []
    judge(of, {**well, "log_bin": True, "innodb_flush_log_at_trx_commit": 2, "innodb_doublewrite": False})
    unsafe, torn = of.found
    assert (unsafe.ailment, torn.ailment) == (Ailment.STORE_NOT_DURABLE, Ailment.STORE_NOT_DURABLE)
    statements = "SET GLOBAL innodb_flush_log_at_trx_commit = 1; SET GLOBAL sync_binlog = 1"
    assert unsafe.command == ("mysql", "--execute", statements)
    assert unsafe.what == "the server has innodb_flush_log_at_trx_commit = 2 and sync_binlog = 0"
    assert (torn.command, "restart" in torn.remedy) == ((), True)


DYNAMODB = {"backend": "dynamodb", "table": "lake", "durability": "power", "replicas": 0, "clock_ahead": 0.0}
ETCD = {"backend": "etcd", "prefix": "lake", "alarms": "", "revision": 100_000, "compacted": False, "clock_ahead": None}

CASSANDRA = {
    "backend": "cassandra",
    "keyspace": "lakes",
    "table": "graveler",
    "durability": "power",
    "durable_writes": True,
    "commitlog_sync": "batch",
    "replicas": 1,
    "clock_ahead": 0.0,
}
BIGTABLE = {"backend": "bigtable", "project": "p", "instance": "i", "table": "t", "emulator": None}
MONGODB = {
    "backend": "mongodb",
    "database": "graveler",
    "collection": "graveler",
    "majority_is_journaled": True,
    "storage_engine": "wiredTiger",
    "engine_persists": True,
    "clock_ahead": 0.0,
}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({**DYNAMODB, "multi_region_consistency": "EVENTUAL"}, []),
        ({**DYNAMODB, "replicas": 1, "multi_region_consistency": "STRONG"}, []),
        ({**DYNAMODB, "replicas": 2, "multi_region_consistency": "EVENTUAL"}, [Ailment.STORE_NOT_CONSISTENT]),
        ({**DYNAMODB, "durability": "none"}, [Ailment.STORE_NOT_DURABLE]),
        ({**DYNAMODB, "clock_ahead": 90.0}, [Ailment.CLOCKS_DIFFER]),
        (ETCD, []),
        ({**ETCD, "revision": None, "alarms": None}, []),
        ({**ETCD, "revision": 100_001}, [Ailment.STORE_KEEPS_HISTORY]),
        ({**ETCD, "revision": 100_001, "compacted": True}, []),
        ({**ETCD, "alarms": "CORRUPT,NOSPACE"}, [Ailment.STORE_ALARM]),
        ({**ETCD, "clock_ahead": -90.0}, [Ailment.CLOCKS_DIFFER]),
        (MONGODB, []),
        ({**MONGODB, "majority_is_journaled": None, "engine_persists": None}, []),
        ({**MONGODB, "majority_is_journaled": False}, [Ailment.STORE_NOT_DURABLE]),
        ({**MONGODB, "storage_engine": "inMemory", "engine_persists": False}, [Ailment.STORE_NOT_DURABLE]),
        ({**MONGODB, "clock_ahead": 90.0}, [Ailment.CLOCKS_DIFFER]),
        (CASSANDRA, []),
        ({**CASSANDRA, "durability": "replicas", "commitlog_sync": "periodic", "replicas": 3}, []),
        ({**CASSANDRA, "durability": "none", "commitlog_sync": "periodic"}, [Ailment.STORE_NOT_DURABLE]),
        ({**CASSANDRA, "durability": "none", "durable_writes": False}, [Ailment.STORE_NOT_DURABLE]),
        ({**CASSANDRA, "clock_ahead": 90.0}, [Ailment.CLOCKS_DIFFER]),
        (BIGTABLE, []),
        ({**BIGTABLE, "emulator": "127.0.0.1:8086"}, [Ailment.STORE_NOT_DURABLE]),
    ],
)
def test_services(world: World, told: dict[str, Any], expected: list[Ailment]) -> None:
    of = Examination(world.stores(), DoctorPlan(), Budget(world.clock, 60), world.clock.now())
    judge(of, told)
    assert [found.ailment for found in of.found] == expected


def test_no_secret_is_in_what_is_found(world: World) -> None:
    def broken(namespace: str) -> Blobs:
        raise Unavailable(f"{namespace}: no answer of https://ada:CANARY@host?secret=CANARY")

    stores = replace(world.stores(), blobs=SimpleNamespace(at=broken))  # type: ignore[arg-type]
    examined = examine(stores)
    assert [found.ailment for found in examined.found] == [Ailment.NAMESPACE_UNREADABLE]
    assert "CANARY" not in repr(examined)


def test_an_object_that_a_sweep_deletes_meanwhile_is_no_problem(world: World) -> None:
    """The first listed object of a namespace is read."""

    def at(namespace: str) -> Blobs:
        gone = NotFound("deleted since")
        return CountingBlobs(world.blobs.at(namespace), lambda verb, address: gone if verb == "read_range" else None)

    stores = replace(world.stores(), blobs=SimpleNamespace(at=at))  # type: ignore[arg-type]
    assert examine(stores).healthy


def test_what_is_written_during_an_examination_is_not_in_the_future(world: World) -> None:
    of = Examination(world.stores(), DoctorPlan(), Budget(world.clock, 60), world.clock.now())
    world.clock.time += timedelta(hours=1)
    assert not of.ahead("a branch", world.clock.time)
    assert of.ahead("a branch", world.clock.time + timedelta(minutes=2))
    assert [found.what for found in of.found] == ["was written 120 s later than now, by the clock of this machine"]
