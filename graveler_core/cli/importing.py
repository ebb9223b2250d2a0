"""`graveler import`: entries for objects that lie in an object store already, in one commit."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from graveler_core.cli.commit import Metadata, pairs
from graveler_core.cli.output import Document
from graveler_core.cli.progress import Progress, Work
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import SHORT_ID, bytes_for_people
from graveler_core.cli.uri import Uri, prefix_uri
from graveler_core.errors import GravelerError, InvalidInput, Kind

if TYPE_CHECKING:
    from graveler_core.facade.importing import Imported

_SHOWN = 10
"""Keys that people are shown which cannot be imported."""

Globs = Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Only such keys; may be repeated.")]


def register(app: typer.Typer) -> None:
    """Add the verb to the application."""
    verb(app, "import")(import_place)


def import_place(  # noqa: PLR0913 - the command line's own options
    session: Session,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A directory, or a URI as s3://bucket/raw.")],
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch/directory")],
    *,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Else it names the source.")] = "",
    meta: Metadata = None,
    mode: Annotated[
        Literal["add", "replace"], typer.Option(help="Keep what the directory holds besides, or replace all of it.")
    ] = "add",
    include: Globs = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="No such keys; may be repeated.")] = None,
    inventory: Annotated[
        str | None,
        typer.Option(metavar="FILES", help="Parquet files that list the objects, instead of asking for them."),
    ] = None,
    single: Annotated[bool, typer.Option("--object", help="SOURCE is one object, and URI its path.")] = False,
    skip_invalid: Annotated[bool, typer.Option("--skip-invalid", help="Leave out keys that are no paths.")] = False,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Even if nothing changes.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    key: Annotated[str, typer.Option(metavar="KEY", help="Names this call: repeated, it gives the same commit.")] = "",
) -> None:
    """Import everything below a place of an object store into a branch, in one commit, copying nothing.

    The objects stay where they are, and must not be changed from then on. What is staged on the branch stays staged.
    In globs `*` and `?` stay within a name, `**` does not.

    JSON: one document with id (null for a dry run), repeated (an earlier call of the key made the commit), added,
    changed, removed (paths), objects, size (bytes), markers (of directories, left out), unmatched (left out by globs),
    invalid (left out), examples (of those: key, rule).
    """
    target = prefix_uri(uri)
    options: dict[str, Any] = {"message": message, "metadata": pairs("metadata", meta or []), "dry_run": dry_run}
    options |= {"committer": session.committer, "idempotency_key": key, "allow_empty": allow_empty}
    options |= {"mode": mode, "include": include or (), "exclude": exclude or (), "skip_invalid": skip_invalid}
    if single and inventory is not None:
        raise InvalidInput("--object: does not go with --inventory")
    with Progress(Work("listing", None, "objects")) as progress:
        options |= {"progress": progress.advance}
        try:
            done = _imported(session, (source, single, inventory), target, options)
        except GravelerError as e:
            _tell_invalid(session, e)
            raise
    session.out.result(imported_document(done), _said(target, done))


def _imported(session: Session, given: tuple[str, bool, str | None], target: Uri, options: dict[str, Any]) -> Imported:
    source, single, inventory = given
    repository = session.repository(target)
    if inventory is not None:
        return repository.import_inventory(_uri(inventory), _uri(source), target.ref, target.path, **options)
    if not single:
        return repository.import_prefix(_uri(source), target.ref, target.path, **options)
    if not target.path or target.path.endswith("/"):
        return repository.import_objects([_uri(source)], target.ref, target.path, **options)
    return repository.import_objects({target.path: _uri(source)}, target.ref, **options)


def _tell_invalid(session: Session, error: GravelerError) -> None:
    if error.kind is Kind.InvalidPath:
        for invalid in error.details.get("invalid", ())[:_SHOWN]:
            session.out.say(f"{invalid.key!r}: {invalid.rule}")


def imported_document(imported: Imported) -> Document:
    """What an import did."""
    counts = {} if imported.changes is None else asdict(imported.changes)
    invalid = [asdict(example) for example in imported.examples]
    return {
        "id": None if imported.commit is None else imported.commit.id,
        "repeated": imported.changes is None,
        **{kind: counts.get(kind) for kind in ("added", "changed", "removed")},
        "objects": imported.objects,
        "size": imported.size,
        "markers": imported.markers,
        "unmatched": imported.unmatched,
        "invalid": imported.invalid,
        "examples": invalid,
    }


def _said(target: Uri, done: Imported) -> str:
    if done.changes is None:
        assert done.commit is not None  # noqa: S101 - what was repeated was committed
        return f"imported before, as {done.commit.id[:SHORT_ID]}"
    changes = f"+{done.changes.added:,} ~{done.changes.changed:,} -{done.changes.removed:,}"
    found = f"{done.objects:,} objects, {bytes_for_people(done.size)}"
    left = [(done.markers, "markers of directories"), (done.unmatched, "unmatched"), (done.invalid, "invalid")]
    out = "".join(f"; left out {count:,} {what}" for count, what in left if count)
    if done.commit is None:
        return f"would import {found} to {target} ({changes}){out}"
    return f"imported {found} to {target} as {done.commit.id[:SHORT_ID]} ({changes}){out}"


def _uri(source: str) -> str:
    return source if "://" in source else Path(source).absolute().as_uri()
