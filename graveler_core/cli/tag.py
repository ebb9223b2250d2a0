"""`graveler tag …`: create, list, show, verify and delete tags."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.bounds import AfterName, EndName, Limit, Prefix, StartName
from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import SHORT_ID
from graveler_core.cli.uri import HERE, new_ref_uri, ref_in, ref_uri, repository_uri
from graveler_core.cli.views import TAGS
from graveler_core.documents.versions import tag_document

app = typer.Typer(name="tag", help="Create, list, show, verify and delete tags.")
TagUri = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/tag")]


@verb(app, "create")
def create(
    session: Session,
    uri: TagUri,
    ref: Annotated[str, typer.Argument(metavar="REF", help="Commit to tag: a ref such as main~1, or a URI.")],
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Message of the tag.")] = "",
    signature: Annotated[
        str, typer.Option("--signature", metavar="TEXT", help="Signature to store with the tag.")
    ] = "",
) -> None:
    """Create a tag: a name for a commit that does not move.

    JSON: one document with id, commit_id, message, signature.
    """
    target = new_ref_uri(uri)
    start = ref_in(target.repository, ref)
    with session.working("creating the tag"):
        tag = session.repository(target).create_tag(target.ref, start, message=message, signature=signature)
    session.out.result(tag_document(tag), f"tagged {tag.commit_id[:SHORT_ID]} as {tag.id}")


@verb(app, "list")
def list_(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: RepositoryUri = HERE,
    *,
    prefix: Prefix = "",
    start: StartName = "",
    end: EndName = None,
    after: AfterName = "",
    limit: Limit = None,
) -> None:
    """List the tags of a repository, sorted by name.

    JSON: a line for each with id, commit_id, message, signature.
    """
    repository = session.repository(repository_uri(uri))
    session.out.rows(repository.tags(prefix, after, limit, start=start, end=end), TAGS)


@verb(app, "show")
def show(session: Session, uri: TagUri) -> None:
    """Show a tag: its commit and message; with --json also its signature.

    JSON: one document with id, commit_id, message, signature.
    """
    target = ref_uri(uri)
    session.out.rows([session.repository(target).tag(target.ref)], TAGS)


@verb(app, "verify")
def verify(session: Session, uri: TagUri) -> None:
    """Verify a tag with the function that GRAVELER_TAG_VERIFIER names.

    The setting has the form module:function. The function rejects a tag by raising an exception.

    JSON: one document with id, commit_id, message, signature.
    """
    target = ref_uri(uri)
    with session.working("verifying the tag"):
        tag = session.repository(target).verify_tag(target.ref)
    session.out.result(tag_document(tag), f"tag {tag.id} is valid")


@verb(app, "delete")
def delete(session: Session, uri: TagUri, yes: YesOption = False) -> None:
    """Delete a tag. Its commit is kept.

    JSON: one document with deleted (the tag).
    """
    target = ref_uri(uri)
    confirm(f"Delete tag {target.ref} of repository {target.repository}?", yes=yes)
    with session.working("deleting the tag"):
        session.repository(target).delete_tag(target.ref, by=session.committer)
    session.out.result({"deleted": target.ref}, f"deleted tag {target.ref}")
