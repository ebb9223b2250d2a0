"""Check of permissions before several calls that belong together, so that the refusal of a later call does not leave
the changes of the earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from graveler_core.facade.graveler import Graveler
from graveler_core.guard.scope import Scope, branch_scope
from graveler_core.model.names import branch_id, repository_id
from graveler_core.model.permission import Action


def require_on_repository(graveler: Graveler, repository: str, action: Action) -> None:
    """Check that the caller may do something to a repository, which need not exist yet.

    Args:
        graveler: Handle on the store.
        repository: Name of the repository.
        action: The action.

    Raises:
        PermissionDenied: (`AccessDenied`) the caller may not.
        InvalidInput: the name is not valid.
    """
    id, principal = repository_id(repository), graveler._stores.principal
    if principal is not None:
        principal.require(Scope(id).on_repository(action))


def require_to_commit(graveler: Graveler, repository: str, branch: str, paths: Iterable[str]) -> None:
    """Check that the caller may open a branch, write some paths on it and commit them. It need not exist yet.

    Args:
        graveler: Handle on the store.
        repository: Name of the repository.
        branch: Name of the branch.
        paths: The paths.

    Raises:
        PermissionDenied: (`AccessDenied`) the caller may not.
        InvalidInput: a name is not valid.
    """
    scope, principal = branch_scope(repository_id(repository), branch_id(branch)), graveler._stores.principal
    if principal is not None:
        writes = (scope.on_path(Action.WRITE_OBJECT, path) for path in paths)
        for request in (*map(scope.on_branch, (Action.READ_BRANCH, Action.CREATE_COMMIT)), *writes):
            principal.require(request)
