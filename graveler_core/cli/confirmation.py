"""Confirmation of commands that discard something: asked on a terminal, required as an option elsewhere."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from graveler_core.errors import InvalidInput

YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask for confirmation. Required without a terminal.")
]


def confirm(question: str, *, yes: bool) -> None:
    """Ask on the terminal, unless the user has confirmed with `--yes`.

    Args:
        question: Question that is answered with y or n.
        yes: Value of `--yes`.

    Raises:
        InvalidInput: Standard input is not a terminal, so nobody can answer.
        typer.Abort: The user does not confirm.
    """
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(f"{question} Standard input is no terminal, so confirm this with --yes")
    typer.confirm(question, abort=True, err=True)
