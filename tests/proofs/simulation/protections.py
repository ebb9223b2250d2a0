"""Protection, watched at the repository's record: what is forbidden is not done, and what is allowed is not refused.

A rule binds the calls that begin after it was set. So a call succeeds only if at some moment of it nothing forbade it,
and is refused only if at some moment something did.
"""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.errors import Kind
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.protection import DIRECT, BranchAction, blocking, requiring
from tests.proofs.simulation.cast import WORK
from tests.proofs.simulation.history import REPO, History, Operation, Outcome
from tests.proofs.simulation.repositories import Registers

REFUSED = (Kind.BranchProtected, Kind.RepositoryReadOnly)
ACTIONS = {
    "put": BranchAction.WRITE,
    "remove": BranchAction.WRITE,
    "put many": BranchAction.WRITE,
    "remove prefix": BranchAction.WRITE,
    "reset prefix": BranchAction.WRITE,
    "reset": BranchAction.WRITE,
    "commit": BranchAction.COMMIT,
    "replay": BranchAction.COMMIT,
    "transact": BranchAction.COMMIT,
    "merge": BranchAction.MERGE,
    "hard reset": BranchAction.FORCE,
    "delete branch": BranchAction.FORCE,
}
"""What each kind of call does to the branch."""


def violations(history: History, registers: Registers) -> Iterator[str]:
    """What was done although it was forbidden, or refused although it was not."""
    for operation in history.operations:
        action = ACTIONS.get(operation.kind)
        if action is not None and operation.repository == REPO:
            yield from _judged(operation, action, registers)


def _judged(operation: Operation, action: BranchAction, registers: Registers) -> Iterator[str]:
    stood = registers.between(REPO, operation.start, operation.end)
    forbidden = [state.record is not None and _forbids(state.record, action) for state in stood]
    # Under a key it may have been done before, and is found again.
    if operation.outcome is Outcome.DONE and all(forbidden) and not operation.key:
        yield f"{operation}: was forbidden all the time"
    refused = operation.error is not None and operation.error.kind in REFUSED
    if refused and not any(forbidden):
        yield f"{operation}: nothing forbade it"


def _forbids(repo: RepositoryRecord, action: BranchAction) -> bool:
    checked = action in DIRECT and any(requiring(repo.required_checks, WORK))
    return repo.read_only or checked or blocking(repo.protection, WORK, action) is not None
