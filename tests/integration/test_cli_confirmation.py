"""Commands that discard something ask on a terminal, and need `--yes` elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from tests.integration.command_line import Cli, put, refused

MAIN = "graveler://flights/main"
DESTRUCTIVE = [
    ("repo", "delete", "graveler://flights"),
    ("branch", "delete", "graveler://flights/dev"),
    ("tag", "delete", "graveler://flights/v1"),
    ("reset", MAIN),
    ("reset", f"{MAIN}/raw/"),
    ("reset", "graveler://flights/dev", "--hard", "v1"),
    ("rm", "-r", f"{MAIN}/raw/"),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def state(cli: Cli) -> list[str]:
    """Everything that one of the commands would change."""
    looks = [
        ("repo", "list"),
        ("branch", "list", "graveler://flights"),
        ("tag", "list", "graveler://flights"),
        ("ls", "-r", MAIN),
    ]
    return [cli(*words).out for words in looks]


@pytest.fixture
def full(flights: Cli) -> Cli:
    flights("tag", "create", "graveler://flights/v1", "main")
    flights("branch", "create", "graveler://flights/dev")
    put(flights, "raw/jan.csv", b"again", "dev")
    flights("commit", "graveler://flights/dev", "-m", "January")
    put(flights, "raw/more.csv", b"more")
    return flights


@pytest.mark.parametrize("words", DESTRUCTIVE)
def test_it_is_refused_without_a_terminal_and_done_with_yes(
    full: Cli, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    before = state(full)
    for stdin in (io.StringIO("y\n"), None):
        monkeypatch.setattr(sys, "stdin", stdin)
        refused(full(*words), "--yes")
        assert state(full) == before
    assert full(*words, "--yes").code == 0
    assert state(full) != before


@pytest.mark.parametrize("words", DESTRUCTIVE)
def test_a_terminal_is_asked(full: Cli, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    before = state(full)
    monkeypatch.setattr(sys, "stdin", Terminal("n\ny\n"))
    assert full(*words).code == 1
    assert state(full) == before
    assert full(*words).code == 0
    assert state(full) != before


def test_one_path_is_removed_without_a_question(full: Cli) -> None:
    assert full("rm", f"{MAIN}/readme").code == 0
