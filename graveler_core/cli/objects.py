"""`graveler ls`, `cat`, `rm`: what is at a ref, and taking it away."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import object_uri, prefix_uri
from graveler_core.cli.views import LISTED

DELIMITER = "/"
Limit = Annotated[int | None, typer.Option("--limit", "-n", metavar="N", min=0, help="At most so many rows.")]


def register(app: typer.Typer) -> None:
    """Add these verbs to the application."""
    for name, function in (("ls", ls), ("cat", cat), ("rm", rm)):
        verb(app, name)(function)


def ls(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref, or with /prefix")],
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Every path, not directories.")] = False,
    after: Annotated[str, typer.Option(metavar="PATH", help="Begin after this path.")] = "",
    limit: Limit = None,
) -> None:
    """List the paths that begin with a prefix, in order of their bytes; on a branch, with what is uncommitted.

    Without -r, the paths of a directory below the prefix are one row that ends in "/".

    JSON: a line for each with type ("object" or "prefix"), path, and for objects size, checksum, mtime, content_type,
    metadata, address, address_type, identity.
    """
    target = prefix_uri(uri)
    delimiter = "" if recursive else DELIMITER
    found = session.at(target).list(prefix=target.path, after=after, delimiter=delimiter, limit=limit)
    session.out.rows(found, LISTED)


def cat(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref/path")],
) -> None:
    """Write an object's bytes to standard output, unchanged. --json changes nothing here."""
    target = object_uri(uri)
    with session.working("reading"):
        content = session.at(target).read(target.path)
    sys.stdout.buffer.write(content)


def rm(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch/path, with -r a prefix")],
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Every path that begins so.")] = False,
) -> None:
    """Remove a path, or with -r all paths that begin with a prefix ("raw/" for a directory). Undone by `reset`.

    JSON: one document with removed (the path or prefix) and recursive.
    """
    target = prefix_uri(uri) if recursive else object_uri(uri)
    with session.working("removing"):
        branch = session.branch(target)
        if recursive:
            branch.remove_prefix(target.path)
        else:
            branch.get(target.path)
            branch.remove(target.path)
    session.out.result({"removed": target.path, "recursive": recursive}, f"removed {target}{'*' if recursive else ''}")
