"""`graveler repo settings`, `repo metadata`: show and change the settings and the free properties of a repository."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.pairs import pairs
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import HERE, repository_uri
from graveler_core.documents.versions import repository_settings_document
from graveler_core.errors import InvalidInput

app = typer.Typer()
Size = Annotated[
    int | None, typer.Option(metavar="N", help="Size of the indexes of later commits; 0 means the default.")
]


@verb(app, "settings")
def settings(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: RepositoryUri = HERE,
    *,
    default_branch: Annotated[str | None, typer.Option(metavar="NAME", help="New default branch.")] = None,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="New description.")] = None,
    inline_bytes: Size = None,
    object_bytes: Size = None,
    fan_out: Size = None,
    fold_elements: Size = None,
    expected: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Do it only if the settings have this version.")
    ] = None,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Reason, for the reflog.")] = "",
) -> None:
    """Show the settings of a repository, or change some of them in one step.

    The sizes are those of the indexes of later commits: bytes of the inline index and of runs in the key-value store,
    the number of runs that are merged into one, and the number of changes from which they are folded into the
    metarange. Without --expected, the change is made on the settings that this command has read.

    JSON: one document with repository, default_branch, description, index_sizes (those that are set, by name), version.
    """
    from graveler_core.model.repository_settings import IndexSizes

    repository = session.repository(repository_uri(uri))
    asked = {"inline_bytes": inline_bytes, "object_bytes": object_bytes}
    asked |= {"fan_out": fan_out, "fold_elements": fold_elements}
    sizes = {name: value for name, value in asked.items() if value is not None}
    with session.working("reading the settings"):
        now = repository.settings()
        if default_branch is not None or description is not None or sizes:
            merged = {name: value for name, value in {**now.index_sizes.chosen(), **sizes}.items() if value}
            now = repository.update_settings(
                default_branch=default_branch,
                description=description,
                index_sizes=IndexSizes(**merged) if sizes else None,
                expected=expected or now.version,
                by=session.committer,
                message=message,
            )
        elif expected is not None:
            raise InvalidInput("--expected: needs a setting to change")
    document = {"repository": repository.id, **repository_settings_document(now)}
    session.out.document(document)
    for name, value in document.items():
        chosen = " ".join(f"{size}={number}" for size, number in now.index_sizes.chosen().items())
        session.out.say(f"{name}: {(chosen or 'default') if name == 'index_sizes' else value}")


@verb(app, "metadata")
def metadata(
    session: Session,
    uri: RepositoryUri = HERE,
    *,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a property. May be repeated.")
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="Remove a property. May be repeated.")
    ] = None,
) -> None:
    """Show the free properties of a repository, or set and remove some of them in one step.

    JSON: one document with repository, metadata: an object.
    """
    repository = session.repository(repository_uri(uri))
    values = pairs("metadata", set_ or [])
    with session.working("reading the metadata"):
        found = repository.update_metadata(values, remove=unset or []) if values or unset else repository.metadata()
    session.out.document({"repository": repository.id, "metadata": found})
    for key, value in found.items():
        session.out.say(f"{key}: {value}")
