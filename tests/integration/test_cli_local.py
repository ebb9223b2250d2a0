"""`graveler local`: a directory that follows a branch, as a user sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.command_line import Cli, Ran, put, refused

START = {"jan.csv": "january", "feb.csv": "february"}


@pytest.fixture
def work(flights: Cli, here: Path) -> Path:
    """A clone of raw/."""
    ran = flights("local", "clone", "graveler://flights/main/raw", "work")
    assert (ran.code, ran.err) == (0, "")
    return here / "work"


def files(root: Path) -> dict[str, str]:
    names = (path for path in root.rglob("*") if path.is_file() and ".graveler" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_text() for path in names}


def committed(cli: Cli, path: str, ref: str = "main") -> str:
    return cli("cat", f"graveler://flights/{ref}@/raw/{path}").out


def changes(ran: Ran) -> list[tuple[str, str, str]]:
    assert ran.code == 0, ran.err
    found = (each for each in ran.documents if each["type"] == "change")
    return [(each["path"], each["where"], each["change"]) for each in found]


def commit_of_others(cli: Cli, path: str, content: bytes) -> None:
    put(cli, f"raw/{path}", content)
    assert cli("commit", "graveler://flights/main", "-m", "of others").code == 0


def test_clone_change_commit(flights: Cli, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAVELER_STORE", f"sqlite:///{work.parent}/.graveler/meta.db")
    assert files(work) == START
    (work / "jan.csv").write_text("january 2")
    (work / "feb.csv").unlink()
    (work / "new").mkdir()
    (work / "new" / "mar.csv").write_text("march")
    ran = flights("local", "status", "work", "--json")
    assert changes(ran) == [
        ("feb.csv", "local", "removed"),
        ("jan.csv", "local", "changed"),
        ("new/mar.csv", "local", "added"),
    ]
    assert ran.documents[-1]["directory"] == str(work)
    assert ran.documents[-1]["commit"] == ran.documents[-1]["head"]

    refused(flights("local", "commit", "work", "-m", ""), "--allow-empty-message")
    monkeypatch.chdir(work / "new")  # the directory is found from below
    [made] = flights("local", "commit", "-m", "mine", "--meta", "by=hand", "--json").documents
    assert (made["message"], made["committer"], made["metadata"]["by"]) == ("mine", "ada", "hand")
    assert (made["uploaded"], made["removed"]) == (["jan.csv", "new/mar.csv"], ["feb.csv"])
    assert committed(flights, "jan.csv") == "january 2"
    assert flights("stat", "graveler://flights/main/raw/feb.csv").code == 1
    assert flights("cat", "graveler://flights/main/readme").out == "hello"
    assert changes(flights("local", "status", "--json")) == []
    refused(flights("local", "commit", "-m", "again"), "no local changes")


def test_pull_brings_only_what_differs(flights: Cli, work: Path) -> None:
    commit_of_others(flights, "jan.csv", b"theirs")
    (work / "feb.csv").write_text("mine")
    assert changes(flights("local", "status", "work", "--json")) == [
        ("feb.csv", "local", "changed"),
        ("jan.csv", "remote", "changed"),
    ]
    [done] = flights("local", "pull", "work", "--json").documents
    assert (done["downloaded"], done["removed"], done["prefix"]) == (1, 0, "raw/")
    assert files(work) == {"jan.csv": "theirs", "feb.csv": "mine"}


@pytest.mark.parametrize(("side", "kept"), [("--ours", "mine"), ("--theirs", "theirs")])
def test_a_conflict_loses_nothing_until_a_side_is_chosen(flights: Cli, work: Path, side: str, kept: str) -> None:
    commit_of_others(flights, "jan.csv", b"theirs")
    (work / "jan.csv").write_text("mine")
    for command in (("pull", "work"), ("commit", "work", "-m", "x")):
        ran = flights("local", *command)
        refused(ran, "jan.csv", "--ours or --theirs")
        assert ran.lines == [["jan.csv"]]
        assert files(work) == START | {"jan.csv": "mine"}
        assert committed(flights, "jan.csv") == "theirs"
    refused(flights("local", "pull", "work", "--ours", "--theirs"), "--ours and --theirs exclude each other")

    assert flights("local", "pull", "work", side, *["--yes"][: side == "--theirs"]).code == 0
    assert files(work) == START | {"jan.csv": kept}
    assert committed(flights, "jan.csv") == "theirs"
    flights("local", "commit", "work", "-m", "after the conflict")
    assert committed(flights, "jan.csv") == kept
    assert changes(flights("local", "status", "work", "--json")) == []


def test_checkout(flights: Cli, work: Path) -> None:
    flights("branch", "create", "graveler://flights/dev", "--source", "main")
    commit_of_others(flights, "mar.csv", b"march")
    assert flights("local", "checkout", "main", "work").code == 0
    assert files(work) == START | {"mar.csv": "march"}
    (work / "jan.csv").write_text("mine")
    refused(flights("local", "checkout", "dev", "work"), "jan.csv")
    refused(flights("local", "checkout", "dev", "work", "--discard"), "--yes")
    assert files(work)["jan.csv"] == "mine"

    assert flights("local", "checkout", "graveler://flights/dev", "work", "--discard", "--yes").code == 0
    assert files(work) == START
    (work / "jan.csv").write_text("dev")
    assert flights("local", "commit", "work", "-m", "on dev").code == 0
    assert (committed(flights, "jan.csv", "dev"), committed(flights, "jan.csv")) == ("dev", "january")

    flights("tag", "create", "graveler://flights/v1", "main")
    assert flights("local", "checkout", "v1", "work").code == 0
    (work / "jan.csv").write_text("late")
    refused(flights("local", "commit", "work", "-m", "x"), "'v1', which is no branch")


def test_what_is_skipped_is_named(flights: Cli, work: Path) -> None:
    (work / "link").symlink_to("jan.csv")
    (work / ".gravelerignore").write_text("*.tmp\n.gravelerignore\n")
    (work / "draft.tmp").write_text("x")
    ran = flights("local", "status", "work", "--json")
    assert changes(ran) == []
    assert [each["path"] for each in ran.documents[-1]["skipped"]] == ["link"]
    assert "skipped 'link': symbolic links are not followed" in ran.err


@pytest.mark.parametrize(
    "command", [("status",), ("pull",), ("commit", "-m", "x"), ("checkout", "main")], ids=lambda each: each[0]
)
def test_a_directory_that_follows_nothing(flights: Cli, here: Path, command: tuple[str, ...]) -> None:
    refused(flights("local", *command, str(here / "local")), str(here / "local"), "graveler local clone")


def test_what_cannot_be_cloned(flights: Cli, work: Path, here: Path) -> None:
    for uri, word in (
        ("graveler://flights", "must name a ref"),
        ("graveler://flights/none", "none"),
        ("graveler://nothing/main", "nothing"),
        ("s3://flights/main", "s3://flights/main"),
    ):
        refused(flights("local", "clone", uri, "x"), word)
        assert not (here / "x").exists()
    refused(flights("local", "clone", "graveler://flights/main/raw", "work"), "is a clone already")
    refused(flights("local", "clone", "graveler://flights/main/raw", "local"), "must be empty")
    refused(flights("local", "checkout", "graveler://other/main", "work"), "'flights'")
    assert files(work) == START


def test_a_clone_of_nothing_says_so(flights: Cli, here: Path) -> None:
    ran = flights("local", "clone", "graveler://flights/main/rwa", "typing-error")
    assert ran.code == 0
    assert "graveler://flights/main/rwa has no committed files" in ran.err
    assert files(here / "typing-error") == {}


def test_a_directory_with_files_follows_a_ref(flights: Cli, here: Path) -> None:
    own = here / "own"
    own.mkdir()
    (own / "jan.csv").write_text("january")  # equal to the committed file
    (own / "feb.csv").write_text("mine")
    (own / "mar.csv").write_text("march")
    refused(flights("local", "clone", "graveler://flights/main/raw", "own"), "local init")
    (made,) = flights("local", "init", "graveler://flights/main/raw", "own", "--json").documents
    assert (made["directory"], made["prefix"]) == (str(own), "raw/")
    assert files(own) == {"jan.csv": "january", "feb.csv": "mine", "mar.csv": "march"}
    assert changes(flights("local", "status", "own", "--json")) == [
        ("feb.csv", "conflict", "added"),
        ("mar.csv", "local", "added"),
    ]
    assert flights("local", "commit", "own", "-m", "mine").code == 1
    assert committed(flights, "feb.csv") == "february"
    assert flights("local", "pull", "own", "--ours").code == 0
    assert flights("local", "commit", "own", "-m", "mine").code == 0
    assert (committed(flights, "feb.csv"), committed(flights, "mar.csv")) == ("mine", "march")
    refused(flights("local", "init", "graveler://flights/main/raw", "own"), "is a clone already")
    refused(flights("local", "init", "graveler://flights/main", "own/mar.csv"), "is a file")


def test_an_empty_directory_follows_a_ref_and_pulls(flights: Cli, here: Path) -> None:
    assert flights("local", "init", "graveler://flights/main/raw", "later").code == 0
    assert files(here / "later") == {}
    refused(flights("local", "commit", "later", "-m", "nothing"), "no local changes")
    assert flights("local", "pull", "later").code == 0
    assert files(here / "later") == START
