"""Reports of checks to the repository, so that the checks that a branch requires are satisfied by Dagster's results.

A branch may require checks that a publication does not evaluate: those of its unchanged tables, of tables of another
group, and of tables that were removed from a group or renamed. A commit with a good verdict changes nothing outside of
the changed tables. It therefore passes the checks of all other tables, if their paths are known. The URL of a report
of a publication tells the path and the group of a table. A check whose table is not known, such as one that people
report, is never reported here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, starmap
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from dagster_graveler.publishing.groups import GroupTable, TableGroup
from dagster_graveler.publishing.instructions import of_other_group, unreported
from dagster_graveler.publishing.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository

_MARK = "#graveler-table="
"""Text between the path and the group in the URL of a report. Reports of people with other URLs tell no table."""
_MERGES = 100
"""Number of merges whose reports are read, the newest first."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Place of a table in the published branch: its path, and the name of its group."""

    path: str
    group: str

    def meets(self, path: str) -> bool:
        """Return true if one of two tables lies in the other one, or both have the same path."""
        own, other = f"{self.path}/", f"{path}/"
        return own.startswith(other) or other.startswith(own)


@dataclass(frozen=True, slots=True)
class CheckReports:
    """Reports about a commit that is to be merged into a branch, because its verdict is good."""

    repository: Repository
    group: TableGroup
    verdict: Verdict
    commit: str
    into: str

    def report(self) -> None:
        """Report the checks of the changed tables, and of all others if the group requires its checks."""
        for found in self.verdict.findings:
            message = f"Dagster run {found.run_id}: {found.outcome}"
            accepted = found.outcome is Outcome.PASSED or (
                found.outcome is Outcome.WARNED and self.group.warn == "allow"
            )
            self._report(found.table.check_name(found.check), accepted, message, self._place(found.table))
        if self.group.require:
            for name, place in self._own.items():
                self._report_unchanged(name, place)

    def report_missing(self, missing: Collection[str]) -> bool:
        """Report required checks of tables that the commit does not change. Remove those of former tables of the group.

        A check of a former table is removed from the rule of the branch if the group requires its checks, and another
        table of the group has the path now, or the branch has no data there. Rules that hold for other branches, too,
        stay, because these may have data there.

        Args:
            missing: Names of the required checks for which there is no report.

        Returns:
            True if a further attempt of the merge can have another result.
        """
        places = self._places(missing)
        gone = {name for name, place in places.items() if self._is_gone(name, place)}
        reported = [self._report_unchanged(name, place) for name, place in places.items() if name not in gone]
        own = gone & {*self.repository.required_checks().get(self.into, ())}
        if own:
            self._change(lambda rules: {self.into: {*rules.get(self.into, ())} - own})
        return bool(own) or any(reported)

    def reasons(self, missing: Collection[str]) -> list[str]:
        """Return the reasons why required checks are missing for which `report_missing` could do nothing.

        Args:
            missing: Names of the checks.
        """
        others = {name: place for name, place in self._places(missing).items() if place.group != self.group.name}
        told = [of_other_group(name, place.path, place.group) for name, place in others.items()]
        if unknown := set(missing) - others.keys():
            told.append(unreported(self.group, self.repository.id, self._requiring(unknown)))
        return told

    @property
    def adds_to_rule(self) -> bool:
        """True if `require` would change the rule of the branch."""
        return not self._own.keys() <= set(self.repository.required_checks().get(self.into, ()))

    def require(self, *, dry_run: bool = False) -> None:
        """Require the checks of the group of everything that is merged into the branch. Other required checks stay.

        The first merge comes before, so that a check is required only if the branch has a report of it. Publications of
        other groups read the place of the table there.

        Args:
            dry_run: Raise the error that the change would raise now, and change nothing.
        """
        self._change(lambda rules: {self.into: {*rules.get(self.into, ()), *self._own}}, dry_run=dry_run)

    @property
    def _own(self) -> dict[str, _Place]:
        """Places of the tables of the group, by names of checks."""
        return {table.check_name(check): self._place(table) for table in self.group.tables for check in table.checks}

    def _place(self, table: GroupTable) -> _Place:
        return _Place(table.path, self.group.name)

    def _places(self, names: Collection[str]) -> dict[str, _Place]:
        """Return the places of the tables of checks: those of the group, and of the newest reports of publications."""
        found = {name: place for name, place in self._own.items() if name in names}
        for merge in islice(self.repository.log(self.into, first_parent=True), _MERGES):
            if len(found) == len(names):
                break
            for source in merge.parents[1:]:
                for name, made in self.repository.checks(source).items():
                    place = _told_place(made.url, self._root)
                    if place is not None and name in names:
                        found.setdefault(name, place)
        return found

    def _is_gone(self, name: str, place: _Place) -> bool:
        """Return true if a check was one of the group, and is not any more."""
        if not self.group.require or place.group != self.group.name or name in self._own:
            return False
        has_data = any(True for _ in self.repository.at(self.into).list(f"{place.path}/", limit=1))
        return not has_data or any(place.meets(table.path) for table in self.group.tables)

    def _report_unchanged(self, name: str, place: _Place) -> bool:
        """Report a check of a table, if the commit does not change the table. Return true if it was reported."""
        if any(place.meets(table.path) for table in self.verdict.changes.tables):
            return False
        self._report(name, True, f"table at path {place.path} is unchanged", place)
        return True

    def _report(self, name: str, passed: bool, message: str, place: _Place) -> None:
        url = f"{self._root}{place.path}{_MARK}{quote(place.group)}"
        self.repository.report_check(name, passed, commit=self.commit, message=message, url=url)

    @property
    def _root(self) -> str:
        return f"graveler://{self.repository.id}/{self.into}/"

    def _requiring(self, names: set[str]) -> dict[str, list[str]]:
        """Return the checks of the rules that require any of some checks of the branch, by pattern."""
        from graveler_core.errors import PermissionDenied

        found: dict[str, list[str]] = {}
        with suppress(PermissionDenied):  # a run that may merge need not be allowed to read the rules
            rules = self._matching(self.repository.required_checks())
            found = {pattern: sorted(checks & names) for pattern, checks in rules.items() if checks & names}
        return found or {self.into: sorted(names)}

    def _matching(self, rules: Mapping[str, tuple[str, ...]]) -> dict[str, set[str]]:
        """Return the names of checks of the rules that hold for the branch, by pattern."""
        from graveler_core.model.names import branch_id
        from graveler_core.model.protection import required_checks, requiring

        found = requiring(starmap(required_checks, rules.items()), branch_id(self.into))
        return {rule.pattern: set(rule.checks) for rule in found}

    def _change(
        self, wanted: Callable[[Mapping[str, tuple[str, ...]]], Mapping[str, set[str]]], *, dry_run: bool = False
    ) -> None:
        """Change rules, one after the other.

        If another process changes the rules meanwhile, they are read again, and the rest of the change is made.

        Args:
            wanted: Function that returns the new names of checks by pattern, for the present rules.
            dry_run: Only check the change of a rule.
        """
        from graveler_core.errors import Conflict

        while True:
            rules = self.repository.required_checks()
            changed = {pattern: names for pattern, names in wanted(rules).items() if names != {*rules.get(pattern, ())}}
            with suppress(Conflict):
                for pattern, names in changed.items():
                    rules = self.repository.require_checks(pattern, sorted(names), if_rules=rules, dry_run=dry_run)
                return


def _told_place(url: str, root: str) -> _Place | None:
    """Return the place of a table that the URL of a report tells, or `None`."""
    path, _, group = url.removeprefix(root).rpartition(_MARK)
    return _Place(path, unquote(group)) if url.startswith(root) and path and group else None
