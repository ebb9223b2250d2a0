"""`graveler check …`: report the results of checks, and require checks of what is merged into a branch."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.branch import PatternUri
from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.output import Column, View
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import HERE, ref_uri, repository_uri
from graveler_core.documents.values import Document
from graveler_core.documents.versions import check_document
from graveler_core.errors import Conflict, InvalidInput

if TYPE_CHECKING:
    from graveler_core.facade.checks import CheckRules
    from graveler_core.facade.repository import Repository
    from graveler_core.model.checks import CheckReport

app = typer.Typer(name="check", help="Report the results of checks, and require checks before a merge.")
CheckRule = tuple[str, tuple[str, ...]]
CommitUri = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref: the commit.")]
Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of the checks.")]


@verb(app, "report")
def report(  # noqa: PLR0913, PLR0917 - one verb, most of it options
    session: Session,
    uri: CommitUri,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the check.")],
    passed: Annotated[bool, typer.Option("--passed/--failed", help="Result of the check.", show_default=False)],
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Page with the details.")] = "",
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Short explanation.")] = "",
) -> None:
    """Report that a commit passed or failed a check. The report replaces an earlier report of the same check.

    JSON: one document with name, passed, since, url, message, by.
    """
    target = ref_uri(uri)
    with session.working("reporting the check"):
        made = session.repository(target).report_check(name, passed, commit=target.ref, url=url, message=message)
    session.out.result(check_document(made), f"check {name} {'passed' if passed else 'failed'} on {target.ref}")


@verb(app, "list")
def list_(session: Session, uri: CommitUri) -> None:
    """List the newest report of each check on a commit, by name.

    JSON: a line for each with name, passed, since, url, message, by.
    """
    target = ref_uri(uri)
    session.out.rows(session.repository(target).checks(target.ref).values(), REPORTS)


@verb(app, "require")
def require(session: Session, uri: PatternUri, names: Names = None, *, yes: YesOption = False) -> None:
    """Require that a commit has passed checks before it is merged into the branches that a pattern matches.

    Direct changes of such a branch are refused. A rule with the same pattern is replaced. Without names, the rule is
    removed, after a confirmation.

    JSON: a line for each rule of the repository with type ("required checks"), pattern, checks.
    """
    target = ref_uri(uri)
    if not names:
        confirm(f"Remove the required checks of branches {target.ref} of repository {target.repository}?", yes=yes)
    with session.working("changing the required checks"):
        rules = session.repository(target).require_checks(target.ref, names or [])
    session.out.rows(rules.items(), CHECK_RULES)


@verb(app, "unrequire")
def unrequire(
    session: Session,
    uri: PatternUri,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of the checks.")],
    *,
    yes: YesOption = False,
) -> None:
    """Remove checks from the rule with exactly this pattern, after a confirmation. Its other checks stay required.

    If none is left, the rule is removed, so that branches may be changed directly.

    JSON: a line for each remaining rule with type ("required checks"), pattern, checks.
    """
    target = ref_uri(uri)
    confirm(
        f"Remove {', '.join(names)} from the required checks of branches {target.ref} of repository "
        f"{target.repository}?",
        yes=yes,
    )
    with session.working("changing the required checks"):
        rules = _without(session.repository(target), target.ref, names)
    session.out.rows(rules.items(), CHECK_RULES)


def _without(repository: Repository, pattern: str, names: list[str]) -> CheckRules:
    """Remove checks from a rule. If another process changes the rules meanwhile, they are read again."""
    while True:
        rules = repository.required_checks()
        present = rules.get(pattern, ())
        if unknown := [name for name in names if name not in present]:
            raise InvalidInput(
                f"checks {', '.join(map(repr, unknown))}: not required by the rule {pattern!r} of repository "
                f"{repository.id!r}"
            )
        with suppress(Conflict):
            kept = [name for name in present if name not in names]
            return repository.require_checks(pattern, kept, if_rules=rules)


@verb(app, "required")
def required(session: Session, uri: RepositoryUri = HERE) -> None:
    """List the checks that branches of a repository require, by pattern.

    JSON: a line for each rule with type ("required checks"), pattern, checks.
    """
    session.out.rows(session.repository(repository_uri(uri)).required_checks().items(), CHECK_RULES)


def check_rule_document(rule: CheckRule) -> Document:
    """Return the document of a rule: `type` ("required checks"), `pattern`, `checks`."""
    pattern, checks = rule
    return {"type": "required checks", "pattern": pattern, "checks": list(checks)}


REPORTS: View[CheckReport] = View(
    columns=(
        Column("check", style="bold", folds=True),
        Column("result"),
        Column("by"),
        Column("message", folds=True),
        Column("url", folds=True),
    ),
    cells=lambda made: (made.name, "passed" if made.passed else "failed", made.by, made.message, made.url),
    document=check_document,
    empty="no checks",
)
CHECK_RULES: View[CheckRule] = View(
    columns=(Column("pattern", style="bold", folds=True), Column("checks", people=", ".join, machines=",".join)),
    cells=lambda rule: rule,
    document=check_rule_document,
    empty="no required checks",
)
