"""Commits that one call tried to make the head of a branch, and what is known about their swaps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from graveler_core.engine.protocol.hooks import ToldCommits
from graveler_core.errors import GravelerError, OutcomeUnknown
from graveler_core.model.entities import BranchRecord
from graveler_core.model.ids import CommitId
from graveler_core.model.webhooks import HookEvent


@dataclass
class TriedCommits:
    """Commits that one call tried to make the head of a branch."""

    ids: dict[CommitId, datetime] = field(default_factory=dict)
    """Ids of the commits. The value is a time before the commit was first written."""
    bases: list[CommitId] = field(default_factory=list)
    """Heads on which the call has built, or is about to build."""
    event: HookEvent = HookEvent.PRE_COMMIT
    """Event of the hooks that are called before the swap."""
    told: ToldCommits = field(default_factory=ToldCommits)
    """Commits about which hooks were told: see `protocol.hooks.announced`."""
    unanswered: CommitId | None = None
    """Commit whose swap got no response and may still take effect, or has taken effect since."""
    swapped_from: BranchRecord | None = None
    """Record from which this swap was sent."""

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Raise `OutcomeUnknown` instead of an error that denies any effect, if a swap may still take effect."""
        try:
            yield
        except OutcomeUnknown:
            raise
        except GravelerError as e:
            if self.unanswered is None:
                raise
            raise unknown_outcome(self.unanswered) from e

    def forget_refused(self, branch: BranchRecord) -> None:
        """Forget the swap without a response if another one has come first, so that it can no longer take effect.

        Args:
            branch: Record that was read after the swap was sent, and whose history does not contain the commit.
        """
        sent = self.swapped_from
        if sent is not None and sent.nonce != branch.nonce and (sent.uid, sent.epoch) == (branch.uid, branch.epoch):
            self.unanswered = self.swapped_from = None

    def require_history(self, branch: BranchRecord) -> None:
        """Refuse to swap a branch whose history may no longer show the commit of the swap without a response.

        Raises:
            OutcomeUnknown: The branch was reset, or deleted and created again, since that swap was sent.
        """
        sent = self.swapped_from
        if self.unanswered is not None and sent is not None and (sent.uid, sent.epoch) != (branch.uid, branch.epoch):
            raise unknown_outcome(self.unanswered)


def unknown_outcome(commit: CommitId) -> OutcomeUnknown:
    """Return the error that says that a commit may be the new head."""
    return OutcomeUnknown(
        f"commit {commit}: the store did not confirm that it is the new head, and the history of the branch does not "
        "show it; look for this id in the log of the branch before you repeat the call",
        commit=commit,
    )
