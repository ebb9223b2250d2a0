"""Completion of commands and options by shells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("graveler")
IN_BASH = """\
source <("$0" --show-completion bash)
COMP_WORDS=("$0" "${@}")
COMP_CWORD=$#
_graveler_completion "$0"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(*words: str) -> list[str]:
    """Return what bash offers after these words, with the function that the program installs."""
    done = subprocess.run(
        ["bash", "-c", IN_BASH, str(PROGRAM), *words],
        env={**os.environ, "SHELL": "/bin/bash"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("cherry",), ["cherry-pick"]),
        (("local", "c"), ["clone", "checkout", "commit"]),
        (("tag", "show", "--js"), ["--json"]),
        (("no-such-command", "x"), []),
    ],
)
def test_bash_completes(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str) -> None:
    """Whatever shell the tests are run from, which `--show-completion` finds out by itself."""
    env = {**os.environ, "_GRAVELER_COMPLETE": f"source_{shell}"}
    done = subprocess.run([PROGRAM], env=env, capture_output=True, text=True, check=False)
    assert f"complete_{shell}" in done.stdout
