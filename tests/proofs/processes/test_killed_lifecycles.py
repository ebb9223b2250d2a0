"""Real creators, deleters, cleaners, undeleters and movers on one store, killed at random: nothing is lost or left.

The clock goes ahead by a quarter of an hour before every other kill, so that cleaners take what was deleted before, and
what was killed half-way is declared failed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from time import sleep

import psycopg
import pytest

from graveler_core.engine.cleaning import Cleaned
from graveler_core.errors import NotUnique
from graveler_core.facade.graveler import Graveler
from graveler_core.model.ids import RepositoryId
from graveler_core.refs import repositories
from graveler_core.stores import Stores
from graveler_core.testing.invariants import check_history, check_layers
from tests.postgresql_server import own_server
from tests.proofs.processes.crew import Cast, crew, disturb
from tests.proofs.processes.fast_clock import fast_clock
from tests.proofs.processes.journal import read_all
from tests.proofs.processes.lifecycle_actor import JOURNALS, SHARED, SOURCE, live, moved, opened
from tests.proofs.processes.lifecycle_judge import LifecycleJudge, leftovers

pytestmark = pytest.mark.ci

CAST = Cast(("n0", "n1", "n2", "d0", "d1", "k0", "k1", "u0", "m0", "r0"), live, enough=3_000, in_calls=True)
"""Three creators, two deleters, two cleaners, one undeleter, one mover, one reader; some twenty operations."""
AGES = 15
"""Minutes: more than the grace for late writes, and than any creation may take."""
WALKS = 4
"""Of a cleaner, after which nothing is left: a restoration is given up, its record declared failed, handed over and
emptied, each when time has passed since the one before."""
SECONDS = pytest.param(6, id="seconds")
MINUTES = pytest.param(50, id="minutes", marks=pytest.mark.slow)


@pytest.mark.parametrize("kills", [SECONDS, MINUTES])
def test_on_one_sqlite_file(tmp_path: Path, kills: int) -> None:
    file = tmp_path / "kv.db"

    def partitions() -> list[bytes]:
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            return [row[0] for row in connection.execute("SELECT DISTINCT partition FROM kv")]

    _run(f"sqlite:///{file}?durability=process", tmp_path, kills, partitions)


@pytest.mark.parametrize("kills", [pytest.param(4, id="seconds"), MINUTES])
def test_on_one_postgresql(tmp_path: Path, kills: int) -> None:
    with own_server() as server:

        def partitions() -> list[bytes]:
            with psycopg.connect(server.url) as connection:
                rows = connection.execute("SELECT DISTINCT partition FROM graveler_kv").fetchall()
                return [bytes(row[0]) for row in rows]

        _run(server.url, tmp_path, kills, partitions)


def _run(url: str, home: Path, kills: int, partitions: Callable[[], list[bytes]]) -> None:
    with closing(opened(url, home)) as stores:
        Graveler(stores).create_repository(SOURCE, (home / "objects" / SOURCE).as_uri())
    with crew(url, home / JOURNALS, seed=kills, cast=CAST) as crowd:

        def time_passes() -> None:
            fast_clock(home / "clock").put_forward(AGES)
            sleep(crowd.chance.uniform(0, 0.2))

        disturb(crowd, kills, dict.fromkeys(range(1, kills, 2), time_passes))
    operations = read_all(home / JOURNALS)
    assert not [operation for operation in operations if operation.outcome == "crashed"]
    done = {operation.verb for operation in operations if operation.outcome == "done"}
    assert done >= {"create", "fill", "delete", "clean", "look"}
    with closing(opened(url, home)) as stores:
        _complete(stores, home)
        assert not list(leftovers(stores, partitions()))
        _judge(Graveler(stores), stores, LifecycleJudge(operations))
        _names_are_free(Graveler(stores), home)


def _complete(stores: Stores, home: Path) -> None:
    """One more cleaner, and one more mover, which goes on with the move that was killed."""
    graveler, clock = Graveler(stores), fast_clock(home / "clock")
    for _ in range(WALKS):
        clock.put_forward(AGES)
        cleaned = graveler.clean(undelete_within=timedelta(0))
        assert not cleaned.failures
        assert not cleaned.rest
    assert cleaned == Cleaned(), "the last walk found more"
    moves = [operation for operation in read_all(home / JOURNALS) if operation.verb == "move"]
    number = sum(operation.outcome == "done" for operation in moves)
    moved(graveler, home / "objects", number)
    assert moved(graveler, home / "objects", number) == graveler.repository(f"moved-{number}").commit("main").id


def _judge(graveler: Graveler, stores: Stores, judge: LifecycleJudge) -> None:
    standing = {str(repository.id): repository for repository in graveler.list_repositories()}
    assert not list(judge.births_alternate())
    for name in judge.names:
        found = standing.get(name)
        assert not list(judge.standing(name, None if found is None else found.uid))
        assert found is None or not list(judge.content(found))
    assert not list(judge.moves(graveler))
    others = [name for name in standing if name not in judge.names]
    assert all(name == SOURCE or name.startswith("moved-") for name in others), others
    for name in standing:
        record = repositories.get(stores.kv, stores.clock, stores.ids, RepositoryId(name))
        check_history(stores, record)
        check_layers(stores, record)


def _names_are_free(graveler: Graveler, home: Path) -> None:
    """Whatever does not stand can be created at once, and nothing else can."""
    standing = {repository.id for repository in graveler.list_repositories()}
    for name in SHARED:
        place = (home / "objects" / f"later-{name}").as_uri()
        if name in standing:
            with pytest.raises(NotUnique):
                graveler.create_repository(name, place)
        else:
            assert graveler.create_repository(name, place).branch("main").record().id == "main"
