"""Checks of commits, and the checks that branches require. Thin, as `repository`."""

from __future__ import annotations

from collections.abc import Iterable

from graveler_core.engine.reading import checks as reading
from graveler_core.engine.reading.resolve import resolve_commit
from graveler_core.engine.repositories import check_reports, protection
from graveler_core.errors import InvalidInput
from graveler_core.facade.handle import Handle
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.checks import CheckReport, checked_text
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import MetarangeId
from graveler_core.model.names import content_hash
from graveler_core.model.permission import Action
from graveler_core.model.protection import check_name, required_checks

CheckRules = dict[str, tuple[str, ...]]
"""Names of required checks, by pattern of branch names."""


class Checks(Handle):
    """Methods of `Repository` for checks: their reports, and the branches that require them."""

    @operation("report check", needs.repository(Action.REPORT_CHECK), needs.refs(Action.READ_COMMIT, named=("commit",)))
    def report_check(  # noqa: PLR0913 - one call, most of it optional
        self,
        name: str,
        passed: bool,
        *,
        commit: str | None = None,
        tree: str | None = None,
        url: str = "",
        message: str = "",
    ) -> CheckReport:
        """Report the result of a check on the content of a commit or of a tree.

        A later report of the same check on the same commit or tree replaces this one. A report on a tree holds for
        every commit with exactly this content: use it for content that was checked before it was committed. A report on
        a commit also replaces an earlier report on its tree, for this commit.

        Args:
            name: Name of the check, 1 to 255 printable characters.
            passed: True if the content passed the check.
            commit: Ref expression of the commit that was checked. Give either this or `tree`.
            tree: Id of the tree that was checked, as `Snapshot.tree_id` returns it.
            url: Page with the details.
            message: Short explanation for people.

        Returns:
            The report.

        Raises:
            InvalidInput: an argument is not valid, or not exactly one of `commit` and `tree` is given.
            NotFound: the ref does not name a commit.
        """
        if (commit is None) == (tree is None):
            raise InvalidInput("report of a check: give either a commit or a tree")
        if not isinstance(passed, bool):
            raise InvalidInput(f"passed {passed!r}: must be True or False")
        principal = self._stores.principal
        report = CheckReport(
            name=check_name(name),
            passed=passed,
            since=self._stores.clock.now(),
            url=checked_text("url", url),
            message=checked_text("message", message),
            by="" if principal is None else str(principal.user),
        )
        if tree is not None:
            check_reports.report_on_tree(self._stores, self.id, MetarangeId(content_hash("tree", tree)), report)
        elif commit is not None:
            return check_reports.report_on_commit(self._stores, self.id, commit, report)
        return report

    @operation("list checks", needs.refs(Action.READ_COMMIT))
    def checks(self, ref: str) -> dict[str, CheckReport]:
        """Return the newest report of each check on a commit, including reports on its tree.

        Args:
            ref: Ref expression of the commit.

        Returns:
            Reports by name, in order of the names.

        Raises:
            NotFound: the ref does not name a commit.
            InvalidInput: the expression is not valid.
        """
        repository = self._active()
        return reading.reports_on_commit(self._stores, repository, resolve_commit(self._stores, repository, ref))

    @operation("list required checks", needs.repository(Action.GET_BRANCH_PROTECTION))
    def required_checks(self) -> CheckRules:
        """Return the checks that branches require.

        Returns:
            Names of checks by pattern of branch names, in order of the patterns.

        Raises:
            NotFound: the repository has been deleted.
        """
        return _rules(self._active())

    @operation("require checks", needs.repository(Action.SET_BRANCH_PROTECTION))
    def require_checks(
        self, pattern: str, checks: Iterable[str], *, if_rules: CheckRules | None = None, dry_run: bool = False
    ) -> CheckRules:
        """Require checks of everything that is merged into the branches whose names match a pattern.

        A commit can be merged into such a branch only if the newest report of each required check says that the
        commit, or its tree, has passed. Direct changes of such a branch are refused: writes, commits, hard resets and
        the deletion of the branch. The rule applies to every operation that begins afterwards, in all processes.

        Args:
            pattern: Pattern such as "main" or "release-*". A rule with the same pattern is replaced.
            checks: Names of the checks. No names remove the rule of this pattern.
            if_rules: Rules that the repository must have, in the form of `required_checks()`. `None` means any.
            dry_run: Raise the error that the call would raise now, and change nothing.

        Returns:
            All rules; with `dry_run` as they would be.

        Raises:
            InvalidInput: the pattern or a name is not valid, or there are too many rules.
            Conflict: (`LostRace`) the repository has other rules than `if_rules`.
        """
        rule = required_checks(pattern, checks)

        def expected(now: RepositoryRecord) -> bool:
            return if_rules is None or _rules(now) == if_rules

        return _rules(protection.require_checks(self._stores, self.id, rule, expected, dry_run=dry_run))


def _rules(record: RepositoryRecord) -> CheckRules:
    return {rule.pattern: rule.checks for rule in record.required_checks}
