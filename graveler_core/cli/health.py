"""`graveler diagnostics`, `doctor`: what a store looks like, for people who look from afar, and what is wrong."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.output import Column, Document, Shape, View
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import visible
from graveler_core.cli.uri import repository_uri
from graveler_core.errors import GravelerError, InvalidInput
from graveler_core.kv.display import without_password
from graveler_core.telemetry.secrets import without_passwords

if TYPE_CHECKING:
    from graveler_core.diagnostics.doctor.diagnosis import Diagnosis, Examined

ILL = 1
"""Exit code where something is wrong."""
UNSEEN = 2
"""Exit code where nothing was found, and not all could be looked at."""
BudgetOption = Annotated[float, typer.Option(metavar="SECONDS", help="Time for all of it; what is missing is said.")]
RepositoryOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Only this repository, and the store: flights or graveler://flights.")
]


def register(app: typer.Typer) -> None:
    """Add these verbs to the application."""
    verb(app, "diagnostics")(diagnostics)
    verb(app, "doctor")(doctor)


def diagnostics(
    session: Session,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A new .zip; else named by the time, here.")
    ] = None,
    budget: BudgetOption = 60.0,
    repository: RepositoryOption = None,
    with_user_data: Annotated[
        bool, typer.Option("--with-user-data", help="Messages and committers of heads, removed prefixes, too.")
    ] = False,
) -> None:
    """Write an archive of counts, states, layers, pressure, versions and settings, for whoever looks for what is wrong.

    Reads only. No secret is in it, nor paths, contents or messages; names of repositories and branches are.

    JSON: one document with path, sections (how many), errors (things that could not be read), incomplete (names of
    sections).
    """
    path = output or Path(f"graveler-diagnostics-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip")
    settings = session.settings.shown()
    if session.options.store is not None:
        settings["store"] = without_password(session.options.store)
    with session.working("collecting"):
        written = session.graveler.diagnostics(
            path, budget=budget, repository=_name(repository), user_data=with_user_data, settings=settings
        )
    document = {
        "path": str(written.path),
        "sections": written.sections,
        "errors": written.errors,
        "incomplete": list(written.incomplete),
    }
    missing = f"; incomplete: {', '.join(written.incomplete)}" if written.incomplete else ""
    session.out.result(document, f"wrote {written.sections} sections to {written.path}{missing}")


def doctor(
    session: Session,
    *,
    deep: Annotated[bool, typer.Option("--deep", help="Read all that is stored, as fsck --deep does.")] = False,
    budget: BudgetOption = 60.0,
    repository: RepositoryOption = None,
) -> None:
    """Say what is wrong, why it matters, and the command that mends it. Changes nothing.

    Exit code 0 if all was looked at and nothing is wrong, 1 if something is, 2 if nothing was found and not all could
    be looked at.

    JSON: a line for each finding with type ("diagnosis"), ailment, severity ("critical", "warning", "notice"), where,
    what, why, remedy, command (a list of words); then for each thing that was not looked at to its end a line with type
    ("unseen"), what, why.
    """
    name = _name(repository)
    try:
        with session.working("examining"):
            examined = session.graveler.doctor(budget=budget, repository=name, deep=deep)
    except InvalidInput:
        raise
    except GravelerError as e:
        _tell_error(e)
        raise typer.Exit(UNSEEN) from e
    _show(session, examined)
    if examined.found:
        raise typer.Exit(ILL)
    if examined.unseen:
        raise typer.Exit(UNSEEN)


def _show(session: Session, examined: Examined) -> None:
    out, store = session.out, session.options.store
    if out.shape is Shape.TABLE:
        for found in examined.found:
            for line in _lines(found, store):
                out.say(line)
        if examined.healthy:
            out.say("healthy")
    else:
        out.rows(examined.found, view(store))
    for what, why in examined.unseen:
        out.document({"type": "unseen", "what": what, "why": why})
        out.say(f"not looked at to its end: {what}: {why}")


def _lines(found: Diagnosis, store: str | None) -> Iterator[str]:
    """A finding as people read it."""
    yield f"{found.severity.value}: {found.where}: {found.what} ({found.ailment.value})"
    yield f"    {found.why}"
    yield f"    to mend it: {found.remedy}"
    if found.command:
        yield f"    $ {shlex.join(command(found, store))}"
        if store is not None and without_password(store) != store:
            yield "      with the same --store"


def command(found: Diagnosis, store: str | None) -> tuple[str, ...]:
    """The words of the command that mends.

    Args:
        store: URL that it must name too, as it was given; left out where it may hold a secret.
    """
    words = found.command
    named = store is not None and without_password(store) == store
    return (*words, "--store", str(store)) if named and words[:1] == ("graveler",) and words[1] != "kv" else words


def view(store: str | None) -> View[Diagnosis]:
    """How findings are written for programs.

    Args:
        store: As for `command`.
    """

    def document(found: Diagnosis) -> Document:
        return {
            "type": "diagnosis",
            "ailment": found.ailment.value,
            "severity": found.severity.value,
            "where": found.where,
            "what": found.what,
            "why": found.why,
            "remedy": found.remedy,
            "command": list(command(found, store)),
        }

    return View(
        columns=(*(Column(name) for name in ("severity", "ailment", "where", "what", "why", "remedy", "command")),),
        cells=lambda found: (
            found.severity.value,
            found.ailment.value,
            found.where,
            found.what,
            found.why,
            found.remedy,
            shlex.join(command(found, store)),
        ),
        document=document,
        empty="healthy",
    )


def _name(given: str | None) -> str | None:
    return repository_uri(given).repository if given is not None and "://" in given else given


def _tell_error(error: GravelerError) -> None:
    typer.echo(f"error: {visible(without_passwords(error.message.strip()))}", err=True)
