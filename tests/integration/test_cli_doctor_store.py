"""`graveler doctor`: ailments of the store itself and of clocks, what people see, and how a run ends."""

from __future__ import annotations

import io
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine

from graveler_core.cli.app import run
from graveler_core.cli.health import _lines, view
from graveler_core.diagnostics.doctor.diagnosis import Ailment
from graveler_core.kv.backends.sqlite import description as sqlite_description
from tests.foreign.nessie_exports import HISTORY, write_directory
from tests.integration.command_line import Cli, refused
from tests.integration.doctoring import REPOSITORY, STORE, gone, ill, opened, stage_layers


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


def test_a_repository_that_is_incomplete(cli: Cli, here: Path) -> None:
    source = write_directory(HISTORY.files(2), here / "export")
    assert cli("migrate", "nessie", source, "graveler://imported", "--incomplete").code == 0
    command = ill(cli, Ailment.REPOSITORY_INCOMPLETE)["command"]
    assert cli(*command[1:]).code == 0
    gone(cli, Ailment.REPOSITORY_INCOMPLETE)


def test_a_store_that_cannot_be_looked_at(here: Path, cli: Cli) -> None:
    (here / "other.db").write_bytes(b"no database at all, but long enough to be one" * 100)
    ran = cli("doctor", "--store", "sqlite:///other.db")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")


def test_a_time_that_is_too_short(flights: Cli) -> None:
    ran = flights("doctor", "--budget", "0.000001", "--json")
    assert ran.code == 2
    assert {row["type"] for row in ran.documents} == {"unseen"}
    assert flights("doctor", "--budget", "0.000001").out.startswith("not fully examined: ")
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
    never = "graveler://flights: data last checked: existence and size never, checksums never"
    assert on_a_terminal(monkeypatch, "doctor") == ["healthy", never]
    stage_layers("main", 20)
    assert on_a_terminal(monkeypatch, "doctor", "--store", STORE) == [
        "warning: graveler://flights/main: 20 layers of 20 (branch-pressure)",
        "    each read and listing must search all of it, and the next commit reads all of it",
        "    to repair it: compact the branch; the compaction sensor for Dagster does this automatically",
        f"    $ graveler compact graveler://flights/main --store {STORE}",
        never,
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
    pages = sorted(Path(__file__).parent.glob("test_cli_doctor*.py"))
    made = "".join(page.read_text().split("def test_every_ailment")[0] for page in pages)
    assert not [ailment for ailment in Ailment if f"Ailment.{ailment.name}" not in made]
