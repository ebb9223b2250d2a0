"""The program `graveler`: its verbs, and how a run ends.

Exit codes: 0 done; 1 an error, told in one line on stderr; 2 wrong usage; 130 interrupted; 141 nobody reads the output.
There is never a traceback.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from graveler_core.cli import (
    branch,
    cleaning,
    commit,
    health,
    history,
    iam,
    importing,
    kv,
    merge,
    metrics,
    migrate,
    moving,
    objects,
    protection,
    put,
    repo,
    staged,
    tag,
    upkeep,
)
from graveler_core.cli.session import (
    NOBODY_READS,
    CommitterOption,
    JsonOption,
    LogFormatOption,
    LogLevelOption,
    Options,
    StoreOption,
)
from graveler_core.cli.startup import leave_pandas_out
from graveler_core.cli.terminal import visible
from graveler_core.errors import GravelerError
from graveler_core.telemetry.secrets import without_passwords

FAILED = 1
INTERRUPTED = 130

app = typer.Typer(
    name="graveler",
    help="Git for data. Things are named graveler://repository/ref/path.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _verbs in (objects, put, importing, staged, commit, merge, history, upkeep, moving, metrics, health):
    _verbs.register(app)
cleaning.register(app, repo.app)
protection.register(branch.app, repo.app)
for _name, _group in (
    ("repo", repo.app),
    ("branch", branch.app),
    ("tag", tag.app),
    ("kv", kv.app),
    ("iam", iam.app),
    ("migrate", migrate.app),
):
    app.add_typer(_group, name=_name)


def main() -> None:
    """Run the program on the process's arguments, and exit."""
    leave_pandas_out()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code. Writes to `sys.stdout` and `sys.stderr`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the descriptor was closed before the program began
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(args=list(arguments) or ["--help"], prog_name="graveler", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit:  # typer leaves so where nobody reads a help text, with the code for errors
        code = NOBODY_READS
    except (Exception, KeyboardInterrupt) as error:
        code, message = _ending(error)
        if message:
            _tell(message)
    if code == NOBODY_READS:
        _silence(sys.stdout)
    elif code == INTERRUPTED:
        _tell("interrupted")
    return code if isinstance(code, int) else 0


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"graveler {version('graveler')}")
        raise typer.Exit


@app.callback()
def _shared(  # noqa: PLR0913 - the options that all verbs share
    ctx: typer.Context,
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
    committer: CommitterOption = None,
    log_level: LogLevelOption = None,
    log_format: LogFormatOption = None,
    version_asked: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    ctx.obj = Options(store, as_json, committer, log_level, log_format)


def _ending(error: BaseException) -> tuple[int, str]:
    """The exit code that an exception means, and what to tell."""
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED, ""
        case BrokenPipeError():
            return NOBODY_READS, ""
        case typer.TyperException():
            context = getattr(error, "ctx", None)
            hint = f" (see {context.command_path} --help)" if context is not None else ""
            return error.exit_code, error.format_message() + hint
        case _:
            return FAILED, _failure(error)


def _failure(error: BaseException) -> str:
    match error:
        case typer.Abort():
            return "aborted"
        case GravelerError():
            return error.message
        case OSError(strerror=str(reason)):
            return f"{error.filename}: {reason}" if error.filename is not None else reason
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"unexpected {type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}"


def _tell(message: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(f"error: {visible(without_passwords(message.strip()))}", file=sys.stderr, flush=True)


def _silence(stream: object) -> None:
    """Let what is still buffered go nowhere, so that the interpreter does not complain at exit."""
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        if isinstance(stream, io.TextIOWrapper):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
