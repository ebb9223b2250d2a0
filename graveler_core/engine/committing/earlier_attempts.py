"""Earlier attempts of a call: the commits that it tried to make the head of a branch, what is known about their swaps,
and the search for them in the history of the branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from graveler_core.engine.committing.draft import Draft, begin_operation, begun_operation
from graveler_core.engine.protocol.hooks import ToldCommits
from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import CorruptData, GravelerError, NotFound, OutcomeUnknown
from graveler_core.model.clock import Clock, Instant
from graveler_core.model.entities import BranchRecord, Commit
from graveler_core.model.ids import CommitId
from graveler_core.model.webhooks import HookEvent
from graveler_core.objects.build_time import require_in_time
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.ancestry import first_parents
from graveler_core.stores import Registers, Stores


@dataclass
class TriedCommits:
    """Commits that one call tried to make the head of a branch."""

    begun: Instant
    """Moment before the call wrote anything."""
    ids: set[CommitId] = field(default_factory=set)
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

    def require_in_time(self, clock: Clock, commit: CommitId) -> None:
        """Refuse to write a commit, or to make it the head, if the call has taken too long. Raises `SlowDown`."""
        require_in_time(clock, self.begun, f"commit {commit}")

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


def find_by_key(stores: Stores, registers: Registers, draft: Draft, *, read_only: bool = False) -> StoredCommit | None:
    """Return the commit of an earlier call under the draft's idempotency key, from the chain of the branch's head.

    Register the key if it is new, unless `read_only` is true.

    Raises:
        InvalidInput: The key was used on another branch.
    """
    key = draft.idempotency_key
    if not key:
        return None
    floor = begun_operation(stores, registers, key) if read_only else begin_operation(stores, registers, key)
    if floor is None:
        return None
    existed: Callable[[StoredCommit], bool] | None = None
    for commit in first_parents_of(stores, registers, registers.branch.commit_id):
        if commit.header.idempotency_key == key:
            return commit
        if commit.id == floor:
            return None
        existed = existed or _contained_in(_readable(first_parents_of(stores, registers, floor)))
        if existed(commit):  # the branch was reset since the key was registered
            return None
    return None


def _contained_in(chain: Iterator[StoredCommit]) -> Callable[[StoredCommit], bool]:
    """Return a function that returns true for commits of a chain of first parents.

    The function must be called with commits in descending order of their generations.
    """
    at = next(chain, None)

    def contains(commit: StoredCommit) -> bool:
        nonlocal at
        while at is not None and at.header.generation > commit.header.generation:
            at = next(chain, None)
        return at is not None and at.id == commit.id

    return contains


def _readable(chain: Iterator[StoredCommit]) -> Iterator[StoredCommit]:
    """Yield commits up to the first one that cannot be read. A hard reset may have left a damaged history."""
    with suppress(NotFound, CorruptData):
        yield from chain


def find_tried(stores: Stores, registers: Registers, tried: TriedCommits) -> StoredCommit | None:
    """Return the newest commit that this call tried, from the chain of the branch's head down to the lowest base.

    After a hard reset, a base can be lower than the head when the call began.
    """
    floor = min(header_of(stores, registers, base).generation for base in tried.bases)
    for commit in first_parents_of(stores, registers, registers.branch.commit_id):
        if commit.header.generation <= floor:
            break
        if commit.id in tried.ids:
            return commit
    tried.forget_refused(registers.branch)
    return None


def first_parents_of(stores: Stores, registers: Registers, head: CommitId) -> Iterator[StoredCommit]:
    """Yield a commit of the repository, its first parent, and so on to the root."""
    return first_parents(lambda commit: commit_of(stores, registers.repository, commit), head)


def header_of(stores: Stores, registers: Registers, commit: CommitId) -> Commit:
    """Return the header of a commit of the repository."""
    return commit_of(stores, registers.repository, commit).header
