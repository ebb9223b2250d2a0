"""`graveler diagnostics`, `doctor`: collect diagnostic data of a store, and find problems."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.output import Column, Shape, View
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import time_for_people
from graveler_core.cli.uri import repository_uri
from graveler_core.documents.text import visible
from graveler_core.documents.upkeep import data_checked_document
from graveler_core.documents.values import Document
from graveler_core.errors import GravelerError, InvalidInput
from graveler_core.model.counting import counted
from graveler_core.telemetry.secrets import without_password, without_passwords

if TYPE_CHECKING:
    from graveler_core.diagnostics.doctor.diagnosis import DataChecked, Diagnosis, Examined

PROBLEM_FOUND = 1
"""Exit code when a problem was found."""
INCOMPLETE = 2
"""Exit code when no problem was found, but the examination is incomplete."""
BudgetOption = Annotated[
    float, typer.Option(metavar="SECONDS", help="Time limit. Parts that are missing because of it are named.")
]
RepositoryOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Examine only the store and this repository: flights or graveler://flights."),
]


app = typer.Typer()


@verb(app, "diagnostics")
def diagnostics(
    session: Session,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="New .zip file. Default: a name with the time, in the working directory.",
        ),
    ] = None,
    budget: BudgetOption = 60.0,
    repository: RepositoryOption = None,
    with_user_data: Annotated[
        bool, typer.Option("--with-user-data", help="Include messages and committers of heads, and removed prefixes.")
    ] = False,
) -> None:
    """Write an archive with counts, states, layers, pressure, versions and settings, for support.

    Changes nothing. The archive contains names of repositories and branches, but no secrets, paths, contents or
    messages.

    JSON: one document with path, sections (number of sections), errors (number of items that could not be read),
    incomplete (names of sections).
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
    session.out.result(document, f"wrote {counted(written.sections, 'section')} to {written.path}{missing}")


@verb(app, "doctor")
def doctor(
    session: Session,
    *,
    deep: Annotated[bool, typer.Option("--deep", help="Read all stored data, like fsck --deep.")] = False,
    budget: BudgetOption = 60.0,
    repository: RepositoryOption = None,
) -> None:
    """Find problems, and show for each its consequence and the command that repairs it. Changes nothing.

    Exit code 0 if everything was examined and no problem was found, 1 if a problem was found, 2 if no problem was found
    but not everything could be examined.

    JSON: a line for each finding with type ("diagnosis"), ailment, severity ("critical", "warning", "notice"), where,
    what, why, remedy, command (a list of words); then a line for each part that was not fully examined, with type
    ("unseen"), what, why; then for each repository a line with type ("data check"), repository, sizes and checksums
    (the last complete check of content by `fsck --data` and `--checksums`: an object with began, problems; or null),
    unfinished (time, or null).
    """
    name = _name(repository)
    try:
        with session.working("examining"):
            examined = session.graveler.doctor(budget=budget, repository=name, deep=deep)
    except InvalidInput:
        raise
    except GravelerError as e:
        _tell_error(e)
        raise typer.Exit(INCOMPLETE) from e
    _show(session, examined)
    if examined.found:
        raise typer.Exit(PROBLEM_FOUND)
    if examined.unseen:
        raise typer.Exit(INCOMPLETE)


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
        out.say(f"not fully examined: {what}: {why}")
    for checked in examined.checked:
        out.document(data_checked_document(checked))
        if out.shape is Shape.TABLE:
            out.say(_last_checked(checked))


def _last_checked(checked: DataChecked) -> str:
    """Return the line of text that says when data was last checked."""
    parts = []
    for what, last in (("existence and size", checked.sizes), ("checksums", checked.checksums)):
        problems = f" ({counted(last.problems, 'problem')})" if last is not None and last.problems else ""
        parts.append(f"{what} {'never' if last is None else f'{time_for_people(last.began)}{problems}'}")
    more = f"; unfinished since {time_for_people(checked.unfinished)}" if checked.unfinished else ""
    return f"graveler://{checked.repository}: data last checked: {', '.join(parts)}{more}"


def _lines(found: Diagnosis, store: str | None) -> Iterator[str]:
    """Yield the lines of text that describe a finding."""
    yield f"{found.severity.value}: {found.where}: {found.what} ({found.ailment.value})"
    yield f"    {found.why}"
    yield f"    to repair it: {found.remedy}"
    if found.command:
        yield f"    $ {shlex.join(command(found, store))}"
        if store is not None and without_password(store) != store:
            yield "      with the same --store"


def command(found: Diagnosis, store: str | None) -> tuple[str, ...]:
    """Return the words of the command that repairs the problem.

    Args:
        found: The problem.
        store: URL given with --store, which is added to the command unless it may contain a secret.
    """
    words = found.command
    named = store is not None and without_password(store) == store
    return (*words, "--store", str(store)) if named and words[:1] == ("graveler",) and words[1] != "kv" else words


def view(store: str | None) -> View[Diagnosis]:
    """Return the view of findings for programs.

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
