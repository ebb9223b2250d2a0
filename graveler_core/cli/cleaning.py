"""`graveler clean`, `graveler repo undelete`: remove leftovers permanently, and restore a deleted repository."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli import repo
from graveler_core.cli.deleted import CALL, cleaned_document, cleaned_text, tell_failures
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.spans import span
from graveler_core.cli.uri import repository_uri
from graveler_core.documents.versions import repository_document

app = typer.Typer()


@verb(app, "clean")
def clean(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[
        str | None, typer.Argument(metavar="[URI]", help="graveler://repository. Default: the whole store.")
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only report what would be removed.")] = False,
    undelete_within: Annotated[
        str, typer.Option(metavar="TIME", help="Keep repositories that were deleted within this time: 7d, 36h, 90m.")
    ] = "7d",
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Maximum number of items to examine.")] = None,
    after: Annotated[str | None, typer.Option(metavar="TOKEN", help="Continue after a run that --limit ended.")] = None,
) -> None:
    """Remove permanently what deleted repositories, crashes and committed layers left behind. Keeps everything in use.

    It may be run at any time, also concurrently with other work. Exit code 1 if an item failed; the other items are
    still removed.

    JSON: one document with dry_run; removed: repositories, deletions, layers, rows, files, records, keys, counters,
    claims; left: waiting, late, contested, failed; failures (pairs of item and reason); next (the token for --after, or
    null).
    """
    from graveler_core.engine.cleaning import Cleaned

    name = None if uri is None else repository_uri(uri).repository
    within = span("--undelete-within", undelete_within)
    done, left = Cleaned(dry_run=dry_run), limit
    with session.working("cleaning") as progress:
        while True:
            step = session.graveler.clean(
                undelete_within=within,
                dry_run=dry_run,
                repository=name,
                limit=CALL if left is None else min(CALL, left),
                after=after,
                progress=progress.advance,
            )
            done, after = done.plus(step), step.next
            left = None if limit is None else limit - progress.done
            if after is None or (left is not None and left <= 0):
                break
    session.out.result(cleaned_document(done), cleaned_text(done))
    tell_failures(session, done)


@verb(repo.app, "undelete")
def undelete(
    session: Session,
    uri: RepositoryUri,
    uid: Annotated[
        str | None, typer.Option(metavar="UID", help="Uid of the repository. Default: the one that was deleted last.")
    ] = None,
) -> None:
    """Restore a deleted repository with its branches, tags, commits and uncommitted changes.

    This is possible until `graveler clean` removes its data, by default a week after the deletion. `repo list
    --deleted` lists the deleted repositories.

    JSON: one document with id, storage_namespace, default_branch, creation_date.
    """
    name = repository_uri(uri).repository
    with session.working("restoring the repository"):
        restored = session.graveler.undelete_repository(name, uid=uid)
    session.out.result(repository_document(restored), f"restored repository {name}")
