"""`graveler ls`, `stat`, `cat`, `rm`: list, show, read and remove objects."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from graveler_core.cli.bounds import AfterPath, EndPath, Limit, StartPath
from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.output import Shape
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import object_uri, prefix_uri
from graveler_core.cli.views import LISTED
from graveler_core.documents.versions import listed_document
from graveler_core.errors import Kind, NotFound

DELIMITER = "/"


app = typer.Typer()


@verb(app, "ls")
def ls(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref, or with /prefix")],
    *,
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="List every path instead of directories.")
    ] = False,
    start: StartPath = "",
    end: EndPath = None,
    after: AfterPath = "",
    limit: Limit = None,
) -> None:
    """List the paths that begin with a prefix, in byte order. On a branch, include uncommitted changes.

    Without -r, each directory below the prefix is one row that ends in "/". With --from, --to and --after, a directory
    is listed if one of its paths is within these bounds. After a directory itself, none of its paths is listed.

    JSON: a line for each row with type ("object" or "prefix"), path, and for objects size, checksum, mtime,
    content_type, metadata, address, address_type, identity.
    """
    target = prefix_uri(uri)
    delimiter = "" if recursive else DELIMITER
    found = session.at(target).list(target.path, after, delimiter, limit, start=start, end=end)
    session.out.rows(found, LISTED)


@verb(app, "stat")
def stat(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref/path")],
) -> None:
    """Show all properties of one object. On a branch, include uncommitted changes.

    JSON: one document as for `ls`, with uri: the physical URI of the content, null if the entry contains it.
    """
    target = object_uri(uri)
    at = session.at(target)
    entry = at.get(target.path)
    document = {**listed_document(entry), "uri": at.uri(target.path) if entry.data is None else None}
    if session.out.shape is Shape.JSON:
        session.out.document(document)
        return
    for name, value in document.items():
        if value not in (None, "", {}) and name != "type":
            session.out.say(
                f"{name}: {', '.join(f'{k}={v}' for k, v in value.items()) if name == 'metadata' else value}"
            )


@verb(app, "cat")
def cat(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref/path")],
) -> None:
    """Write the content of an object to standard output. --json has no effect."""
    target = object_uri(uri)
    session.at(target).download(target.path, sys.stdout.buffer)


@verb(app, "rm")
def rm(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch/path, with -r a prefix")],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Remove every path that begins with the prefix.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Remove a path, or with -r all paths that begin with a prefix ("raw/" for a directory).

    The removal is staged. Before a commit, `reset` brings back the content of the last commit, but no content that was
    never committed.

    JSON: one document with removed (the path or prefix) and recursive.
    """
    target = prefix_uri(uri) if recursive else object_uri(uri)
    if recursive:
        confirm(f"Remove all paths that begin with {target}?", yes=yes)
    with session.working("removing"):
        branch = session.branch(target)
        if recursive:
            if not any(branch.list(target.path, limit=1)):
                text = f"prefix {target.path!r} at {target.ref!r}: there are no paths below it"
                raise NotFound(text, kind=Kind.PathNotFound)
            branch.remove_prefix(target.path)
        else:
            branch.get(target.path)
            branch.remove(target.path)
    session.out.result({"removed": target.path, "recursive": recursive}, f"removed {target}{'*' if recursive else ''}")
