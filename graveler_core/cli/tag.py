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
from graveler_core.cli.uri import HERE, new_ref_uri, ref_in, ref_uri, repository_uri
from graveler_core.cli.views import TAGS, target_of_tag
from graveler_core.documents.versions import tag_document
from graveler_core.errors import InvalidInput
from graveler_core.model.tag_target import TagTarget

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
TargetOption = Annotated[
    TagTarget,
    typer.Option(help="What the tag names: the commit, the tag with the name REF, or the tree of the commit."),
]
SignOption = Annotated[
    str | None, typer.Option("--sign", metavar="KEY", help="Sign the tag with this SSH key: the path of its file.")
]


@verb(app, "create")
def create(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: TagUri,
    ref: Annotated[str, typer.Argument(metavar="REF", help="What to tag: a ref such as main~1, or a URI.")],
    *,
    message: MessageOption = "",
    signature: SignatureOption = "",
    sign: SignOption = None,
    tagger: TaggerOption = "",
    meta: TagMetaOption = None,
    target: TargetOption = TagTarget.COMMIT,
) -> None:
    """Create a tag: a name for a commit, for another tag, or for a tree. Only `tag assign` moves it.

    A tag of a tree names the content of a commit without its history.

    JSON: one document with id, commit_id, message, signature, tagger, metadata, creation_date, target, tree, tagged.
    """
    place = new_ref_uri(uri)
    start = ref_in(place.repository, ref)
    texts: dict[str, Any] = {"message": message, "tagger": tagger, "metadata": pairs("metadata", meta or [])}
    with session.working("creating the tag"):
        repository = session.repository(place)
        if sign is not None:
            start, signature = _signed(repository, place.ref, start, target, signature, sign, texts)
        tag = repository.create_tag(place.ref, start, signature=signature, target=target.value, **texts)
    session.out.result(tag_document(tag), f"tagged {target_of_tag(tag)} as {tag.id}")


@verb(app, "assign")
def assign(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: TagUri,
    ref: Annotated[str, typer.Argument(metavar="REF", help="What to tag: a ref such as main~1, or a URI.")],
    *,
    expected: Annotated[str, typer.Option("--expected", metavar="ID", help="Full id of the commit that it tags now.")],
    message: MessageOption = "",
    signature: SignatureOption = "",
    sign: SignOption = None,
    tagger: TaggerOption = "",
    meta: TagMetaOption = None,
    target: TargetOption = TagTarget.COMMIT,
) -> None:
    """Assign a tag to another commit, if it is still at the expected one. `reset --hard` does the same for a branch.

    Message, signature, tagger and metadata are replaced, because a signature holds for one commit only.

    JSON: one document with id, commit_id, message, signature, tagger, metadata, creation_date, target, tree,
    tagged.
    """
    place = ref_uri(uri)
    start = ref_in(place.repository, ref)
    texts: dict[str, Any] = {"message": message, "tagger": tagger, "metadata": pairs("metadata", meta or [])}
    named: dict[str, Any] = {"expected": expected, "target": target.value}
    with session.working("assigning the tag"):
        repository = session.repository(place)
        if sign is not None:
            start, signature = _signed(repository, place.ref, start, target, signature, sign, texts)
        tag = repository.assign_tag(place.ref, start, signature=signature, **named, **texts)
    session.out.result(tag_document(tag), f"assigned tag {tag.id} to {target_of_tag(tag)}")


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

    JSON: a line for each with id, commit_id, message, signature, tagger, metadata, creation_date, target, tree,
    tagged.
    """
    repository = session.repository(repository_uri(uri))
    session.out.rows(repository.tags(prefix, after, limit, start=start, end=end), TAGS)


@verb(app, "show")
def show(session: Session, uri: TagUri) -> None:
    """Show a tag: its commit and message; with --json also its signature.

    JSON: one document with id, commit_id, message, signature, tagger, metadata, creation_date, target, tree,
    tagged.
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

    JSON: one document with id, commit_id, message, signature, tagger, metadata, creation_date, target, tree,
    tagged; with --allowed-signers also signer.
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
    repository: Repository,
    name: str,
    ref: str,
    target: TagTarget,
    signature: str,
    key: str,
    texts: dict[str, Any],
) -> tuple[str, str]:
    """Return the ref to tag, and the SSH signature of a tag of it. The signature covers the id of the commit."""
    from graveler_core.stores.ssh_signatures import ssh_signature

    if signature:
        raise InvalidInput("--sign and --signature exclude each other: give one of them")
    if target is TagTarget.TAG:
        tagged = repository.tag(ref)
        return ref, ssh_signature(key, name, tagged.commit_id, tagged=tagged, **texts)
    if target is TagTarget.TREE:
        commit = repository.at(ref).commit_id
        return commit, ssh_signature(key, name, commit, tree=repository.at(commit).tree_id(), **texts)
    commit = repository.commit(ref).id
    return commit, ssh_signature(key, name, commit, **texts)
