"""Check of a permission before several calls that belong together, so that the refusal of a later call does not leave
the changes of the earlier ones.
"""

from __future__ import annotations

from graveler_core.facade.graveler import Graveler
from graveler_core.guard.scope import Scope
from graveler_core.model.names import repository_id
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
