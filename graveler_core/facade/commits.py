"""All commits of a repository, whatever leads to them. Thin, as `repository`."""

from __future__ import annotations

from graveler_core.facade import needs
from graveler_core.facade.handle import Handle
from graveler_core.facade.history import CommitRecord, header_record
from graveler_core.facade.listing import Listing
from graveler_core.facade.operation import operation
from graveler_core.model.names import prefix_key
from graveler_core.model.permission import Action
from graveler_core.objects.commits import scan_headers
from graveler_core.refs.childless import not_first_parents


class Commits(Handle):
    """The part of a repository that goes through its commits by id."""

    @operation("list commits", needs.repository(Action.LIST_COMMITS))
    def commits(
        self, after: str = "", limit: int | None = None, *, not_first_parent: bool = False
    ) -> Listing[CommitRecord]:
        """All commits of the repository in order of their ids, lazily.

        Also those that no branch and no tag leads to: of deleted branches, or of calls that lost a race.

        Args:
            after: A commit's id; only those behind it.
            not_first_parent: Only those that are not the first parent of any commit: where lines of history end. That
                takes a scan of all headers for each million of commits before the first is given, and again to go on
                from an `after`: see `graveler_core.refs.childless`.
        """
        prefix_key(after)
        listed = not_first_parents if not_first_parent else scan_headers
        found = listed(self._stores.kv, self._active(), after=after)
        return Listing((header_record(id, header) for id, header in found), lambda commit: commit.id, limit)
