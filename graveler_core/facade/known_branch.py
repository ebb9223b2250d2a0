"""Handles of a branch that this process has read before, opened without a read of the store.

A server opens a repository and a branch for each request. That takes several reads, whose results are checked again
anyway: operations on a branch prove the records of the repository and the branch by their closing re-read, or read them
first. So the records that are cached for three minutes (`stores.registers`) suffice to open the handles.

The caller must expect that the records are outdated: see `KnownBranch.is_current`.
"""

from __future__ import annotations

from dataclasses import dataclass

from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.guard.scope import Scope, branch_scope
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.permission import Action, Request
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class KnownBranch:
    """Handles of a branch and its repository, from cached records."""

    repository: Repository
    branch: Branch
    _stores: Stores

    def is_current(self) -> bool:
        """Return true if the repository was not deleted and created again, as of the last operation on the branch."""
        registers = self._stores.registers.get(self.repository.id, self.branch.name)
        return registers is not None and registers.repository.uid == self.repository.uid


def known_for_reading(graveler: Graveler, repository: str, ref: str) -> KnownBranch | None:
    """Return the handles of a branch, as `Graveler.repository` and `Repository.at` open them.

    Args:
        graveler: Handle on the store.
        repository: Name of the repository.
        ref: Ref expression.

    Returns:
        The handles, or `None` if the expression is not the name of a branch that is cached.

    Raises:
        PermissionDenied: (`AccessDenied`) the caller may not open it.
    """
    return _known(graveler, repository, ref, Action.READ_COMMIT, on_branch=False)


def known_for_writing(graveler: Graveler, repository: str, branch: str) -> KnownBranch | None:
    """Return the handles of a branch, as `Graveler.repository` and `Repository.branch` open them.

    Arguments, result and errors are those of `known_for_reading`.
    """
    return _known(graveler, repository, branch, Action.READ_BRANCH, on_branch=True)


def _known(graveler: Graveler, repository: str, name: str, action: Action, *, on_branch: bool) -> KnownBranch | None:
    stores = graveler._stores
    registers = stores.registers.get(repository, name)
    if registers is None:
        return None
    record, branch = registers.repository, registers.branch.id
    if stores.principal is not None:
        for request in _requests(record.id, branch, action, on_branch=on_branch):
            stores.principal.require(request)
    return KnownBranch(Repository(stores, record), Branch(stores, record, branch), stores)


def _requests(repository: RepositoryId, branch: BranchId, action: Action, *, on_branch: bool) -> tuple[Request, ...]:
    """Return the requests that the rules of the methods would yield with which the handles are opened otherwise."""
    scope = branch_scope(repository, branch)
    opened = scope.on_branch(action) if on_branch else scope.on_repository(action)
    return Scope(repository).on_repository(Action.READ_REPOSITORY), opened
