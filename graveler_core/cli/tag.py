"""`graveler tag …`: create, assign, list, show, verify and delete tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from graveler_core.cli.bounds import AfterName, EndName, Limit, Prefix, StartName
from graveler_core.cli.branch import ExpectedOption
from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.pairs import pairs
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import SHORT_ID
from graveler_core.cli.uri import HERE, new_ref_uri, ref_in, ref_uri, repository_uri
from graveler_core.cli.views import TAGS
from graveler_core.documents.versions import tag_document
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository

app = typer.Typer(name="tag", help="Create, assign, list, show, verify and delete tags.")
TagUri = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/tag")]
MessageOption = Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Message of the tag.")]
SignatureOption = Annotated[str, typer.Option("--signature", metavar="TEXT", help="Signature to store with the tag.")]


TaggerOption = Annotated[str, typer.Option("--tagger", metavar="NAME", help="Person who makes the tag.")]
TagMetaOption = Annotated[
    list[str] | None,
    typer.Option("--meta", metavar="KEY=VALUE", help="Metadata of the tag. May be repeated.", show_default=False),
]
SignOption = Annotated[
    str | None, typer.Option("--sign", metavar="KEY", help="Sign the tag with this SSH key: the path of its file.")
]


@verb(app, "create")
def create(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: TagUri,
    ref: Annotated[str, typer.Argument(metavar="REF", help="Commit to tag: a ref such as main~1, or a URI.")],
    *,
    message: MessageOption = "",
    signature: SignatureOption = "",
    sign: SignOption = None,
    tagger: TaggerOption = "",
    meta: TagMetaOption = None,
) -> None:
    """Create a tag: a name for a commit. Only `tag assign` moves it.

    JSON: one document with id, commit_id, message, signature, tagger, metadata, creation_date.
    """
    target = new_ref_uri(uri)
    start = ref_in(target.repository, ref)
    texts: dict[str, Any] = {"message": message, "tagger": tagger, "metadata": pairs("metadata", meta or [])}
    with session.working("creating the tag"):
        repository = session.repository(target)
        if sign is not None:
            start, signature = _signed(repository, target.ref, start, signature, sign, texts)
        tag = repository.create_tag(target.ref, start, signature=signature, **texts)
    session.out.result(tag_document(tag), f"tagged {tag.commit_id[:SHORT_ID]} as {tag.id}")


@verb(app, "assign")
def assign(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: TagUri,
    ref: Annotated[str, typer.Argument(metavar="REF", help="Commit to tag: a ref such as main~1, or a URI.")],
    *,
    expected: Annotated[str, typer.Option("--expected", metavar="ID", help="Full id of the commit that it tags now.")],
    message: MessageOption = "",
    signature: SignatureOption = "",
    sign: SignOption = None,
    tagger: TaggerOption = "",
    meta: TagMetaOption = None,
) -> None:
    """Assign a tag to another commit, if it is still at the expected one. `reset --hard` does the same for a branch.

    Message, signature, tagger and metadata are replaced, because a signature holds for one commit only.

    JSON: one document with id, commit_id, message, signature, tagger, metadata, creation_date.
    """
    target = ref_uri(uri)
    start = ref_in(target.repository, ref)
    texts: dict[str, Any] = {"message": message, "tagger": tagger, "metadata": pairs("metadata", meta or [])}
    with session.working("assigning the tag"):
        repository = session.repository(target)
        if sign is not None:
            start, signature = _signed(repository, target.ref, start, signature, sign, texts)
        tag = repository.assign_tag(target.ref, start, expected=expected, signature=signature, **texts)
    session.out.result(tag_document(tag), f"assigned tag {tag.id} to {tag.commit_id[:SHORT_ID]}")


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

    JSON: a line for each with id, commit_id, message, signature, tagger, metadata, creation_date.
    """
    repository = session.repository(repository_uri(uri))
    session.out.rows(repository.tags(prefix, after, limit, start=start, end=end), TAGS)


@verb(app, "show")
def show(session: Session, uri: TagUri) -> None:
    """Show a tag: its commit and message; with --json also its signature.

    JSON: one document with id, commit_id, message, signature, tagger, metadata, creation_date.
    """
    target = ref_uri(uri)
    session.out.rows([session.repository(target).tag(target.ref)], TAGS)


@verb(app, "verify")
def verify(
    session: Session,
    uri: TagUri,
    allowed_signers: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Require an SSH signature of one of the signers in this file."),
    ] = None,
) -> None:
    """Verify a tag: its SSH signature, or with the function that GRAVELER_TAG_VERIFIER names.

    The file of allowed signers has the format of ssh-keygen: a principal and a public key in each line. The setting has
    the form module:function. The function rejects a tag by raising an exception.

    JSON: one document with id, commit_id, message, signature, tagger, metadata, creation_date; with --allowed-signers
    also signer.
    """
    target = ref_uri(uri)
    if allowed_signers is not None:
        from graveler_core.stores.ssh_signatures import SshVerifier

        with session.working("verifying the tag"):
            tag = session.repository(target).tag(target.ref)
            signer = SshVerifier(allowed_signers)(tag)
        session.out.result({**tag_document(tag), "signer": signer}, f"tag {tag.id} is signed by {signer}")
        return
    with session.working("verifying the tag"):
        tag = session.repository(target).verify_tag(target.ref)
    session.out.result(tag_document(tag), f"tag {tag.id} is valid")


@verb(app, "delete")
def delete(session: Session, uri: TagUri, expected: ExpectedOption = None, yes: YesOption = False) -> None:
    """Delete a tag. Its commit is kept. With --expected, do so only if the tag is at this commit.

    JSON: one document with deleted (the tag).
    """
    target = ref_uri(uri)
    confirm(f"Delete tag {target.ref} of repository {target.repository}?", yes=yes)
    with session.working("deleting the tag"):
        session.repository(target).delete_tag(target.ref, expected=expected, by=session.committer)
    session.out.result({"deleted": target.ref}, f"deleted tag {target.ref}")


def _signed(  # noqa: PLR0913, PLR0917 - what a signature covers
    repository: Repository, name: str, ref: str, signature: str, key: str, texts: dict[str, Any]
) -> tuple[str, str]:
    """Return the commit of a ref and the SSH signature of a tag of it. The signature covers the id of the commit."""
    from graveler_core.stores.ssh_signatures import ssh_signature

    if signature:
        raise InvalidInput("--sign and --signature exclude each other: give one of them")
    commit = repository.commit(ref).id
    return commit, ssh_signature(key, name, commit, **texts)
