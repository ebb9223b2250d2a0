"""Moving a branch's head: the one swap that makes a commit visible, and what a lost answer of it means.

A commit that has left its author may be followed by others before the author looks again, so equality of the head
proves nothing: the chain of first parents does. Found on it: it happened. The attempt's base reached without finding
it, and no reset since: it did not, so far, and the next attempt swaps from a record that tells. A call that fails
before such an attempt, and whatever else history does not tell, is unknown, and said so with the commit's id.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from graveler_core.engine.swap import following
from graveler_core.engine.tending import tend
from graveler_core.engine.view import commit_of
from graveler_core.errors import GravelerError, OutcomeUnknown, PredicateFailed, SlowDown, Unavailable
from graveler_core.model.entities import Branch, Commit
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.ancestry import first_parents
from graveler_core.stores import Registers, Stores


@dataclass
class Tried:
    """What one call tried to make the head."""

    commits: set[CommitId] = field(default_factory=set)
    unanswered: CommitId | None = None
    """One whose swap was given up without an answer, and may still arrive."""

    @contextmanager
    def told(self) -> Iterator[None]:
        """Turn an error that says that nothing happened into one that says what is known."""
        try:
            yield
        except OutcomeUnknown:
            raise
        except GravelerError as e:
            if self.unanswered is None:
                raise
            raise _unknown(self.unanswered) from e


def advance(stores: Stores, registers: Registers, record: Branch, commit: CommitId, tried: Tried) -> bool:
    """Swap the branch record for one whose head is `commit`; False if another swap came first.

    Raises:
        OutcomeUnknown: the answer was lost and the history since does not tell; `details["commit"]` names the commit.
    """
    base = registers.branch
    where = keys.branch(registers.repository, base.id)
    tried.commits.add(commit)

    def happened(current: Branch) -> bool:
        return current.uid == base.uid and commit in _chain(stores, registers, current.commit_id)

    try:
        held = access.replace(stores.kv, where, registers.held, following(stores, base, record), mine=happened)
    except PredicateFailed:
        return False
    except OutcomeUnknown as lost:
        if _not_happened(stores, registers):
            tried.unanswered = commit
            return False
        raise _unknown(commit) from lost
    stores.registers.keep(registers.repository.id, base.id, Registers(registers.repository, held))
    with suppress(GravelerError):  # the swap is done, and tending is for another time as well
        tend(stores, registers.repository, base.id, commit_of(stores, registers.repository, commit))
    return True


def _unknown(commit: CommitId) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"commit {commit}: the answer of its last step was lost and history does not tell; look for it in the log",
        commit=commit,
    )


def find_operation(stores: Stores, registers: Registers, key: str, base: CommitId) -> StoredCommit | None:
    """The commit that an earlier attempt under an idempotency key made, on the chain from the head down to its base."""
    for commit in first_parents(lambda c: commit_of(stores, registers.repository, c), registers.branch.commit_id):
        if commit.header.idempotency_key == key:
            return commit
        if commit.id == base:
            return None
    return None


def _not_happened(stores: Stores, registers: Registers) -> bool:
    """Whether the branch's chain reaches the base that was swapped from, without a reset since."""
    base = registers.branch
    try:
        current = access.read(stores.kv, keys.branch(registers.repository, base.id))
        if current is None or (current.value.uid, current.value.epoch) != (base.uid, base.epoch):
            return False
        return base.commit_id in _chain(stores, registers, current.value.commit_id)
    except (SlowDown, Unavailable):
        return False


def _chain(stores: Stores, registers: Registers, head: CommitId) -> set[CommitId]:
    """First parents from a head down to the base this attempt swapped from, both included."""
    chain: set[CommitId] = set()
    floor = _header(stores, registers, registers.branch.commit_id).generation
    for commit in first_parents(lambda c: commit_of(stores, registers.repository, c), head):
        chain.add(commit.id)
        if commit.header.generation <= floor:
            break
    return chain


def _header(stores: Stores, registers: Registers, commit: CommitId) -> Commit:
    return commit_of(stores, registers.repository, commit).header
