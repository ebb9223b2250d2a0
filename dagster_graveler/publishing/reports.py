"""Reports of checks to the repository, so that the checks that a branch requires are satisfied by Dagster's results."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dagster_graveler.publishing.groups import TableGroup
from dagster_graveler.publishing.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository


def report(repository: Repository, group: TableGroup, verdict: Verdict, commit: str) -> None:
    """Report the checks of a good verdict to the repository, for the commit of the verdict.

    If the group requires its checks, those of unchanged tables are reported too: their content is published already.

    Args:
        repository: The repository.
        group: The group.
        verdict: The verdict.
        commit: Id of the commit.
    """
    for found in verdict.findings:
        message = f"Dagster run {found.run_id}: {found.outcome}"
        accepted = found.outcome is Outcome.PASSED or (found.outcome is Outcome.WARNED and group.warn == "allow")
        repository.report_check(found.table.check_name(found.check), accepted, commit=commit, message=message)
    if group.require:
        for table in group.tables:
            for check in () if table in verdict.changes.tables else table.checks:
                message = f"table {table.name} is unchanged"
                repository.report_check(table.check_name(check), True, commit=commit, message=message)


def require(repository: Repository, group: TableGroup, into: str) -> None:
    """Require the checks of a group of everything that is merged into a branch. Other required checks stay.

    If another process changes the rules meanwhile, they are read again, and the change is repeated.

    Args:
        repository: The repository.
        group: The group.
        into: Name of the branch.
    """
    from graveler_core.errors import Conflict

    own = tuple(f"{table.name}/" for table in group.tables)
    names = {table.check_name(check) for table in group.tables for check in table.checks}
    while True:
        rules = repository.required_checks()
        present = rules.get(into, ())
        wanted = sorted(names | {name for name in present if not name.startswith(own)})
        if wanted == sorted(present):
            return
        with suppress(Conflict):
            repository.require_checks(into, wanted, if_rules=rules)
            return
