"""The program `graveler`: its commands and exit codes.

Exit codes: 0 success; 1 error, reported in one line on stderr; 2 wrong usage; 130 interrupted; 141 output pipe closed.
No run ends with a traceback.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from graveler_core.cli import (
    branch,
    check,
    cleaning,
    commit,
    copying,
    erasing,
    get,
    health,
    history,
    hook,
    iam,
    importing,
    init,
    kv,
    local,
    merge,
    metrics,
    migrate,
    migrate_lakefs,
    migrate_nessie,
    moving,
    objects,
    put,
    replay,
    repo,
    repo_settings,
    retention,
    serve,
    stage,
    staged,
    tag,
    upkeep,
    usage,
)
from graveler_core.cli.options import Options, signature
from graveler_core.cli.session import NOBODY_READS
from graveler_core.documents.text import visible
from graveler_core.errors import GravelerError
from graveler_core.telemetry.secrets import without_passwords

FAILED = 1
INTERRUPTED = 130

app = typer.Typer(
    name="graveler",
    help="Git for data. URIs have the form graveler://repository/ref/path, or ref/path after graveler init.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
repo.app.add_typer(repo_settings.app)
migrate.app.add_typer(migrate_lakefs.app)
migrate.app.add_typer(migrate_nessie.app)
for _verbs in (
    init,
    objects,
    usage,
    get,
    put,
    stage,
    importing,
    copying,
    staged,
    commit,
    local,
    merge,
    replay,
    history,
    upkeep,
    erasing,
    moving,
    metrics,
    health,
    cleaning,
    repo,
    branch,
    check,
    hook,
    retention,
    tag,
    kv,
    iam,
    migrate,
    serve,
):
    app.add_typer(_verbs.app)


def run(arguments: Sequence[str]) -> int:
    """Run one command line. Write to `sys.stdout` and `sys.stderr`, and return the exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the descriptor was closed before the program began
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - stays open as long as the process runs
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _program()(args=list(arguments) or ["--help"], prog_name="graveler", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as end:  # typer: with 0 after completion, with 1 if the reader of a help text has closed the pipe
        code = NOBODY_READS if end.code else 0
    except (Exception, KeyboardInterrupt) as error:
        code, message = _ending(error)
        if message:
            _tell(message)
    if code == NOBODY_READS:
        _silence()
    elif code == INTERRUPTED:
        _tell("interrupted")
    return code if isinstance(code, int) else 0


@cache
def _program() -> Callable[..., Any]:
    """Return the command with all verbs. Typer reads every signature to build it, which takes tens of milliseconds."""
    return typer.main.get_command(app)


def _version(asked: bool) -> None:
    if asked:
        from graveler_core.version import show_version

        show_version()
        raise typer.Exit


def _shared(
    ctx: typer.Context,
    version_asked: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
    **options: Any,
) -> None:
    ctx.obj = Options(**options)


_context, _version_option, _ = inspect.signature(_shared, eval_str=True).parameters.values()
_shared.__signature__ = signature([_context, _version_option], Options)  # type: ignore[attr-defined]
app.callback()(_shared)


def _ending(error: BaseException) -> tuple[int, str]:
    """Return the exit code for an exception, and the message to show."""
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
            return "; ".join([error.message, *getattr(error, "__notes__", ())])
        case OSError(strerror=str(reason)):
            return f"{error.filename}: {reason}" if error.filename is not None else reason
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"unexpected {type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}"


def _tell(message: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(f"error: {visible(without_passwords(message.strip()))}", file=sys.stderr, flush=True)


def _silence() -> None:
    """Discard the buffered output of the process, so that the interpreter does not report an error at exit.

    A stream that a caller has put in the place of `sys.stdout` keeps its descriptor.
    """
    own = sys.__stdout__
    with contextlib.suppress(OSError, ValueError):
        if own is not None and sys.stdout is own:
            os.dup2(os.open(os.devnull, os.O_WRONLY), own.fileno())
