"""`graveler clean`, `repo delete --wait`, `repo undelete`, `repo list --deleted`: on files and SQLite."""

from __future__ import annotations

import os
import re
import shlex
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import time_machine

from graveler_core.cli import deleted
from tests.integration.command_line import Cli, put, refused

REPOSITORY, MAIN = "graveler://flights", "graveler://flights/main"
LONG_AGO = "2020-01-01 00:00 +0000"


@pytest.fixture
def cleaned(cli: Cli) -> Cli:
    """A repository that was deleted long ago, with something staged."""
    with time_machine.travel(LONG_AGO, tick=True):
        assert cli("repo", "create", REPOSITORY).code == 0
        put(cli, "raw/jan.csv", b"january")
        assert cli("repo", "delete", REPOSITORY, "--yes", "--json").documents == [{"deleted": "flights"}]
    return cli


def test_a_deletion_is_taken_back(flights: Cli) -> None:
    put(flights, "staged", b"staged")
    shown = flights("ls", "-r", MAIN).out
    flights("repo", "delete", REPOSITORY, "--yes")
    assert flights("repo", "list").out == ""
    (row,) = flights("repo", "list", "--deleted", "--json").documents
    assert (row["type"], row["id"], row["state"], row["restorable"]) == ("deleted", "flights", "deleted", True)
    assert row.keys() == {"type", "id", "uid", "state", "since", "restorable", "storage_namespace"}
    assert [line[:2] for line in flights("repo", "list", "--deleted").lines] == [["flights", "deleted"]]
    refused(flights("repo", "undelete", REPOSITORY, "--uid", "another"), "flights", "another")
    (restored,) = flights("repo", "undelete", REPOSITORY, "--uid", row["uid"], "--json").documents
    assert restored["id"] == "flights"
    assert flights("ls", "-r", MAIN).out == shown
    assert flights("repo", "list", "--deleted").out == ""
    refused(flights("repo", "undelete", REPOSITORY), "flights", "was not deleted")


def test_clean_leaves_what_can_be_restored(flights: Cli) -> None:
    flights("repo", "delete", REPOSITORY, "--yes")
    assert flights("clean", "--yes").out == "removed nothing; left 1 that can be undeleted\n"
    (report,) = flights("clean", "--yes", REPOSITORY, "--undelete-within", "0s", "--json").documents
    assert (report["repositories"], report["waiting"], report["late"], report["next"]) == (0, 0, 1, None)
    assert flights("repo", "undelete", REPOSITORY).code == 0


def test_clean_empties_what_was_deleted_long_ago(cleaned: Cli) -> None:
    (would,) = cleaned("clean", "--dry-run", "--json").documents
    assert (would["dry_run"], would["repositories"], would["layers"]) == (True, 1, 1)
    assert cleaned("repo", "list", "--deleted").lines[0][1] == "deleted"
    (report,) = cleaned("clean", "--yes", "--json").documents
    assert (report["dry_run"], report["repositories"], report["layers"]) == (False, 1, 1)
    assert report["rows"] > 1
    assert report["failures"] == []
    assert cleaned("repo", "list", "--deleted").out == ""
    assert cleaned("clean", "--yes").out == "removed nothing\n"
    refused(cleaned("repo", "undelete", REPOSITORY), "gone for good")


def test_the_command_that_a_refused_creation_names_works_now(flights: Cli) -> None:
    flights("repo", "delete", REPOSITORY, "--yes")
    said = flights("repo", "create", REPOSITORY).err
    (removes,) = re.findall(r"`graveler (clean .*?)`", said)
    assert "with --alone" in said
    left = flights(*shlex.split(removes), "--yes").out
    assert left.startswith("removed nothing; left 1 that a process may still write to")
    assert "--alone" in left
    assert flights(*shlex.split(removes), "--alone", "--yes").out.startswith("removed 1 repository")
    assert flights("repo", "create", REPOSITORY, "--adopt").code == 0


def test_clean_empties_namespaces(cleaned: Cli, here: Path) -> None:
    place = here / ".graveler" / "data" / "flights"
    written = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
    files = [path for path in place.rglob("*") if path.is_file()]
    for file in files:
        os.utime(file, (written, written))
    assert len(files) > 1
    first = cleaned("clean", "--yes", "--data")
    uri = place.as_uri()
    assert first.out.startswith(f"{uri}: emptying; deleted 0 objects, 0 B; waiting until ")
    would = cleaned("clean", "--data", "--dry-run")
    deleted = len(files) - 1  # the file of the owner goes last, and is not counted
    assert would.out.startswith(f"{uri}: abandoned; would delete {deleted} objects, ")
    create = partial(cleaned, "repo", "create", "graveler://other", "--storage-namespace", uri)
    refused(create("--adopt"), "is being emptied")
    emptied, report = cleaned("clean", "--yes", "--data", "--grace", "0s", "--alone", "--json").documents
    assert (emptied["type"], emptied["uri"], emptied["repository"]) == ("namespace", uri, "flights")
    assert (emptied["state"], emptied["deleted"], emptied["named"], emptied["due"]) == ("released", deleted, 0, None)
    assert report["failures"] == []
    assert not [path for path in place.rglob("*") if path.is_file()]
    assert create().code == 0
    refused(cleaned("clean", REPOSITORY, "--data"), "whole store")
    refused(cleaned("clean", "--grace", "8d"), "--data")
    refused(cleaned("clean", "--data", "--grace", "1h"), "1 day")


def test_clean_removes_nothing_if_an_option_of_the_data_is_wrong(cleaned: Cli) -> None:
    refused(cleaned("clean", "--data", "--grace", "1h"), "1 day")
    refused(cleaned("clean", "--data", "--grace", "soon"), "--grace")
    assert cleaned("repo", "list", "--deleted").lines[0][1] == "deleted"


def test_clean_goes_on_where_a_limit_ended(cleaned: Cli) -> None:
    calls, after, repositories = 0, [], 0
    while True:
        (report,) = cleaned("clean", "--yes", "--limit", "2", "--json", *after).documents
        calls, repositories = calls + 1, repositories + report["repositories"]
        if report["next"] is None:
            break
        after = ["--after", report["next"]]
    assert calls > 2
    assert repositories == 1
    refused(cleaned("clean", "--yes", "--after", "nowhere"), "nowhere")


def test_clean_of_a_large_store_takes_many_calls(cleaned: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graveler_core.cli.cleaning.CALL", 1)
    (report,) = cleaned("clean", "--yes", "--json").documents
    assert (report["repositories"], report["next"]) == (1, None)


def test_what_fails_is_told(cleaned: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from graveler_core.engine.cleaning.work import CleaningCall
    from graveler_core.errors import Unavailable

    def broken(*_: object) -> None:
        raise Unavailable("the disk is gone")

    monkeypatch.setattr(CleaningCall, "drop_layer", broken)
    ran = cleaned("clean", "--yes")
    assert ran.code == 1
    assert ran.out.splitlines()[0] == "removed nothing; 1 failed"
    assert ran.out.splitlines()[1].startswith("failed: deleted repository flights/")
    assert ran.out.endswith("the disk is gone\n")


def test_deleted_and_emptied_at_once(flights: Cli) -> None:
    refused(flights("repo", "delete", REPOSITORY, "--yes", "--alone"), "--wait")
    put(flights, "staged", b"staged")
    (answer,) = flights("repo", "delete", REPOSITORY, "--yes", "--wait", "--alone", "--json").documents
    assert answer["deleted"] == "flights"
    assert (answer["removed"]["repositories"], answer["removed"]["late"]) == (1, 0)
    assert flights("repo", "list", "--deleted").out == ""


def test_only_the_repository_at_hand_is_emptied(flights: Cli) -> None:
    """An earlier one of the name can still be restored."""
    flights("repo", "delete", REPOSITORY, "--yes")
    (earlier,) = flights("repo", "list", "--deleted", "--json").documents
    flights("repo", "create", REPOSITORY, "--storage-namespace", (Path.cwd() / "other").as_uri())
    ran = flights("repo", "delete", REPOSITORY, "--yes", "--wait", "--alone")
    assert ran.out.startswith("deleted repository flights; removed 1 repository")
    (left,) = flights("repo", "list", "--deleted", "--json").documents
    assert left["uid"] == earlier["uid"]
    assert flights("repo", "undelete", REPOSITORY).code == 0


def test_waiting_ends_when_nobody_can_write_any_more(flights: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    with time_machine.travel("2030-01-01 00:00 +0000", tick=False) as clock:

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            clock.shift(timedelta(seconds=seconds))

        # Only there: threads of other tests may wait as well.
        monkeypatch.setattr(deleted, "time", SimpleNamespace(sleep=sleep))
        ran = flights("repo", "delete", REPOSITORY, "--yes", "--wait")
    assert ran.out.startswith("deleted repository flights; removed 1 repository")
    assert "left" not in ran.out
    assert sum(slept) == 600
