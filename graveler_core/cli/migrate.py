"""`graveler migrate …`: migrate repositories from a SQL database into the store, compare and verify them.

`migrate_lakefs` and `migrate_nessie` add the commands for lakeFS and Nessie. `complete` completes imports without
indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.output import Column, View
from graveler_core.cli.progress import Progress, ProgressWork
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import repository_uri
from graveler_core.documents.values import Document
from graveler_core.model.counting import counted
from graveler_core.telemetry.secrets import without_password

if TYPE_CHECKING:
    from graveler_core.facade.migration import MigratedId
    from graveler_core.transfer.migration.report import Amounts, BrokenRow, MigrationDifference, MigrationOutcome

DIFFERENT = 1
"""Exit code when source and store differ, or when a repository could not be migrated."""
app = typer.Typer(name="migrate", help="Migrate repositories from lakeFS, from Nessie, or from a SQL database.")
From = Annotated[
    str, typer.Argument(metavar="SOURCE", help="postgresql://user:password@host/database or sqlite:///path.")
]
Names = Annotated[
    list[str] | None,
    typer.Option("--repository", metavar="NAME", help="Only this repository. May be repeated.", show_default=False),
]


@verb(app, "compare")
def compare(session: Session, source: From, repository: Names = None) -> None:
    """List the differences between a SQL database and the store. Changes nothing. Exit code 1 if there are any.

    JSON: a line for each difference with type ("difference"), repository, entity ("repository", "branch", "tag",
    "commit", "staged"), name, how ("missing" in the store, "surplus" there, "changed"), why. If there are none, one
    document with type ("equal"), from, rows (number of rows compared).
    """
    with Progress(ProgressWork("comparing", unit="rows")) as progress:
        found = session.graveler.compare_with(source, repository or (), progress=progress.advance)
        _tell(session, source, found, progress)


@verb(app, "verify")
def verify(session: Session, source: From, repository: Names = None) -> None:
    """List the differences between a SQL database and the migrated repositories, including the contents of commits.

    Changes nothing. Exit code 1 if there are differences. JSON: as for compare, also with the entity "metarange".
    """
    with Progress(ProgressWork("verifying", unit="rows")) as progress:
        found = session.graveler.verify_against(source, repository or (), progress=progress.advance)
        _tell(session, source, found, progress)


@verb(app, "run")
def run(
    session: Session,
    source: From,
    repository: Names = None,
    boundary_seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Boundary seed of the trees in SOURCE.", show_default=True)
    ] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Check everything and write nothing.")] = False,
) -> None:
    """Migrate repositories from a SQL database. Running it again completes an interrupted migration.

    Repositories that exist in the store are not changed. A repository becomes visible in the store when it is complete.
    A repository with broken rows is not migrated. Do not write to SOURCE during the migration. Files in storage
    namespaces are not copied. Exit code 1 if a repository could not be migrated.

    JSON: a line for each repository with type ("repository"), repository, result ("migrated", "would migrate", "already
    there", "broken", "refused"), branches, tags, commits, staged, resumed, broken_rows, error (null or a message);
    after it a line for each of its first broken rows with type ("broken row"), repository, table, id, rule.
    """
    with Progress(ProgressWork("checking" if dry_run else "migrating", unit="rows")) as progress:
        done = session.graveler.migrate_from(
            source, repository or (), boundary_seed=boundary_seed, dry_run=dry_run, progress=progress.advance
        )
    for outcome in done.outcomes:
        session.out.result(outcome_document(outcome), f"{outcome.repository}: {_summary(outcome)}")
        for row in outcome.broken:
            session.out.result(broken_document(outcome, row), f"  {row}")
    if not done.outcomes:
        session.out.say(f"{without_password(source)} contains no repositories")
    if not done.good:
        raise typer.Exit(DIFFERENT)


@verb(app, "ids")
def ids(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="REPOSITORY", help="Repository, such as graveler://flights.")],
) -> None:
    """List the commits of a migrated repository with their ids in the source and in the store.

    JSON: a line for each commit with origin, commit_id.
    """
    session.out.rows(session.graveler.migrated_ids(repository_uri(uri).repository), IDS)


def outcome_document(outcome: MigrationOutcome) -> Document:
    """Return the document of one repository for the output of `run`."""
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


@verb(app, "complete")
def complete(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="REPOSITORY", help="Repository, such as graveler://tables.")],
    *,
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Lines of history to complete at the same time.", show_default=True)
    ] = 4,
) -> None:
    """Complete a repository that was imported without indexes: compute indexes and ids, and make it usable.

    Running the command again continues an interrupted run, and several can run at the same time. Does nothing if the
    repository is complete.

    JSON: one document with repository, commits (completed by this run), earlier_commits.
    """
    name = repository_uri(uri).repository
    with Progress(ProgressWork("completing", unit="commits")) as progress:
        done = session.graveler.complete_migration(name, workers=workers, progress=progress.advance)
    text = (
        f"{name}: completed {counted(done.commits, 'commit')}; {counted(done.earlier_commits, 'was', 'were')} complete"
    )
    session.out.result(asdict(done), text)


def amounts_document(amounts: Amounts) -> Document:
    """Return the document of the size of a repository: `branches`, `tags`, `commits`, `staged`."""
    return {
        "branches": amounts.branches,
        "tags": amounts.tags,
        "commits": amounts.commits,
        "staged": amounts.staged,
    }


def broken_document(outcome: MigrationOutcome, row: BrokenRow) -> Document:
    """Return the document of one broken row for the output of `run`."""
    return {
        "type": "broken row",
        "repository": outcome.repository,
        "table": row.table,
        "id": row.id,
        "rule": row.rule,
    }


def difference_document(difference: MigrationDifference) -> Document:
    """Return the document of one difference for the output of `compare` and `verify`."""
    return {
        "type": "difference",
        "repository": difference.repository,
        "entity": difference.entity.value,
        "name": difference.name,
        "how": difference.how.value,
        "why": difference.why,
    }


def _tell(session: Session, source: str, found: Iterable[MigrationDifference], progress: Progress) -> None:
    """Write the differences as they arrive, or a message that there are none."""
    waiting = iter(found)
    first = next(waiting, None)
    if first is None:
        shown = without_password(source)
        document = {"type": "equal", "from": shown, "rows": progress.done}
        session.out.result(document, f"equal: {counted(progress.done, 'row')} of {shown}")
        return
    session.out.rows(from_first(first, waiting), DIFFERENCES)
    raise typer.Exit(DIFFERENT)


def from_first(first: MigrationDifference, rest: Iterator[MigrationDifference]) -> Iterator[MigrationDifference]:
    """Yield an item that was taken from an iterator, and the rest."""
    yield first
    yield from rest


def _summary(outcome: MigrationOutcome) -> str:
    if outcome.error is not None:
        return f"{outcome.result}: {outcome.error.message}"
    if outcome.broken_rows:
        return (
            f"{outcome.result}: {counted(outcome.broken_rows, 'row is', 'rows are')} broken, so the "
            "repository was not migrated"
        )
    found = outcome.amounts
    what = (
        f"{counted(found.branches, 'branch')}, {counted(found.tags, 'tag')}, {counted(found.commits, 'commit')}, "
        f"{counted(found.staged, 'staged record')}"
    )
    if outcome.result == "already there":
        return f"{outcome.result}"
    return f"{outcome.result} {what}{', resumed' if outcome.resumed else ''}"


def _cells(difference: MigrationDifference) -> tuple[str, str, str, str, str]:
    return difference.repository, difference.entity.value, difference.name, difference.how.value, difference.why


DIFFERENCES: View[MigrationDifference] = View(
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
    empty="no migrated commits",
)
