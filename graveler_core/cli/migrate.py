"""`graveler migrate …`: repositories out of a SQL database into the store, compared and verified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.output import Column, Document, View
from graveler_core.cli.progress import Progress, Work
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import repository_uri
from graveler_core.kv.display import without_password

if TYPE_CHECKING:
    from graveler_core.facade.migrating import MigratedId
    from graveler_core.transfer.migration.report import Amounts, BrokenRow, Difference, Outcome

DIFFERENT = 1
"""Exit code when source and store differ, or not all could be migrated."""
app = typer.Typer(help="Migrate repositories from a SQL database: compare, run, verify.")
From = Annotated[
    str, typer.Argument(metavar="SOURCE", help="postgresql://user:password@host/database or sqlite:///path.")
]
Names = Annotated[
    list[str] | None,
    typer.Option("--repository", metavar="NAME", help="Only this one. May be repeated.", show_default=False),
]


@verb(app, "compare")
def compare(session: Session, source: From, repository: Names = None) -> None:
    """Say how SOURCE and the store differ. Changes nothing. Exit code 1 if they do.

    JSON: a line for each difference, with type ("difference"), repository, entity ("repository", "branch", "tag",
    "commit", "staged"), name, how ("missing" in the store, "surplus" there, "changed"), why. If there are none, one
    document with type ("equal"), from, rows (that were compared).
    """
    with Progress(Work("comparing", unit="rows")) as progress:
        found = session.graveler.compare_with(source, repository or (), progress=progress.advance)
        _tell(session, source, found, progress)


@verb(app, "verify")
def verify(session: Session, source: From, repository: Names = None) -> None:
    """Say how what was migrated differs from SOURCE, contents of commits included. Changes nothing.

    Exit code 1 if it does. JSON as of compare, with the entity "metarange", too.
    """
    with Progress(Work("verifying", unit="rows")) as progress:
        found = session.graveler.verify_against(source, repository or (), progress=progress.advance)
        _tell(session, source, found, progress)


@verb(app, "run")
def run(
    session: Session,
    source: From,
    repository: Names = None,
    boundary_seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="That the trees of SOURCE were cut by.", show_default=True)
    ] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Check everything, write nothing.")] = False,
) -> None:
    """Migrate repositories from SOURCE. What broke off is completed; what is there stays. Exit code 1 if any failed.

    Each repository shows in the store when all of it is there. One with broken rows is not migrated at all. Nobody may
    write to SOURCE meanwhile. What lies in storage namespaces stays where it is.

    JSON: a line for each repository, with type ("repository"), repository, result ("migrated", "would migrate",
    "already there", "broken", "refused"), branches, tags, commits, staged, resumed, broken_rows, error (null, or its
    text); behind it one for each of its first broken rows, with type ("broken row"), repository, table, id, rule.
    """
    with Progress(Work("checking" if dry_run else "migrating", unit="rows")) as progress:
        done = session.graveler.migrate_from(
            source, repository or (), boundary_seed=boundary_seed, dry_run=dry_run, progress=progress.advance
        )
    for outcome in done.outcomes:
        session.out.result(outcome_document(outcome), f"{outcome.repository}: {_said(outcome)}")
        for row in outcome.broken:
            session.out.result(broken_document(outcome, row), f"  {row}")
    if not done.outcomes:
        session.out.say(f"{without_password(source)} has no repositories")
    if not done.good:
        raise typer.Exit(DIFFERENT)


@verb(app, "ids")
def ids(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="REPOSITORY", help="As graveler://flights.")],
) -> None:
    """List the ids that commits of a migrated repository had in its source, and those that they have now.

    JSON: a line for each, with origin, commit_id.
    """
    session.out.rows(session.graveler.migrated_ids(repository_uri(uri).repository), IDS)


def outcome_document(outcome: Outcome) -> Document:
    """What `run` prints of a repository."""
    error = None if outcome.error is None else outcome.error.message
    return {
        "type": "repository",
        "repository": outcome.repository,
        "result": outcome.result.value,
        **amounts_document(outcome.amounts),
        "resumed": outcome.resumed,
        "broken_rows": outcome.broken_rows,
        "error": error,
    }


def amounts_document(amounts: Amounts) -> Document:
    """`branches`, `tags`, `commits`, `staged`."""
    return {
        "branches": amounts.branches,
        "tags": amounts.tags,
        "commits": amounts.commits,
        "staged": amounts.staged,
    }


def broken_document(outcome: Outcome, row: BrokenRow) -> Document:
    """What `run` prints of a broken row."""
    return {
        "type": "broken row",
        "repository": outcome.repository,
        "table": row.table,
        "id": row.id,
        "rule": row.rule,
    }


def difference_document(difference: Difference) -> Document:
    """What `compare` and `verify` print of a difference."""
    return {
        "type": "difference",
        "repository": difference.repository,
        "entity": difference.entity.value,
        "name": difference.name,
        "how": difference.how.value,
        "why": difference.why,
    }


def _tell(session: Session, source: str, found: Iterable[Difference], progress: Progress) -> None:
    """Write the differences as they come; where there are none, say so."""
    waiting = iter(found)
    first = next(waiting, None)
    if first is None:
        shown = without_password(source)
        document = {"type": "equal", "from": shown, "rows": progress.done}
        session.out.result(document, f"equal: {progress.done:,} rows of {shown}")
        return
    session.out.rows(_from(first, waiting), DIFFERENCES)
    raise typer.Exit(DIFFERENT)


def _from(first: Difference, rest: Iterator[Difference]) -> Iterator[Difference]:
    yield first
    yield from rest


def _said(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"{outcome.result}: {outcome.error.message}"
    if outcome.broken_rows:
        return f"{outcome.result}: {outcome.broken_rows:,} rows cannot be migrated, so nothing of it was"
    found = outcome.amounts
    what = (
        f"{found.branches:,} branches, {found.tags:,} tags, {found.commits:,} commits, {found.staged:,} staged records"
    )
    if outcome.result == "already there":
        return f"{outcome.result}"
    return f"{outcome.result} {what}{', resumed' if outcome.resumed else ''}"


def _cells(difference: Difference) -> tuple[str, str, str, str, str]:
    return difference.repository, difference.entity.value, difference.name, difference.how.value, difference.why


DIFFERENCES: View[Difference] = View(
    columns=(
        Column("repository"),
        Column("entity"),
        Column("name", folds=True),
        Column("how", style="red"),
        Column("why", folds=True),
    ),
    cells=_cells,
    document=difference_document,
    empty="no differences",
)
IDS: View[MigratedId] = View(
    columns=(Column("in the source"), Column("commit")),
    cells=lambda item: (item.origin, item.commit_id),
    document=lambda item: {"origin": item.origin, "commit_id": item.commit_id},
    empty="nothing was migrated into it",
)
