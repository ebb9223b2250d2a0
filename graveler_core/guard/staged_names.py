"""Branch records for callers who may read a branch, but not list its paths, and records of their repositories.

The layers of a record name prefixes that were removed or restored, and partitions of the key-value store. Such a
caller sees how many layers there are, and of which kind, but no prefix, and an opaque name for each partition.

The record of a repository also has its webhooks and rules. Each of them is left out for callers who may not read it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from typing import Final

from graveler_core.engine.staging.pressure import BranchPressure
from graveler_core.guard.scope import Scope, branch_scope
from graveler_core.iam.principal import Principal
from graveler_core.model.entities import BranchRecord
from graveler_core.model.ids import LayerId, RepositoryId, StagingToken
from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from graveler_core.model.permission import Action

_NAME_BYTES: Final = 8


def shown_to(principal: Principal | None, repository: RepositoryId) -> Callable[[BranchRecord], BranchRecord]:
    """Return a function that leaves out of branch records what a principal may not see.

    Args:
        principal: The principal, or `None` in a store without access control, which leaves out nothing.
        repository: Name of the repository of the branches.
    """
    if principal is None:
        return lambda record: record
    return lambda record: (
        record
        if principal.allows(branch_scope(repository, record.id).on_prefix(Action.LIST_OBJECTS))
        else without_staged_names(record)
    )


def pressure_shown_to(principal: Principal | None, found: BranchPressure) -> BranchPressure:
    """Return the pressure of a branch with the records of branch and repository as a principal may see them."""
    if principal is None:
        return found
    scope = Scope(found.repository.id)
    hidden = dict[str, object]()
    if not principal.allows(scope.on_repository(Action.READ_HOOKS)):
        hidden |= {"webhooks": ()}
    if not principal.allows(scope.on_repository(Action.GET_BRANCH_PROTECTION)):
        hidden |= {"protection": (), "required_checks": ()}
    return replace(
        found,
        repository=found.repository.model_copy(update=hidden),
        branch=shown_to(principal, found.repository.id)(found.branch),
    )


def without_staged_names(record: BranchRecord) -> BranchRecord:
    """Return a branch record without prefixes and names of partitions. Equal partitions have equal opaque names."""
    return record.model_copy(
        update={
            "staging_token": StagingToken(_opaque(record.staging_token)),
            "sealed_tokens": tuple(map(_unnamed, record.sealed_tokens)),
            "compacted_metarange": None,
        }
    )


def _unnamed(layer: Layer) -> Layer:
    match layer:
        case SealedToken():
            return SealedToken(token=StagingToken(_opaque(layer.token)))
        case SegmentLayer():
            return layer.model_copy(update={"id": LayerId(_opaque(layer.id))})
        case PrefixRemoval() | PrefixRestoration():
            return layer.model_copy(update={"id": LayerId(_opaque(layer.id)), "prefix": ""})


def _opaque(name: str) -> str:
    return blake2b(name.encode(), digest_size=_NAME_BYTES).hexdigest()
