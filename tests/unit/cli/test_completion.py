"""Completion of commands and options by shells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("graveler")
IN_BASH = """\
source "$1"
COMP_WORDS=("$0" "${@:2}")
COMP_CWORD=$(($# - 1))
_graveler_completion "$0"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def bash(script: str, *arguments: str) -> str:
    """Return what a script of bash says, whose name is that of the program."""
    done = subprocess.run(
        ["bash", "-c", script, str(PROGRAM), *arguments],
        env={**os.environ, "SHELL": "/bin/bash"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def function(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The function that the program installs."""
    path: Path = tmp_path_factory.mktemp("completion") / "function.bash"
    path.write_text(bash('said=$("$0" --show-completion bash) && printf %s "$said"'))  # bash is the parent
    return path


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("cherry",), ["cherry-pick"]),
        (("local", "c"), ["clone", "checkout", "commit"]),
        (("tag", "show", "--js"), ["--json"]),
        (("no-such-command", "x"), []),
    ],
)
def test_bash_completes(function: Path, words: tuple[str, ...], offered: list[str]) -> None:
    assert bash(IN_BASH, str(function), *words).split() == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str) -> None:
    """Whatever shell the tests are run from, which `--show-completion` finds out by itself."""
    env = {**os.environ, "_GRAVELER_COMPLETE": f"source_{shell}"}
    done = subprocess.run([PROGRAM], env=env, capture_output=True, text=True, check=False)
    assert f"complete_{shell}" in done.stdout
