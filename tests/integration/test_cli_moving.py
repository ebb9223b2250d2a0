"""`graveler dump` and `restore` on files and SQLite."""

from __future__ import annotations

from pathlib import Path

from tests.integration.command_line import Cli, Ran, paths, put, refused


def test_there_and_back(flights: Cli, here: Path) -> None:
    """The repository is deleted, and made anew where it was."""
    flights("tag", "create", "graveler://flights/v1", "main")
    put(flights, "staged", b"x")
    assert flights("compact", "graveler://flights/main").code == 0
    (log,) = flights("log", "graveler://flights/main", "--json").documents[:1]
    (dumped,) = flights("dump", "graveler://flights", "flights.dump", "--json").documents
    file = here / "flights.dump"
    assert (dumped["uri"], dumped["size"]) == (file.as_uri(), file.stat().st_size)
    assert (dumped["branches"], dumped["dirty"], dumped["tags"], dumped["commits"]) == (1, 1, 1, 2)
    assert flights("restore", "graveler://copy", "flights.dump").code == 1
    copied = here / ".graveler" / "data" / "copy"
    (here / ".graveler" / "data" / "flights").rename(copied)
    refused(flights("restore", "graveler://copy", "flights.dump", "--create"), "adopt")
    assert flights("restore", "graveler://copy", "flights.dump", "--create", "--adopt") == Ran(
        0, "restored 1 branch, 1 tag, 2 commits into copy\n", ""
    )
    assert flights("log", "graveler://copy/main", "--json").documents[0]["id"] == log["id"]
    assert paths(flights, "graveler://copy/main") == ["raw/feb.csv", "raw/jan.csv", "readme"]
    assert flights("cat", "graveler://copy/v1/readme").out == "hello"
    assert flights("fsck", "graveler://copy", "--deep").code == 0
    (again,) = flights("restore", "graveler://copy", file.as_uri(), "--create", "--adopt", "--json").documents
    assert (again["id"], again["digest"], again["renamed"]) == ("copy", dumped["digest"], {})


def test_what_a_dump_says(flights: Cli, here: Path) -> None:
    ran = flights("dump", "graveler://flights", "x.dump")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"dumped 1 branch, 0 tags, 2 commits to {(here / 'x.dump').as_uri()}, ")
    assert "staged" not in ran.out
    put(flights, "staged", b"x")
    assert "staged changes on 1 branch are not in it" in flights("dump", "graveler://flights", "y.dump").out


def test_what_is_refused(flights: Cli, here: Path) -> None:
    (here / "there").write_bytes(b"no dump")
    refused(flights("dump", "graveler://flights", "there"), "there", "already exists")
    assert (here / "there").read_bytes() == b"no dump"
    refused(flights("restore", "graveler://flights", "there"), "is not bare")
    assert flights("repo", "create", "graveler://bare", "--bare").out.startswith("created bare repository bare in ")
    refused(flights("restore", "graveler://bare", "there"), "there", "byte 0", "is not a dump")
    refused(flights("restore", "graveler://bare", "nowhere"), "nowhere", "does not exist")
    refused(flights("restore", "graveler://bare", "there", "--adopt"), "--create")
    refused(flights("restore", "graveler://bare", "there", "--ephemeral"), "--create")
    put(flights, "more", b"x")
    flights("compact", "graveler://flights/main")
    flights("commit", "graveler://flights/main", "-m", "what a file holds")
    flights("dump", "graveler://flights", "flights.dump")
    refused(flights("restore", "graveler://bare", "flights.dump"), "needs _graveler/")
    whole = (here / "flights.dump").read_bytes()
    (here / "half").write_bytes(whole[: len(whole) // 2])
    refused(flights("restore", "graveler://bare", "half"), "half", "cut off")
    assert flights("branch", "list", "graveler://bare") == Ran(0, "", "")


def test_leftovers_are_adopted_when_asked(flights: Cli, here: Path) -> None:
    """Files of a repository whose store is gone."""
    put(flights, "more", b"x")
    flights("compact", "graveler://flights/main")
    for file in (here / ".graveler").glob("meta.db*"):
        file.unlink()
    refused(flights("repo", "create", "graveler://flights"), "another store", "adopt")
    assert flights("repo", "list").out == ""
    assert flights("repo", "create", "graveler://flights", "--adopt").code == 0


def test_a_namespace_in_memory_is_accepted_when_asked(flights: Cli) -> None:
    flights("dump", "graveler://flights", "flights.dump")
    restore = ("restore", "graveler://copy", "flights.dump", "--create", "--storage-namespace", "memory://copy")
    refused(flights(*restore), "--ephemeral")
    assert flights(*restore, "--ephemeral").out == "restored 1 branch, 0 tags, 2 commits into copy\n"


def test_a_dump_that_cannot_be_restored_leaves_no_repository(flights: Cli, here: Path) -> None:
    put(flights, "more", b"x")
    flights("compact", "graveler://flights/main")
    flights("commit", "graveler://flights/main", "-m", "a file holds its layer")
    flights("dump", "graveler://flights", "flights.dump")
    whole = (here / "flights.dump").read_bytes()
    (here / "half.dump").write_bytes(whole[: len(whole) // 2])
    (here / "wrong.dump").write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    before = flights("repo", "list", "--deleted").out
    for name, said in (
        ("half.dump", "cut off"),
        ("wrong.dump", "damaged"),
        ("nowhere.dump", "does not exist"),
        ("flights.dump", "needs _graveler/"),
    ):
        refused(flights("restore", "graveler://copy", name, "--create"), said)
        assert flights("repo", "list").out.count("copy") == 0
        assert not (here / ".graveler" / "data" / "copy").exists()
    assert flights("repo", "list", "--deleted").out == before
    (here / ".graveler" / "data" / "flights").rename(here / ".graveler" / "data" / "copy")
    assert flights("restore", "graveler://copy", "flights.dump", "--create", "--adopt").code == 0
