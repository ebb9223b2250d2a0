"""`graveler repo …`: create, list and delete repositories."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import repository_uri
from graveler_core.cli.views import REPOSITORIES, repository_document

app = typer.Typer(help="Create, list and delete repositories.")
RepositoryUri = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository")]


@verb(app, "create")
def create(
    session: Session,
    uri: RepositoryUri,
    storage_namespace: Annotated[
        str | None,
        typer.Option(metavar="URI", help="Where its data goes, else below the storage root of the settings."),
    ] = None,
    default_branch: Annotated[str, typer.Option(metavar="NAME", help="Name of its first branch.")] = "main",
) -> None:
    """Create a repository with an empty default branch.

    JSON: one document with id, storage_namespace, default_branch, creation_date.
    """
    name = repository_uri(uri).repository
    namespace = storage_namespace or f"{session.settings.data.rstrip('/')}/{name}"
    committer = session.committer
    with session.working("creating the repository"):
        created = session.graveler.create_repository(
            name, namespace, default_branch=default_branch, committer=committer
        )
    text = f"created repository {name} with branch {default_branch} in {created.storage_namespace}"
    session.out.result(repository_document(created), text)


@verb(app, "list")
def list_(session: Session) -> None:
    """List the repositories of the store, by name.

    JSON: a line for each with id, storage_namespace, default_branch, creation_date.
    """
    session.out.rows(session.graveler.list_repositories(), REPOSITORIES)


@verb(app, "delete")
def delete(
    session: Session, uri: RepositoryUri, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Delete a repository with all its branches, tags and commits. On a terminal it asks first.

    JSON: one document with deleted (the name).
    """
    name = repository_uri(uri).repository
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Delete repository {name} and everything in it?", abort=True, err=True)
    with session.working("deleting the repository"):
        session.graveler.delete_repository(name)
    session.out.result({"deleted": name}, f"deleted repository {name}")
