"""`graveler clean`, `graveler repo undelete`: removing for good what deletions left, and taking a deletion back."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.deleted import CALL, cleaned_document, cleaned_text, tell_failures
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.spans import span
from graveler_core.cli.uri import repository_uri
from graveler_core.cli.views import repository_document


def register(app: typer.Typer, repositories: typer.Typer) -> None:
    """Add these verbs to the application and to the group `repo`."""
    verb(app, "clean")(clean)
    verb(repositories, "undelete")(undelete)


def clean(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[str | None, typer.Argument(metavar="[URI]", help="graveler://repository; else the store.")] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be removed.")] = False,
    undelete_within: Annotated[
        str, typer.Option(metavar="TIME", help="Leave repositories that were deleted so lately: 7d, 36h, 90m.")
    ] = "7d",
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Look at so many things at most.")] = None,
    after: Annotated[str | None, typer.Option(metavar="TOKEN", help="Go on where a limit ended.")] = None,
) -> None:
    """Remove for good what deleted repositories, crashes and committed layers left behind. Touches nothing in use.

    May be run at any time, beside anything. Exit code 1 if something failed; the rest is done all the same.

    JSON: one document with dry_run; removed: repositories, deletions, layers, rows, files, records, keys, counters,
    claims; left: waiting, late, contested, failed; failures (pairs of what and why); next (the token, or null).
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


def undelete(
    session: Session,
    uri: RepositoryUri,
    uid: Annotated[str | None, typer.Option(metavar="UID", help="Which one; else the one deleted last.")] = None,
) -> None:
    """Bring back a deleted repository with its branches, tags, commits and what is uncommitted.

    Possible until a cleaner takes it, a week after the deletion unless said otherwise; see `repo list --deleted`.

    JSON: one document with id, storage_namespace, default_branch, creation_date.
    """
    name = repository_uri(uri).repository
    with session.working("restoring the repository"):
        restored = session.graveler.undelete_repository(name, uid=uid)
    session.out.result(repository_document(restored), f"restored repository {name}")
