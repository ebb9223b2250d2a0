"""Protecting branches, and making a repository read-only. Thin, as `repository`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graveler_core.engine import protection
from graveler_core.facade import needs
from graveler_core.facade.handle import Handle
from graveler_core.facade.operation import operation
from graveler_core.model.entities import Repository as RepositoryRecord
from graveler_core.model.permission import Action
from graveler_core.model.protection import DIRECT, protection_rule

Rules = dict[str, tuple[str, ...]]
"""By pattern, what is blocked: "write", "commit", "merge", "force"."""


class Protecting(Handle):
    """The part of a repository that says what may not be done in it."""

    @operation("list protection", needs.repository(Action.GET_BRANCH_PROTECTION))
    def protection(self) -> Rules:
        """The rules that protect branches: what is blocked, by pattern, in order of the patterns."""
        return _rules(self._active())

    @operation("protect", needs.repository(Action.SET_BRANCH_PROTECTION))
    def protect(self, pattern: str, blocks: Iterable[str] = DIRECT) -> Rules:
        """Protect the branches whose names fit a pattern; see `graveler_core.model.protection`. Gives all rules.

        The rule binds every operation that begins afterwards, in all processes.

        Args:
            pattern: As "main", "release-*"; takes the place of the rule that stands under the same pattern.
            blocks: "write" (staging, and discarding what is staged), "commit" (also transactions, cherry-picks,
                transplants, reverts), "merge" (into the branch), "force" (hard reset, deletion). When not given all but
                merges.
        """
        return _rules(protection.protect(self._stores, self.id, protection_rule(pattern, blocks)))

    @operation("unprotect", needs.repository(Action.SET_BRANCH_PROTECTION))
    def unprotect(self, pattern: str) -> Rules:
        """Take away the rule that stands under exactly this pattern. Gives the rules that are left.

        Raises:
            InvalidInput: there is none.
        """
        return _rules(protection.unprotect(self._stores, self.id, pattern))

    @operation("set protection", needs.repository(Action.SET_BRANCH_PROTECTION))
    def set_protection(self, rules: Mapping[str, Iterable[str]]) -> Rules:
        """Put these rules, in the form of `protection()`, in the place of all that stand."""
        checked = [protection_rule(pattern, blocks) for pattern, blocks in rules.items()]
        return _rules(protection.set_protection(self._stores, self.id, checked))

    @property
    @operation("look at read-only", needs.repository(Action.READ_REPOSITORY))
    def read_only(self) -> bool:
        """Whether the repository is read-only now."""
        return self._active().read_only

    @operation("set read-only", needs.repository(Action.UPDATE_REPOSITORY))
    def set_read_only(self, read_only: bool) -> None:
        """Forbid all changes that anybody would see, also deletion; or allow them again.

        Compaction, collection and settings stay possible.
        """
        protection.set_read_only(self._stores, self.id, read_only=read_only)


def _rules(record: RepositoryRecord) -> Rules:
    return {rule.pattern: tuple(map(str, rule.blocks)) for rule in record.protection}
