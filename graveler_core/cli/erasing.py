"""`graveler erase`, `erasures`: delete the content of paths in all history, and list what was deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.output import Column, View
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import bytes_for_people, first_line, time_for_people
from graveler_core.cli.uri import repository_uri
from graveler_core.documents.erasing import erased_document, erasure_document
from graveler_core.documents.values import time_for_machines
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.erasure.report import Erased
    from graveler_core.model.erasure import Erasure

app = typer.Typer()


@verb(app, "erase")
def erase(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: RepositoryUri,
    paths: Annotated[list[str] | None, typer.Argument(metavar="[PATH]...", help="Paths in the repository.")] = None,
    *,
    why: Annotated[str, typer.Option(metavar="TEXT", help="Reason, which readers of the content see.")],
    prefix: Annotated[str | None, typer.Option(metavar="PREFIX", help="Erase all paths that begin with this.")] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Also erase content to which other paths or repositories refer.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only report what would be erased.")] = False,
    yes: YesOption = False,
) -> None:
    """Delete the content of paths in all history and on all branches. This cannot be undone.

    Branches lose the paths by a commit. Older commits keep their ids and show the paths, and reading the content there
    reports the erasure. After an interruption, run the same command again, or `graveler gc --data`.

    JSON: one document with dry_run, erasure (its id), prefix, paths, objects, size (bytes), commits (documents with
    branch, commit), naming (number of commits that have the paths). With --dry-run also entries, and what would refuse
    the erasure: shared, inline, outside (lists of texts).
    """
    from graveler_core.model.erasure import erasure_rule

    target, rule = repository_uri(uri), erasure_rule(paths or None, prefix)
    confirm(f"Erase the content of {rule} in all history of repository {target.repository}?", yes=yes or dry_run)
    with session.working("erasing") as progress:
        done = session.repository(target).erase(
            paths or None,
            prefix=prefix,
            why=why,
            shared=shared,
            dry_run=dry_run,
            committer=session.committer,
            progress=progress.advance,
        )
    objects = f"{counted(done.objects, 'object')}, {bytes_for_people(done.size)}"
    session.out.result(erased_document(done), f"{'would erase' if dry_run else 'erased'} {objects}")
    _tell(session, done)


def _tell(session: Session, done: Erased) -> None:
    for branch, commit in done.commits:
        session.out.say(f"removed the paths from {branch}: commit {commit}")
    if done.naming:
        session.out.say(
            f"{counted(done.naming, 'commit still shows', 'commits still show')} the paths, without the content"
        )
    for what, entries in (
        ("refused unless --shared is given: the content is also used by", done.shared),
        ("refused: the content is inside the entry", done.inline),
        ("refused: the content is not managed by this repository:", done.outside),
    ):
        for entry in entries:
            session.out.say(f"{what} {entry}")


@verb(app, "erasures")
def erasures(session: Session, uri: RepositoryUri) -> None:
    """List the erasures of a repository, oldest first.

    JSON: a line for each erasure with id, state ("erasing", "deleting", "done", "withdrawn"), prefix, paths, why, by,
    shared, since, ended, objects, size (bytes).
    """
    session.out.rows(session.repository(repository_uri(uri)).erasures(), ERASURES)


ERASURES: View[Erasure] = View(
    columns=(
        Column("since", people=time_for_people, machines=time_for_machines),
        Column("state"),
        Column("objects", people="{:,}".format, right=True),
        Column("size", people=bytes_for_people, right=True),
        Column("what", folds=True),
        Column("by", folds=True),
        Column("why", people=first_line, folds=True),
    ),
    cells=lambda e: (e.since, e.state.value, e.objects, e.size, str(e.rule), e.by, e.why),
    document=erasure_document,
    empty="no erasures",
)
