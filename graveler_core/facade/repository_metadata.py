"""Metadata of a repository. Every method only delegates to `engine`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graveler_core.engine.repositories import metadata
from graveler_core.errors import InvalidInput
from graveler_core.facade.handle import Handle
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.permission import Action
from graveler_core.model.repository_metadata import repository_metadata


class MetadataSettings(Handle):
    """Methods of `Repository` that show and change its metadata."""

    @operation("show metadata", needs.repository(Action.READ_REPOSITORY))
    def metadata(self) -> dict[str, str]:
        """Return the metadata of the repository: texts by key, which users choose.

        Returns:
            The metadata, in order of the keys. Empty if none was ever set.

        Raises:
            NotFound: the repository has been deleted.
        """
        return metadata.metadata(self._stores, self._active())

    @operation("update metadata", needs.repository(Action.UPDATE_REPOSITORY))
    def update_metadata(self, values: Mapping[str, str] | None = None, *, remove: Iterable[str] = ()) -> dict[str, str]:
        """Set some keys of the metadata, and remove others, in one step. Other keys stay.

        Args:
            values: New values by key.
            remove: Keys to remove. A key that does not exist is ignored, and one that is also in `values` is set.

        Returns:
            All metadata, in order of the keys.

        Raises:
            InvalidInput: a key or a value is not text, a key is empty, or there is too much metadata.
            NotFound: the repository has been deleted.
        """
        checked = repository_metadata(values or {})
        return metadata.update_metadata(self._stores, self._active(), checked, _keys(remove))


def _keys(given: Iterable[str]) -> list[str]:
    if isinstance(given, str):
        raise InvalidInput(f"remove {given!r}: must be a list of keys")
    return list(given)
