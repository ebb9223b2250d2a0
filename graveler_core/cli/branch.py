"""`graveler branch …`: create, list, show, delete, undelete and protect branches."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.bounds import AfterName, EndName, Limit, Prefix, StartName
from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.output import Column, View
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import SHORT_ID
from graveler_core.cli.uri import HERE, new_ref_uri, ref_in, ref_uri, repository_uri
from graveler_core.cli.views import BRANCHES
from graveler_core.documents.values import Document
from graveler_core.documents.versions import branch_document

app = typer.Typer(name="branch", help="Create, list, show, delete and undelete branches.")
PatternUri = Annotated[
    str, typer.Argument(metavar="URI", help="graveler://repository/pattern: main, 'release-*', 'v?', '[ab]*'.")
]
Rule = tuple[str, tuple[str, ...]]
ExpectedOption = Annotated[
    str | None,
    typer.Option("--expected", metavar="ID", help="Do it only if the branch or tag is at this commit: its full id."),
]
BranchUri = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch")]


@verb(app, "create")
def create(
    session: Session,
    uri: BranchUri,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            "-s",
            metavar="REF",
            help="Ref at which it starts: main~1, or a URI. Default: the default branch.",
        ),
    ] = None,
) -> None:
    """Create a branch. No data is copied.

    JSON: one document with id, commit_id.
    """
    target = new_ref_uri(uri)
    start = ref_in(target.repository, source) if source is not None else None
    with session.working("creating the branch"):
        repository = session.repository(target)
        branch = repository.create_branch(target.ref, source=start or repository.default_branch)
        record = branch.record()
    text = f"created branch {target.ref} at {record.commit_id[:SHORT_ID]}"
    session.out.result(branch_document(record), text)


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
    """List the branches of a repository with their head commits, sorted by name.

    JSON: a line for each with id, commit_id.
    """
    repository = session.repository(repository_uri(uri))
    session.out.rows(repository.branches(prefix, after, limit, start=start, end=end), BRANCHES)


@verb(app, "show")
def show(session: Session, uri: BranchUri) -> None:
    """Show a branch: its head commit. `graveler status` shows its uncommitted changes.

    JSON: one document with id, commit_id.
    """
    session.out.rows([session.branch(ref_uri(uri)).record()], BRANCHES)


@verb(app, "delete")
def delete(
    session: Session,
    uri: BranchUri,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Reason, for the reflog.")] = "",
    expected: ExpectedOption = None,
    yes: YesOption = False,
) -> None:
    """Delete a branch and its uncommitted changes. `graveler branch undelete` brings back the branch and its commits.

    With --expected, do so only if the branch is at this commit.

    JSON: one document with deleted (the branch).
    """
    target = ref_uri(uri)
    confirm(f"Delete branch {target.ref} of repository {target.repository} and its uncommitted changes?", yes=yes)
    with session.working("deleting the branch"):
        session.repository(target).delete_branch(target.ref, expected=expected, by=session.committer, message=message)
    session.out.result({"deleted": target.ref}, f"deleted branch {target.ref}")


@verb(app, "undelete")
def undelete(session: Session, uri: BranchUri) -> None:
    """Undelete a branch at its last head, without its uncommitted changes.

    JSON: one document with id, commit_id.
    """
    target = ref_uri(uri)
    with session.working("undeleting the branch"):
        record = session.repository(target).undelete_branch(target.ref).record()
    session.out.result(branch_document(record), f"undeleted branch {target.ref} at {record.commit_id[:SHORT_ID]}")


@verb(app, "protect")
def protect(
    session: Session,
    uri: PatternUri,
    block: Annotated[
        list[str] | None,
        typer.Option(
            "--block", "-b", metavar="WHAT", help="Operation to block: write, commit, merge or force. May be repeated."
        ),
    ] = None,
) -> None:
    """Protect the branches whose names match a pattern.

    The operations given with --block are refused; by default, all except merge. A rule with the same pattern is
    replaced.

    JSON: a line for each rule of the repository with type ("protection"), pattern, blocks.
    """
    target = ref_uri(uri)
    with session.working("protecting"):
        repository = session.repository(target)
        rules = repository.protect(target.ref, block) if block else repository.protect(target.ref)
    session.out.rows(rules.items(), RULES)


@verb(app, "unprotect")
def unprotect(session: Session, uri: PatternUri, yes: YesOption = False) -> None:
    """Remove the protection rule with exactly this pattern.

    JSON: a line for each remaining rule with type ("protection"), pattern, blocks.
    """
    target = ref_uri(uri)
    confirm(f"Remove the protection of branches {target.ref} of repository {target.repository}?", yes=yes)
    with session.working("removing the rule"):
        rules = session.repository(target).unprotect(target.ref)
    session.out.rows(rules.items(), RULES)


@verb(app, "protections")
def protections(session: Session, uri: RepositoryUri = HERE) -> None:
    """List the protection rules of a repository, sorted by pattern.

    JSON: a line for each rule with type ("protection"), pattern, blocks ("write", "commit", "merge", "force").
    """
    session.out.rows(session.repository(repository_uri(uri)).protection().items(), RULES)


def rule_document(rule: Rule) -> Document:
    """Return the document of a rule: `type` ("protection"), `pattern`, `blocks` ("write", "commit", "merge",
    "force")."""
    pattern, blocks = rule
    return {"type": "protection", "pattern": pattern, "blocks": list(blocks)}


RULES: View[Rule] = View(
    columns=(Column("pattern", style="bold", folds=True), Column("blocks", people=", ".join, machines=",".join)),
    cells=lambda rule: rule,
    document=rule_document,
    empty="no rules",
)
