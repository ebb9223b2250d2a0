"""Branch protection, and read-only repositories. Every method only delegates to `engine`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graveler_core.engine.repositories import protection
from graveler_core.facade.handle import Handle
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.permission import Action
from graveler_core.model.protection import DIRECT, protection_rule

ProtectionRules = dict[str, tuple[str, ...]]
"""Blocked kinds of operations ("write", "commit", "merge", "force"), by pattern of branch names."""


class Protection(Handle):
    """Methods of `Repository` that forbid operations in it."""

    @operation("list protection", needs.repository(Action.GET_BRANCH_PROTECTION))
    def protection(self) -> ProtectionRules:
        """Return the protection rules of branches.

        Returns:
            Blocked kinds of operations by pattern, in order of the patterns.

        Raises:
            NotFound: the repository has been deleted.
        """
        return _rules(self._active())

    @operation("protect", needs.repository(Action.SET_BRANCH_PROTECTION))
    def protect(self, pattern: str, blocks: Iterable[str] = DIRECT) -> ProtectionRules:
        """Protect the branches whose names match a pattern; see `graveler_core.model.protection`.

        The rule applies to every operation that begins afterwards, in all processes.

        Args:
            pattern: Pattern such as "main" or "release-*". A rule with the same pattern is replaced.
            blocks: Kinds of operations to block: "write" (staging and discarding staged changes), "commit" (also
            transactions, cherry-picks, transplants and reverts), "merge" (into the branch), "force" (hard reset and
            deletion). Default: all but "merge".

        Returns:
            All rules.

        Raises:
            InvalidInput: the pattern or a kind of operation is not valid.
        """
        return _rules(protection.protect(self._stores, self.id, protection_rule(pattern, blocks)))

    @operation("unprotect", needs.repository(Action.SET_BRANCH_PROTECTION))
    def unprotect(self, pattern: str) -> ProtectionRules:
        """Remove the rule with exactly this pattern.

        Args:
            pattern: Pattern of the rule.

        Returns:
            The remaining rules.

        Raises:
            InvalidInput: there is no such rule.
        """
        return _rules(protection.unprotect(self._stores, self.id, pattern))

    @operation("set protection", needs.repository(Action.SET_BRANCH_PROTECTION))
    def set_protection(
        self, rules: Mapping[str, Iterable[str]], *, if_rules: ProtectionRules | None = None
    ) -> ProtectionRules:
        """Replace all rules.

        Args:
            rules: New rules, in the form of `protection()`.
            if_rules: Rules that the repository must have. `None` means any.

        Returns:
            All rules.

        Raises:
            InvalidInput: a pattern or a kind of operation is not valid.
            Conflict: (`LostRace`) the repository has other rules than `if_rules`.
        """
        checked = [protection_rule(pattern, blocks) for pattern, blocks in rules.items()]

        def expected(now: RepositoryRecord) -> bool:
            return if_rules is None or _rules(now) == if_rules

        return _rules(protection.set_protection(self._stores, self.id, checked, expected))

    @property
    @operation("look at read-only", needs.repository(Action.READ_REPOSITORY))
    def read_only(self) -> bool:
        """True if the repository is read-only now."""
        return self._active().read_only

    @operation("set read-only", needs.repository(Action.UPDATE_REPOSITORY))
    def set_read_only(self, read_only: bool) -> None:
        """Forbid all visible changes of the repository, including its deletion, or allow them again.

        Compaction, garbage collection and changes of settings remain possible.

        Args:
            read_only: True to forbid changes.

        Raises:
            NotFound: the repository has been deleted.
        """
        protection.set_read_only(self._stores, self.id, read_only=read_only)


def _rules(record: RepositoryRecord) -> ProtectionRules:
    return {rule.pattern: tuple(map(str, rule.blocks)) for rule in record.protection}
