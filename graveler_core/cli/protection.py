"""`graveler branch protect`, `unprotect`, `protections`, `graveler repo read-only`: what may not be done."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.output import Column, Document, View
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import ref_uri, repository_uri

PatternUri = Annotated[
    str, typer.Argument(metavar="URI", help="graveler://repository/pattern: main, 'release-*', 'v?', '[ab]*'.")
]
Rule = tuple[str, tuple[str, ...]]


def register(branches: typer.Typer, repositories: typer.Typer) -> None:
    """Add these verbs to the groups `branch` and `repo`."""
    verb(branches, "protect")(protect)
    verb(branches, "unprotect")(unprotect)
    verb(branches, "protections")(protections)
    verb(repositories, "read-only")(read_only)


def protect(
    session: Session,
    uri: PatternUri,
    block: Annotated[
        list[str] | None,
        typer.Option("--block", "-b", metavar="WHAT", help="write, commit, merge or force; may be repeated."),
    ] = None,
) -> None:
    """Protect the branches whose names fit a pattern: everything but merges is blocked, or what --block names.

    A rule of the same pattern is replaced.

    JSON: a line for each rule of the repository with type ("protection"), pattern, blocks.
    """
    target = ref_uri(uri)
    with session.working("protecting"):
        repository = session.repository(target)
        rules = repository.protect(target.ref, block) if block else repository.protect(target.ref)
    session.out.rows(rules.items(), RULES)


def unprotect(session: Session, uri: PatternUri) -> None:
    """Take away the rule of exactly this pattern.

    JSON: a line for each rule that is left with type ("protection"), pattern, blocks.
    """
    target = ref_uri(uri)
    with session.working("removing the rule"):
        rules = session.repository(target).unprotect(target.ref)
    session.out.rows(rules.items(), RULES)


def protections(session: Session, uri: RepositoryUri) -> None:
    """List the rules that protect branches of a repository, by pattern.

    JSON: a line for each with type ("protection"), pattern, blocks ("write", "commit", "merge", "force").
    """
    session.out.rows(session.repository(repository_uri(uri)).protection().items(), RULES)


def read_only(
    session: Session,
    uri: RepositoryUri,
    on: Annotated[bool | None, typer.Option("--on/--off", help="Forbid all changes, or allow them again.")] = None,
) -> None:
    """Say whether a repository is read-only, or make it so: nothing that its users see can be changed.

    JSON: one document with repository, read_only.
    """
    repository = session.repository(repository_uri(uri))
    with session.working("reading the repository"):
        if on is not None:
            repository.set_read_only(on)
        now = repository.read_only
    text = f"repository {repository.id} is {'read-only' if now else 'open to changes'}"
    session.out.result({"repository": repository.id, "read_only": now}, text)


def rule_document(rule: Rule) -> Document:
    """`type` ("protection"), `pattern`, `blocks` ("write", "commit", "merge", "force")."""
    pattern, blocks = rule
    return {"type": "protection", "pattern": pattern, "blocks": list(blocks)}


RULES: View[Rule] = View(
    columns=(Column("pattern", style="bold", folds=True), Column("blocks", people=", ".join, machines=",".join)),
    cells=lambda rule: rule,
    document=rule_document,
    empty="no rules",
)
