"""`graveler retention …`: show and set for how long the content of old commits is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.output import Column, View
from graveler_core.cli.pairs import pairs
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import time_for_people
from graveler_core.cli.uri import HERE, repository_uri
from graveler_core.documents.upkeep import retention_document
from graveler_core.documents.values import time_for_machines
from graveler_core.errors import InvalidInput
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.model.retention import Days, RetentionRules

FOREVER = "forever"
app = typer.Typer(name="retention", help="Show and set for how long the content of old commits is kept.")


@verb(app, "show")
def show(
    session: Session,
    uri: RepositoryUri = HERE,
    versions: Annotated[bool, typer.Option("--versions", help="Also show the former rules.")] = False,
) -> None:
    """Show the retention rules of a repository, and who has set them.

    JSON: a line with type ("retention"), days (null for ever), branches (days by pattern), version, since, by (user);
    with --versions also such a line for each former version, newest first.
    """
    repository = session.repository(repository_uri(uri))
    session.out.rows(repository.retention_versions() if versions else [repository.retention()], VERSIONS)


@verb(app, "set")
def set_rules(
    session: Session,
    uri: RepositoryUri,
    *,
    days: Annotated[
        str,
        typer.Option(metavar="DAYS", help=f"Days for all branches without a rule of their own, or {FOREVER!r}."),
    ] = FOREVER,
    branch: Annotated[
        list[str] | None,
        typer.Option(
            "--branch", "-b", metavar="PATTERN=DAYS", help="Days for the branches that a pattern matches; repeatable."
        ),
    ] = None,
    if_version: Annotated[
        int | None, typer.Option(metavar="N", help="Change the rules only if they have this version.")
    ] = None,
) -> None:
    """Replace the retention rules of a repository.

    Collections (`graveler gc --data`) delete the content of commits that no rule keeps. The heads of branches and all
    tags are always kept. Without any option, the content of all commits is kept for ever. `graveler du` with
    --retention shows what a rule would delete.

    JSON: a line for the new rules, as for `retention show`.
    """
    given = {pattern: _days(f"--branch {pattern}", text) for pattern, text in pairs("--branch", branch or []).items()}
    with session.working("setting the rules"):
        rules = session.repository(repository_uri(uri)).set_retention(
            _days("--days", days), given, if_version=if_version
        )
    session.out.rows([rules], VERSIONS)


def _days(option: str, text: str) -> Days:
    if text == FOREVER:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise InvalidInput(f"{option}: {text!r} must be a number of days, or {FOREVER!r}")
    return int(text)


def _rules(rules: RetentionRules) -> str:
    """Return all rules in one cell."""
    named = {**rules.branches, "all other branches": rules.days}
    return ", ".join(f"{name}: {FOREVER if days is None else counted(days, 'day')}" for name, days in named.items())


VERSIONS: View[RetentionRules] = View(
    columns=(
        Column("version", people=str, right=True),
        Column("since", people=time_for_people, machines=time_for_machines),
        Column("by", folds=True),
        Column("rules", people=_rules, machines=_rules, folds=True),
    ),
    cells=lambda rules: (rules.version, rules.since, rules.by, rules),
    document=retention_document,
    empty="",
)
