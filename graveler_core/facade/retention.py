"""Retention rules of a repository. Every method only delegates to `engine`."""

from __future__ import annotations

from collections.abc import Mapping

from graveler_core.engine.references import retention_rules as stored_rules
from graveler_core.facade.handle import Handle
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.permission import Action
from graveler_core.model.retention import Days, RetentionRules, retention_rules


class RetentionSettings(Handle):
    """Methods of `Repository` that show and set for how long the content of old commits is kept."""

    @operation("show retention", needs.repository(Action.GET_RETENTION))
    def retention(self) -> RetentionRules:
        """Return the retention rules: see `graveler_core.gc.retention` for the commits that they keep.

        Returns:
            The rules. Without rules, content of commits is kept for ever.

        Raises:
            NotFound: the repository has been deleted.
        """
        return stored_rules.versions(self._stores, self._active())[0]

    @operation("list retention", needs.repository(Action.GET_RETENTION))
    def retention_versions(self) -> list[RetentionRules]:
        """Return the current retention rules and the former ones, newest first: who has set them, and when.

        Returns:
            At most 101 versions. Version 0 are the rules that nobody has set.

        Raises:
            NotFound: the repository has been deleted.
        """
        return list(stored_rules.versions(self._stores, self._active()))

    @operation("set retention", needs.repository(Action.SET_RETENTION))
    def set_retention(
        self, days: Days = None, branches: Mapping[str, Days] | None = None, *, if_version: int | None = None
    ) -> RetentionRules:
        """Replace the retention rules, for every collection that begins afterwards. Each change is in `reflog`.

        Args:
            days: Days for which commits are kept on branches that no pattern matches, and commits that no branch
                reaches. `None` means for ever.
            branches: Days by pattern of branch names, such as `{"main": 365, "dev-*": 14}`. `None` means for ever. If
                several patterns match a branch, the longest time counts.
            if_version: Version that the current rules must have. `None` means any.

        Returns:
            The new rules.

        Raises:
            InvalidInput: a pattern or a number of days is not valid, or there are too many patterns.
            Conflict: (`LostRace`) the current rules have another version.
            NotFound: the repository has been deleted.
        """
        rules = retention_rules(days, branches or {})
        principal = self._stores.principal
        by = "" if principal is None else str(principal.user)
        return stored_rules.set_rules(self._stores, self._active(), rules, by, if_version)
