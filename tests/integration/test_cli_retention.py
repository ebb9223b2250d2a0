"""`graveler retention` on files and SQLite, and what collections say of commits that expire."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.integration.command_line import Cli, put, refused

REPOSITORY = "graveler://flights"
MAIN = "graveler://flights/main"


def test_rules_are_set_and_shown(flights: Cli) -> None:
    assert flights("retention", "show", REPOSITORY).lines == [["0", "", "", "all other branches: forever"]]
    made = flights(
        "retention", "set", REPOSITORY, "--days", "30", "--branch", "main=forever", "-b", "dev-*=7", "--json"
    )
    (document,) = made.documents
    assert document.pop("since").startswith("20")
    assert document == {
        "type": "retention",
        "days": 30,
        "branches": {"dev-*": 7, "main": None},
        "version": 1,
        "by": "",
    }
    assert flights("retention", "set", REPOSITORY, "--if-version", "1").code == 0
    shown = flights("retention", "show", REPOSITORY, "--versions").lines
    assert [(line[0], line[-1]) for line in shown] == [
        ("2", "all other branches: forever"),
        ("1", "dev-*: 7 days, main: forever, all other branches: 30 days"),
        ("0", "all other branches: forever"),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--days", "a week"), ("--days", "a week", "number of days")),
        (("--days", "-1"), ("-1",)),
        (("--branch", "main"), ("main", "KEY=VALUE")),
        (("--branch", "main=soon"), ("--branch main", "soon")),
        (("--branch", "a b=3"), ("a b",)),
        (("--days", "36501"), ("36501", "36500")),
        (("--if-version", "3"), ("version 0, not 3",)),
    ],
)
def test_what_is_refused(flights: Cli, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    refused(flights("retention", "set", REPOSITORY, *options), *words)
    assert flights("retention", "show", REPOSITORY, "--json").documents[0]["version"] == 0


def test_commits_expire(flights: Cli, here: Path) -> None:
    for content in (b"old", b"new"):
        put(flights, "x", content)
        assert flights("commit", MAIN, "-m", content.decode()).code == 0
    for file in (here / ".graveler" / "data" / "flights" / "data").iterdir():
        os.utime(file, (0, 0))
    now = ("--grace", "0d", "--alone")
    said = flights("gc", REPOSITORY, "--data", *now, "--dry-run").out
    assert "commits:" not in said
    assert flights("retention", "set", REPOSITORY, "--days", "0").code == 0
    assert flights("log", MAIN, "--json").documents[1]["expired"] is None
    done = flights("gc", "--yes", REPOSITORY, "--data", *now)
    assert "deleted 1 object, 3 B" in done.out
    assert "commits: " in done.out
    head, old, *_ = flights("log", MAIN, "--json").documents
    assert (head["expired"], old["expired"]["rule"], old["expired"]["final"]) == (None, "default rule: 0 days", True)
    assert "content expired" in flights("show", f"{REPOSITORY}/{old['id']}").out
    refused(flights("cat", f"{REPOSITORY}/{old['id']}/x"), "content expired on", "default rule: 0 days")
    refused(flights("tag", "create", f"{REPOSITORY}/v1", f"{REPOSITORY}/{old['id']}"), "content expired on")
