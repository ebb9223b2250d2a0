"""`graveler doctor` on files and SQLite: each ailment is made, seen, mended by the command that it prints, and gone."""

from __future__ import annotations

import io
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import time_machine

import graveler_core
from graveler_core.cli.app import run
from graveler_core.cli.health import _lines, view
from graveler_core.diagnostics.doctor.diagnosis import Ailment
from graveler_core.engine.reference_events import fold
from graveler_core.facade.graveler import Graveler
from graveler_core.kv import open_store
from graveler_core.kv.backends import sqlite_description
from graveler_core.kv.store import Store
from graveler_core.model.entities import NamespaceClaim, Repository, RepositoryState
from graveler_core.model.ids import BranchId, CommitId, Nonce, RepositoryId, RepositoryUid
from graveler_core.objects.uploads import Uploads
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from tests.integration.command_line import Cli, Ran, put, refused

REPOSITORY, MAIN = "graveler://flights", "graveler://flights/main"
STORE = "sqlite:///.graveler/meta.db"
LONG_AGO = "2020-01-01 00:00 +0000"


@pytest.fixture
def old(cli: Cli) -> Cli:
    """A repository that was made long ago."""
    with time_machine.travel(LONG_AGO, tick=True):
        assert cli("repo", "create", REPOSITORY).code == 0
    return cli


@contextmanager
def records() -> Iterator[Store]:
    with closing(open_store(STORE)) as kv:
        yield kv


@contextmanager
def opened() -> Iterator[Graveler]:
    with graveler_core.connect(STORE) as graveler:
        yield graveler


def record(kv: Store) -> Repository:
    held = repositories.find(kv, RepositoryId("flights"))
    assert held is not None
    return held.value


def found(cli: Cli, ailment: Ailment, *arguments: str) -> list[dict[str, Any]]:
    """What the doctor says of an ailment."""
    ran = cli("doctor", *arguments, "--json")
    rows = [row for row in ran.documents if row["type"] == "diagnosis"]
    assert ran.code == (1 if rows else 0), ran
    return [row for row in rows if row["ailment"] == ailment]


def ill(cli: Cli, ailment: Ailment, *arguments: str) -> dict[str, Any]:
    """The one finding of an ailment."""
    (row,) = found(cli, ailment, *arguments)
    assert all(row[name] for name in ("severity", "where", "what", "why", "remedy"))
    return row


def cured(cli: Cli, ailment: Ailment, *arguments: str) -> Ran:
    """Run the command that is printed, and see the finding gone."""
    program, *words = ill(cli, ailment, *arguments)["command"]
    assert program == "graveler"
    ran = cli(*words)
    assert ran.code == 0, ran
    gone(cli, ailment, *arguments)
    return ran


def gone(cli: Cli, ailment: Ailment, *arguments: str) -> None:
    assert found(cli, ailment, *arguments) == []


def test_a_healthy_store(flights: Cli) -> None:
    assert flights("doctor") == Ran(0, "", "")
    assert flights("doctor", "--deep", "--repository", "flights", "--json") == Ran(0, "", "")
    assert flights("doctor", "--repository", REPOSITORY).code == 0


def test_a_repository_that_stopped_half_way(old: Cli) -> None:
    with records() as kv, time_machine.travel(LONG_AGO, tick=True):
        update = {"state": RepositoryState.DELETING, "was_active": True}
        access.write(kv, keys.repository(RepositoryId("flights")), record(kv).model_copy(update=update))
    assert ill(old, Ailment.REPOSITORY_HALF_MADE)["where"] == REPOSITORY
    cured(old, Ailment.REPOSITORY_HALF_MADE)


def test_what_was_deleted_long_ago(old: Cli) -> None:
    with time_machine.travel(LONG_AGO, tick=True):
        put(old, "raw/jan.csv", b"january")
        old("repo", "delete", REPOSITORY, "--yes")
    assert found(old, Ailment.DELETED_DUE, "--repository", "flights")[0]["where"] == REPOSITORY
    cured(old, Ailment.DELETED_DUE)
    assert old("repo", "list", "--deleted").out == ""
    ran = old("doctor", "--repository", "flights")
    assert (ran.code, ran.out) == (2, "")
    assert "flights" in ran.err


def test_what_a_daily_cleaner_takes_is_not_told(cli: Cli) -> None:
    lately = datetime.now(UTC) - timedelta(days=7, hours=20)
    with time_machine.travel(lately, tick=True):
        assert cli("repo", "create", REPOSITORY).code == 0
        cli("repo", "delete", REPOSITORY, "--yes")
    assert cli("doctor").code == 0
    assert cli("clean", "--json").documents[0]["repositories"] == 1


def test_a_namespace_that_nobody_owns(flights: Cli, here: Path) -> None:
    uri = (here / "ghost").as_uri()
    claim = NamespaceClaim(
        owner=RepositoryUid("0" * 32), repository=RepositoryId("ghost"), nonce=Nonce("1" * 32), since=datetime.now(UTC)
    )
    with records() as kv:
        access.write(kv, keys.namespace_claim(uri), claim)
    refused(flights("repo", "create", "graveler://other", "--storage-namespace", uri), "ghost")
    cured(flights, Ailment.NAMESPACE_UNOWNED)
    assert flights("repo", "create", "graveler://other", "--storage-namespace", uri).code == 0


def test_a_namespace_that_cannot_be_read(flights: Cli, here: Path) -> None:
    data = here / ".graveler" / "data" / "flights"
    data.rename(here / "kept")
    data.write_bytes(b"no directory")
    assert ill(flights, Ailment.NAMESPACE_UNREADABLE)["command"] == []
    data.unlink()
    (here / "kept").rename(data)
    gone(flights, Ailment.NAMESPACE_UNREADABLE)


def test_a_record_that_is_damaged_does_not_hide_the_others(flights: Cli) -> None:
    flights("branch", "create", "graveler://flights/dev")
    stage_layers("dev", 81)
    with records() as kv:
        where = keys.branch(record(kv), BranchId("main"))
        stored = kv.get(where.partition, where.key)
        assert stored is not None
        kv.set(where.partition, where.key, b"\x00damaged")
    assert "branches/main" in ill(flights, Ailment.RECORD_DAMAGED)["what"]
    assert ill(flights, Ailment.BRANCH_LAYERS)["where"] == "graveler://flights/dev"
    with records() as kv:
        kv.set(where.partition, where.key, stored.value)
    gone(flights, Ailment.RECORD_DAMAGED)


def stage_layers(branch: str, number: int) -> None:
    with opened() as graveler:
        staged = graveler.repository("flights").branch(branch)
        for each in range(number):
            staged.remove_prefix(f"nothing/{each}/")


def test_a_branch_that_is_near_to_its_limit_of_layers(flights: Cli) -> None:
    stage_layers("main", 80)
    assert found(flights, Ailment.BRANCH_PRESSURE) == []
    cured(flights, Ailment.BRANCH_LAYERS)


def test_a_branch_under_pressure(flights: Cli) -> None:
    stage_layers("main", 20)
    assert ill(flights, Ailment.BRANCH_PRESSURE)["what"] == "20 layers of 20"
    cured(flights, Ailment.BRANCH_PRESSURE)


def test_layers_that_commits_left(old: Cli) -> None:
    with time_machine.travel(LONG_AGO, tick=True):
        put(old, "a", b"a")
        old("commit", MAIN, "-m", "one")
    cured(old, Ailment.LAYERS_LEFT)


def test_old_idempotency_keys(old: Cli) -> None:
    with time_machine.travel(LONG_AGO, tick=True), opened() as graveler:
        main = graveler.repository("flights").branch("main")
        main.put("a", b"a")
        main.commit("once", idempotency_key="once")
    cured(old, Ailment.KEYS_OLD)


def test_uploads_of_jobs_that_died(flights: Cli) -> None:
    with time_machine.travel(LONG_AGO, tick=True), opened() as graveler:
        stores = graveler._stores
        repo = record(stores.kv)
        uploads = Uploads(stores.kv, stores.blobs.at(repo.storage_namespace), repo, stores.clock, stores.ids)
        uploads.blobs.create(f"data/{uploads.begin()}/part", b"left")
    cured(flights, Ailment.UPLOADS_LEFT)


def test_a_log_of_references_that_is_damaged(flights: Cli) -> None:
    assert flights("reflog", REPOSITORY, "--mend", "--json").documents == [{"mended": False}]
    refused(flights("reflog", MAIN, "--mend"), "--mend", "graveler://flights")
    with opened() as graveler:
        repo = graveler.repository("flights")
        repo.create_branch("dev", "main")
    with opened() as graveler:
        repo = graveler.repository("flights")
        fold(graveler._stores, repo._record)
        held = access.read(graveler._stores.kv, keys.reference_log(repo._record))
        assert held is not None
        header = keys.internal_history(repo._record).headers.at(held.value.commit_id)
        graveler._stores.kv.delete(header.partition, header.key)
    ran = cured(flights, Ailment.REFERENCE_LOG_DAMAGED)
    assert ran.out == "set the log back to a commit that is whole\n"


def test_a_head_that_is_lost(flights: Cli) -> None:
    put(flights, "a", b"a")
    whole = head()
    flights("commit", MAIN, "-m", "lost")
    with records() as kv:
        where = keys.commit(record(kv), head())
        kv.delete(where.partition, where.key)
    assert ill(flights, Ailment.HEAD_DAMAGED)["severity"] == "critical"
    cured(flights, Ailment.HEAD_DAMAGED)
    assert head() == whole


def head() -> CommitId:
    with opened() as graveler:
        return graveler.repository("flights").branch("main").record().commit_id


def test_a_head_of_which_nothing_is_left(cli: Cli) -> None:
    cli("repo", "create", REPOSITORY)
    with records() as kv:
        where = keys.commit(record(kv), head())
        stored = kv.get(where.partition, where.key)
        assert stored is not None
        kv.delete(where.partition, where.key)
    assert ill(cli, Ailment.HEAD_DAMAGED)["command"] == ["graveler", "fsck", REPOSITORY]
    with records() as kv:
        kv.set(where.partition, where.key, stored.value)
    gone(cli, Ailment.HEAD_DAMAGED)


def test_content_that_is_lost(flights: Cli, here: Path) -> None:
    """Of an older commit: the head is whole, so only a deep examination finds it."""
    with opened() as graveler:
        main = graveler.repository("flights").branch("main")
        names = [f"{number:05}" for number in range(2_000)]
        for prefix in ("a", "b"):
            main.stage_many(pa.table({"key": [prefix + name for name in names], "address": names}))
            main.commit(prefix)
        main.remove_prefix("a")
        main.commit("without a")
    files = [path for path in (here / ".graveler/data/flights/_graveler").iterdir() if path.is_file()]
    lost = next(file for file in files if only_history_misses(flights, file, here / "lost"))
    assert found(flights, Ailment.CONTENT_DAMAGED) == []
    assert any(lost.name in row["what"] for row in found(flights, Ailment.CONTENT_DAMAGED, "--deep"))
    shutil.move(here / "lost", lost)
    gone(flights, Ailment.CONTENT_DAMAGED, "--deep")


def only_history_misses(cli: Cli, file: Path, aside: Path) -> bool:
    """Take a file away; put it back where a head misses it, or nothing does."""
    shutil.move(file, aside)
    if {row["ailment"] for row in cli("doctor", "--deep", "--json").documents} == {Ailment.CONTENT_DAMAGED}:
        return True
    shutil.move(aside, file)
    return False


def test_counters_that_were_lost(flights: Cli) -> None:
    with opened() as graveler:
        main = graveler.repository("flights").branch("main")
        for number in range(9):
            main.remove_many(f"gone/{number}/{path:03}" for path in range(500))
    assert found(flights, Ailment.COUNTERS_OFF, "--deep") == []
    with records() as kv:
        for row in list(kv.scan(keys.STATS)):
            kv.delete(keys.STATS, row.key)
    assert found(flights, Ailment.COUNTERS_OFF) == []
    cured(flights, Ailment.COUNTERS_OFF, "--deep")


def test_a_clock_that_is_ahead(cli: Cli) -> None:
    with time_machine.travel(datetime.now(UTC) + timedelta(hours=1), tick=True):
        assert cli("repo", "create", REPOSITORY).code == 0
    row = ill(cli, Ailment.CLOCKS_DIFFER)
    assert "later than now" in row["what"]
    assert row["command"][0] == "timedatectl"
    with time_machine.travel(datetime.now(UTC) + timedelta(hours=1), tick=True):
        gone(cli, Ailment.CLOCKS_DIFFER)


def test_a_file_without_a_write_ahead_log(flights: Cli, here: Path) -> None:
    with closing(sqlite3.connect(here / ".graveler" / "meta.db")) as connection:
        assert connection.execute("PRAGMA journal_mode=DELETE").fetchone() == ("delete",)
    command = ill(flights, Ailment.STORE_WITHOUT_WAL)["command"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "wal\n"
    gone(flights, Ailment.STORE_WITHOUT_WAL)


def test_a_file_on_a_network(flights: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network file system can be mounted here: the table of mounts is another one."""
    mounts = here / "mounts"
    mounts.write_text(f"disk / ext4 rw 0 0\nserver:/export {here / '.graveler'} nfs4 rw 0 0\n")
    monkeypatch.setattr(sqlite_description, "_MOUNTS", mounts)
    row = ill(flights, Ailment.STORE_ON_NETWORK)
    assert (row["severity"], "nfs4" in row["what"]) == ("critical", True)
    local = f"sqlite:///{here}/local.db"
    *words, target = row["command"]
    assert target.startswith("sqlite:////LOCAL")
    assert flights(*words[1:], local).code == 0
    gone(flights, Ailment.STORE_ON_NETWORK, "--store", local)


def test_a_store_that_cannot_be_looked_at(here: Path, cli: Cli) -> None:
    (here / "other.db").write_bytes(b"no database at all, but long enough to be one" * 100)
    ran = cli("doctor", "--store", "sqlite:///other.db")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")


def test_a_time_that_is_too_short(flights: Cli) -> None:
    ran = flights("doctor", "--budget", "0.000001", "--json")
    assert ran.code == 2
    assert {row["type"] for row in ran.documents} == {"unseen"}
    assert flights("doctor", "--budget", "0.000001").out.startswith("not looked at to its end: ")
    refused(flights("doctor", "--budget", "0"), "budget", "0")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[str]:
    with monkeypatch.context() as patched:
        terminal = Terminal()
        patched.setattr(sys, "stdout", terminal)
        run(arguments)
    return terminal.getvalue().splitlines()


def test_what_people_see(flights: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_a_terminal(monkeypatch, "doctor") == ["healthy"]
    stage_layers("main", 20)
    assert on_a_terminal(monkeypatch, "doctor", "--store", STORE) == [
        "warning: graveler://flights/main: 20 layers of 20 (branch-pressure)",
        "    reads and listings ask all of it, and the next commit reads all of it",
        "    to mend it: compact the branch; the sensor of compactions does so by itself",
        f"    $ graveler compact graveler://flights/main --store {STORE}",
    ]


def test_no_secret_is_in_a_command(flights: Cli) -> None:
    stage_layers("main", 20)
    with opened() as graveler:
        (row,) = graveler.doctor().found
    secret = "postgresql://ada:CANARY@host/db"
    shown = [*_lines(row, secret)]
    assert "CANARY" not in repr([shown, view(secret).document(row), view(secret).cells(row)])
    assert shown[-1] == "      with the same --store"


def test_every_ailment_is_made_here_or_with_the_server() -> None:
    made = Path(__file__).read_text().split("def test_every_ailment")[0]
    assert {ailment for ailment in Ailment if f"Ailment.{ailment.name}" not in made} == {Ailment.STORE_NOT_DURABLE}
