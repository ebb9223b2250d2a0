"""Settings of a repository. Every method only delegates to `engine`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graveler_core.engine.references import repository_settings
from graveler_core.engine.references.repository_settings import SettingsAuthor, settings_of
from graveler_core.errors import InvalidInput
from graveler_core.facade.handle import Handle
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.names import branch_id
from graveler_core.model.permission import Action
from graveler_core.model.repository_settings import IndexSizes, RepositorySettings, description


class RepositoryOptions(Handle):
    """Methods of `Repository` that show and change its settings."""

    @operation("show settings", needs.repository(Action.READ_REPOSITORY))
    def settings(self) -> RepositorySettings:
        """Return the settings of the repository as they are now. `metadata` returns its free properties.

        Returns:
            Default branch, description and sizes of indexes; `version` names this state of them.

        Raises:
            NotFound: the repository has been deleted.
        """
        return settings_of(self._active())

    @operation("update settings", needs.repository(Action.UPDATE_REPOSITORY), needs.committer("by"))
    def update_settings(  # noqa: PLR0913 - one call, all of it optional
        self,
        *,
        default_branch: str | None = None,
        description: str | None = None,
        index_sizes: IndexSizes | None = None,
        expected: str | None = None,
        by: str = "",
        message: str = "",
    ) -> RepositorySettings:
        """Change settings of the repository, in one step. Settings that are not given stay. Each change is in `reflog`.

        Args:
            default_branch: Name of an existing branch, which cannot be deleted afterwards.
            description: Text of up to 4 KiB.
            index_sizes: Sizes of the indexes of commits that are made afterwards. `IndexSizes()` means the default.
            expected: Version that the settings must have now, from `settings().version`. `None` accepts any version.
            by: Name of the person who makes the change, for `reflog`.
            message: Reason, for `reflog`.

        Returns:
            The new settings.

        Raises:
            Conflict: (`LostRace`) the settings do not have the expected version. `details` has `expected` and `actual`.
            NotFound: (`BranchNotFound`) the new default branch does not exist.
            InvalidInput: a value is not valid.
            OutcomeUnknown: the settings may have been changed. If others deleted branches during the call, the default
                branch may not exist: check it, and set another one.
        """
        given = _given(default_branch, description, index_sizes)
        author = SettingsAuthor(by, message)
        self._record = repository_settings.update(
            self._stores, self.id, lambda now: replace(now, **given), expected, author
        )
        return settings_of(self._record)


def _given(default_branch: str | None, said: str | None, index_sizes: IndexSizes | None) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if default_branch is not None:
        given["default_branch"] = branch_id(default_branch)
    if said is not None:
        given["description"] = description(said)
    if index_sizes is not None:
        if not isinstance(index_sizes, IndexSizes):
            raise InvalidInput(f"index_sizes {index_sizes!r}: must be IndexSizes(…)")
        given["index_sizes"] = index_sizes
    return given
