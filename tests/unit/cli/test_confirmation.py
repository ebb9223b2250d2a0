"""Each command either asks before it destroys something, or is listed as one that destroys nothing.

The test walks all commands of the program, so a new command fails it until its author decides which of both it is.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import graveler_core
from graveler_core.cli.app import app, run
from graveler_core.errors import Unavailable
from graveler_core.local.index import DirectoryIndex, write_index

REPOSITORY = "graveler://flights"
DESTROYS = {
    "branch delete": [f"{REPOSITORY}/dev"],
    "branch unprotect": [f"{REPOSITORY}/main"],
    "check require": [f"{REPOSITORY}/main"],
    "check unrequire": [f"{REPOSITORY}/main", "rows"],
    "clean": [],
    "erase": [REPOSITORY, "raw/jan.csv", "--why", "a request"],
    "gc": [REPOSITORY],
    "hook remove": [REPOSITORY, "audit"],
    "iam credential delete": ["ada", "AKIA0000000000000000"],
    "iam group delete": ["crew"],
    "iam policy delete": ["ReadRaw"],
    "iam user delete": ["ada"],
    "local checkout": ["main", "work", "--discard"],
    "local pull": ["work", "--theirs"],
    "repo delete": [REPOSITORY],
    "reset": [f"{REPOSITORY}/main"],
    "rm": ["-r", f"{REPOSITORY}/main/raw/"],
    "tag delete": [f"{REPOSITORY}/v1"],
}
"""Commands that destroy something which no other command brings back, with arguments for which they do."""
READS = """
    branch list, branch protections, branch show, cat, check list, check required, commits, config, diagnostics, diff,
    doctor, du, erasures, fsck, hook list, hook runs, iam credential list, iam group list,
    iam member list, iam policy list, iam policy show,
    iam secrets-key new, iam simulate, iam user list, kv verify, local status, log, ls, metrics, migrate compare,
    migrate ids, migrate lakefs-verify, migrate nessie-export, migrate nessie-verify, migrate verify,
    reflog, repo list, repo objects, retention show, serve, show, stat, status, tag list, tag show,
    tag verify
"""
ADDS = """
    branch create, branch undelete, check report, cherry-pick, commit, compact, dump, iam credential create,
    hook deliver, hook repeat, iam group create, iam policy create, iam setup, iam user create, import, init, kv copy,
    kv finish-copy, kv sweep,
    local clone, local commit,
    local init, merge, migrate complete, migrate lakefs, migrate nessie, migrate run, repo create, repo undelete,
    restore, revert,
    tag create, transplant
"""
UNDONE_BY_ANOTHER_COMMAND = """
    iam attach, iam detach, iam member add, iam member remove, mv, repo read-only
"""
REPLACES_BY_A_GIVEN_VALUE = """
    branch protect, cp, get, hook set, iam policy update, iam secrets-key rotate, put, repo metadata,
    repo settings, repo thresholds, retention set, stage, tag assign
"""


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from commands(each, (*path, name))
        else:
            yield " ".join((*path, name)), each


ALL = dict(commands(typer.main.get_command(app)))


def options(command: str) -> set[str]:
    return {option for parameter in ALL[command].params for option in parameter.opts}


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """URLs of the stores that were opened. None can be reached, so a command ends when it opens one."""
    urls: list[str] = []

    def connect(url: str, **_: object) -> None:
        urls.append(url)
        raise Unavailable("the store was opened")

    monkeypatch.setattr(graveler_core, "connect", connect, raising=False)
    monkeypatch.setenv("GRAVELER_STORE", "memory://")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    monkeypatch.chdir(tmp_path)
    Path("work").mkdir()
    write_index(Path("work"), DirectoryIndex("flights", "0" * 32, "dev", ""))
    return urls


def test_each_command_is_in_one_list() -> None:
    words = [READS, ADDS, UNDONE_BY_ANOTHER_COMMAND, REPLACES_BY_A_GIVEN_VALUE]
    listed = [each.strip() for text in words for each in text.replace("\n", " ").split(",")] + list(DESTROYS)
    assert sorted(listed) == sorted(ALL), "decide if a new command destroys something, and add it to a list"


def test_exactly_the_commands_that_destroy_something_have_the_option() -> None:
    assert {name for name in ALL if "--yes" in options(name)} == set(DESTROYS)


@pytest.mark.parametrize("command", DESTROYS)
def test_a_command_that_destroys_refuses_without_a_terminal(
    opened: list[str], capfd: pytest.CaptureFixture[str], command: str
) -> None:
    words = [*command.split(), *DESTROYS[command]]
    assert run(words) == 1
    said = capfd.readouterr().err
    assert said.startswith("error: ")
    assert said.endswith(" Standard input is no terminal, so confirm this with --yes\n")
    assert opened == []
    assert run([*words, "--yes"]) == 1
    assert capfd.readouterr().err == "error: the store was opened\n"
    assert len(opened) == 1


@pytest.mark.parametrize("command", [name for name in DESTROYS if "--dry-run" in options(name)])
def test_a_dry_run_does_not_ask(opened: list[str], command: str) -> None:
    run([*command.split(), *DESTROYS[command], "--dry-run"])
    assert len(opened) == 1


@pytest.mark.parametrize(
    "words",
    [["rm", f"{REPOSITORY}/main/a"], ["local", "pull", "work"], ["check", "require", f"{REPOSITORY}/main", "rows"]],
)
def test_a_command_that_destroys_nothing_in_this_form_does_not_ask(opened: list[str], words: list[str]) -> None:
    run(words)
    assert len(opened) == 1
