"""`graveler du` on files and SQLite: directories of a ref, and states of the content of a repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.integration.command_line import Cli, Ran, put, refused
from tests.integration.doctoring import MAIN

REPOSITORY = "graveler://flights"


def sizes(cli: Cli, *options: str) -> dict[str, tuple[int, int]]:
    """Size and number of objects by state."""
    return {row["state"]: (row["size"], row["objects"]) for row in cli("du", REPOSITORY, "--json", *options).documents}


def age(here: Path) -> None:
    """Make all content old."""
    for file in (here / ".graveler" / "data" / "flights" / "data").iterdir():
        os.utime(file, (0, 0))


def test_directories_and_the_total(flights: Cli) -> None:
    assert flights("du", MAIN) == Ran(0, "15\t2\traw/\n20\t3\ttotal\n", "")
    assert flights("du", f"{MAIN}/raw/") == Ran(0, "15\t2\ttotal\n", "")
    assert flights("du", f"{MAIN}/r", "--depth", "0") == Ran(0, "20\t3\ttotal\n", "")
    assert flights("du", f"{MAIN}/none") == Ran(0, "0\t0\ttotal\n", "")


def test_tags_commits_and_staged_changes(flights: Cli) -> None:
    assert flights("tag", "create", "graveler://flights/v1", MAIN).code == 0
    put(flights, "raw/2024/jan.csv", b"new")
    put(flights, "readme", b"")
    assert flights("du", MAIN, "-d", "2").lines == [["3", "1", "raw/2024/"], ["18", "3", "raw/"], ["18", "4", "total"]]
    for ref in ("v1", "main@"):
        assert flights("du", f"graveler://flights/{ref}", "--depth", "2").lines == [
            ["15", "2", "raw/"],
            ["20", "3", "total"],
        ]


def test_directories_as_json(flights: Cli) -> None:
    assert flights("du", MAIN, "--json").documents == [
        {"type": "directory", "path": "raw/", "size": 15, "entries": 2},
        {"type": "total", "path": "", "size": 20, "entries": 3},
    ]


def test_branches(flights: Cli) -> None:
    assert flights("branch", "create", "graveler://flights/dev", "--source", "main").code == 0
    put(flights, "raw/2024/jan.csv", b"new")
    assert flights("du", REPOSITORY, "--branches").lines == [["20", "3", "dev"], ["23", "4", "main"]]
    assert flights("du", REPOSITORY, "--branches", "--json").documents == [
        {"type": "branch", "branch": "dev", "size": 20, "entries": 3},
        {"type": "branch", "branch": "main", "size": 23, "entries": 4},
    ]
    refused(flights("du", REPOSITORY, "--branches", "--grace", "7d"), "--branches cannot be combined")
    refused(flights("du", MAIN, "--branches"), "need the URI of a repository")


def test_the_content_of_a_repository_by_state(flights: Cli, here: Path) -> None:
    age(here)
    for content in (b"lost", b"kept"):
        put(flights, "x", content)
    assert flights("du", REPOSITORY).lines == [
        ["20", "3", "live"],
        ["0", "0", "history"],
        ["8", "2", "young"],
        ["0", "0", "uploading"],
        ["0", "0", "waiting"],
        ["0", "0", "expired"],
        ["0", "0", "unnamed"],
        ["0", "0", "due"],
        ["0", "0", "reclaimable"],
        ["28", "5", "total"],
    ]
    age(here)
    found = sizes(flights)
    assert (found["live"], found["young"], found["unnamed"]) == ((24, 4), (0, 0), (4, 1))
    assert flights("gc", "--yes", REPOSITORY, "--data").code == 0
    found = sizes(flights)
    assert (found["unnamed"], found["waiting"], found["due"]) == ((0, 0), (4, 1), (0, 0))
    assert (found["reclaimable"], found["total"]) == ((4, 1), (28, 5))
    documents = flights("du", REPOSITORY, "--json").documents
    assert documents[0] == {"type": "state", "state": "live", "size": 24, "objects": 4}
    assert [row["type"] for row in documents] == ["state"] * 8 + ["sum"] * 2


def test_the_grace_period_decides_what_is_young(flights: Cli, here: Path) -> None:
    age(here)
    assert sizes(flights, "--grace", "36500d")["young"] == (20, 3)
    assert sizes(flights, "--grace", "1d")["live"] == (20, 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((REPOSITORY, "--depth", "2"), ("--depth", "graveler://flights/main")),
        ((MAIN, "--grace", "7d"), ("--grace",)),
        ((MAIN, "--retention", "30"), ("--retention",)),
        ((REPOSITORY, "--retention", "36501"), ("36501", "36500")),
        ((REPOSITORY, "--grace", "90m"), ("1 day",)),
        (("graveler://flights/main..dev",), ("must name one ref",)),
        (("graveler://flights/none",), ("none",)),
        (("graveler://nothing",), ("nothing",)),
    ],
)
def test_what_is_refused(flights: Cli, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    refused(flights("du", *arguments), *words)


def test_a_depth_that_is_no_number(flights: Cli) -> None:
    assert flights("du", MAIN, "--depth", "-1").code == 2
