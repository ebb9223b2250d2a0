"""Functions of the engine that migrations of whole repositories call."""

from __future__ import annotations

from functools import partial

from graveler_core.engine.repositories.beginning import NewRepository
from graveler_core.engine.repositories.deletion import leave_to_cleaner
from graveler_core.engine.repositories.migration import begin_migration
from graveler_core.model.entities import RepositoryRecord
from graveler_core.records.access import Held
from graveler_core.stores import Stores
from graveler_core.transfer.begun import BegunRepository, RepositoryFlows


def migration_flows(stores: Stores) -> RepositoryFlows:
    """Return the functions that start and end a migration."""
    return RepositoryFlows(partial(_begun, stores), partial(leave_to_cleaner, stores))


def _begun(stores: Stores, wanted: BegunRepository) -> Held[RepositoryRecord]:
    new = NewRepository(
        wanted.id,
        wanted.storage_namespace,
        wanted.default_branch,
        adopt=wanted.adopt,
        creation_date=wanted.creation_date,
        boundary_seed=wanted.boundary_seed,
        migrating=wanted.digest,
    )
    return begin_migration(stores, new)
