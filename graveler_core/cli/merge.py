"""`graveler merge`: bring one ref into a branch, or tell what stands in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from graveler_core.cli.commit import Metadata, committed, pairs
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import Uri, ref_uri
from graveler_core.cli.views import CONFLICTS
from graveler_core.errors import Conflict, InvalidInput, Kind

if TYPE_CHECKING:
    from graveler_core.model.changes import Resolved

_RESULTS: dict[str, Resolved] = {"source": "source", "destination": "destination", "remove": None}


def register(app: typer.Typer) -> None:
    """Add this verb to the application."""
    verb(app, "merge")(merge)


def merge(  # noqa: PLR0913 - the command line's own options
    session: Session,
    source: Annotated[str, typer.Argument(metavar="SOURCE_URI", help="graveler://repository/ref")],
    destination: Annotated[str, typer.Argument(metavar="DEST_URI", help="graveler://repository/branch")],
    *,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Else it names both.")] = "",
    meta: Metadata = None,
    strategy: Annotated[
        Literal["source", "destination"] | None, typer.Option(help="Who wins where both changed a path.")
    ] = None,
    resolve: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH=RESULT", help="One path's: source, destination or remove; may be repeated."),
    ] = None,
    squash: Annotated[
        bool, typer.Option("--squash/--no-squash", help="In one commit, or repeat the source's commits.")
    ] = True,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Even if nothing changes.")] = False,
    allow_unrelated: Annotated[
        bool, typer.Option("--allow-unrelated", help="Even if the two have no common commit.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the conflicts.")] = False,
) -> None:
    """Merge a ref into a branch of the same repository. Conflicts are listed one a line; then nothing is changed.

    With --no-squash the source's commits are repeated one by one, each with its own message; the branch moves once,
    past all of them. With --dry-run all conflicts are listed, whatever the strategy would decide.

    JSON: one document with id, message, committer, creation_date, parents, metadata, generation; on conflict a line for
    each (at most the first thousand) with type ("conflict"), path, kind ("added in both", "changed in both", "removed
    in source", "removed in destination"), base, source, destination.
    """
    sides = ref_uri(source), ref_uri(destination)
    if sides[0].repository != sides[1].repository:
        raise InvalidInput(f"URI {destination!r}: must name the same repository as the source", kind=Kind.InvalidUrl)
    if dry_run:
        _list_conflicts(session, *sides)
        return
    options: dict[str, Any] = {"message": message, "strategy": strategy, "squash": squash}
    options |= {"metadata": pairs("metadata", meta or []), "resolve": _resolutions(resolve or [])}
    _merge(session, *sides, options | {"allow_empty": allow_empty, "allow_unrelated": allow_unrelated})


def _merge(session: Session, source: Uri, destination: Uri, options: dict[str, Any]) -> None:
    committer = session.committer
    try:
        with session.working("merging"):
            made = session.repository(destination).merge(source.ref, destination.ref, committer=committer, **options)
    except Conflict as e:
        if e.kind is Kind.MergeConflict:
            session.out.rows(e.details.get("conflicts", ()), CONFLICTS)
        raise
    committed(session, made, f"merging {source.ref} into {destination.ref}")


def _list_conflicts(session: Session, source: Uri, destination: Uri) -> None:
    session.out.rows(session.repository(destination).conflicts(source.ref, destination.ref), CONFLICTS)


def _resolutions(given: list[str]) -> dict[str, Resolved]:
    found: dict[str, Resolved] = {}
    for path, result in pairs("resolution", given, last=True).items():
        if result not in _RESULTS:
            raise InvalidInput(f"resolution of {path!r}: {result!r} is none of {', '.join(_RESULTS)}")
        found[path] = _RESULTS[result]
    return found
