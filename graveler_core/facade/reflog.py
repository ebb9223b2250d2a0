"""The reflog of a repository, and its maintenance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from graveler_core.engine.references import mending as reference_mending
from graveler_core.engine.references import reflog
from graveler_core.engine.references import trimming as reference_trimming
from graveler_core.engine.references.reflog import EventBounds
from graveler_core.engine.references.trimming import Trimmed
from graveler_core.facade.handle import Handle
from graveler_core.facade.listing import Listing
from graveler_core.gc.heads import HeadCheck, check_heads
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.ids import CommitId
from graveler_core.model.permission import Action
from graveler_core.model.references import EventKind, ReferenceEvent, ReferenceType


@dataclass(frozen=True, slots=True)
class ReflogEntry:
    """An event of a branch or tag."""

    time: datetime
    kind: EventKind
    """Kind of event: created, deleted, assigned (a hard reset) or moved."""
    type: ReferenceType
    """Type of the reference: branch or tag."""
    name: str
    before: CommitId | None
    after: CommitId | None
    by: str
    """Name of the person who made the change; "" if it was not given, as for the message."""
    message: str
    token: str
    """Token that resumes the reflog after this event: `reflog(after=…)`."""


class Reflog(Handle):
    """Events of branches and tags."""

    @operation("reflog", needs.repository(Action.LIST_BRANCHES, Action.LIST_TAGS))
    def reflog(
        self,
        name: str | None = None,
        after: str = "",
        limit: int | None = None,
        *,
        start: str = "",
        end: str = "",
    ) -> Listing[ReflogEntry]:
        """List events of branches and tags, newest first, lazily: creations, deletions and hard resets.

        With a name, also list the newest moves of the branches that have or had it: eight of each branch.

        Without a name, events of this handle and deletions by any process are always included. A creation or a hard
        reset by another process may be missing until that process has written its event in the background. This
        usually takes milliseconds, and longer while the process drops a large layer or runs index maintenance. If
        the process dies before, the event is missing until something else happens to the branch or tag.

        Args:
            name: List only events of branches and tags that have or had this name. `None` means all names.
            after: Token of an event. List only older events.
            limit: Maximum number of events. `None` means all.
            start: Token of an event. List only this event and older ones (inclusive).
            end: Token of an event. List only newer events (exclusive). "" means no end; an end that is not older than
                `start` gives an empty listing.

        Returns:
            A listing of events.

        Raises:
            InvalidInput: an argument is not valid.
            CorruptData: the log is damaged; `details["commit"]` names the damaged commit. Branches and tags remain
            usable; `mend_reflog` repairs the log.
        """
        within = EventBounds(after, start, end)
        if name is not None:
            reflog.require_name(name)
        return Listing(self._events(name, within), lambda entry: entry.token, limit)

    @operation("check references", needs.repository(Action.CHECK_REPOSITORY))
    def check_references(self) -> Iterator[HeadCheck]:
        """Check that the heads of all branches, and their newest earlier heads, can be read. Lazy.

        This lists the storage namespace and reads the nodes of each head. `fsck` checks all data.

        Yields:
            The result for each head.

        Raises:
            NotFound: the repository has been deleted.
        """
        return check_heads(self._stores, self._active())

    @operation("mend reflog", needs.repository(Action.MAINTAIN_REPOSITORY))
    def mend_reflog(self) -> bool:
        """Reset the log of branches and tags to its newest commit that is not damaged, or to an empty log if there is
        none. Remove damaged events that are not in the log yet.

        Creations, deletions and hard resets since that commit are lost. The branches and tags themselves are not
        changed. Events that their records remember are logged again at the next change of the branch or tag. If the
        damaged event was a deletion, it is missing from reflogs, and an undeletion of the branch takes an earlier
        deletion of the same name, if there is one.

        Returns:
            True if the log was reset, did not contain all earlier commits, or had damaged events; false if nothing was
            damaged.

        Raises:
            CorruptData: the record that names the newest commit of the log is damaged.
        """
        return reference_mending.mend(self._stores, self._active())

    @operation("trim reflog", needs.repository(Action.MAINTAIN_REPOSITORY))
    def trim_reflog(self, keep: int = 100) -> Trimmed:
        """Rewrite the log of branches and tags, so that it is stored in fewer commits. Its events do not change. Within
        a day after the last rewrite, nothing is done.

        Args:
            keep: Number of commits to keep, at least 1. Older commits are merged into the oldest of them. If an
                older commit is missing or damaged, only the commits after it are kept, which contain all events.

        Returns:
            Number of commits that were combined with the oldest one that was kept, and number of deleted commits that
            the log had not contained for a day.

        Raises:
            InvalidInput: `keep` is less than 1.
            CorruptData: the newest commit of the log is damaged; `mend_reflog` repairs it.
        """
        return reference_trimming.trim(self._stores, self._active(), keep)

    def _events(self, name: str | None, within: EventBounds) -> Iterator[ReflogEntry]:
        repository = self._active()
        if name is None:
            found = reflog.events(self._stores, repository, within)
        else:
            found = reflog.of_name(self._stores, repository, name, within)
        yield from map(_entry, found)


def _entry(event: ReferenceEvent) -> ReflogEntry:
    said = (event.time, event.kind, event.type, event.name, event.before, event.after, event.by, event.message)
    return ReflogEntry(*said, token=event.id)
