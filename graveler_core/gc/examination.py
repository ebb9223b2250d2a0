"""Comparison of the objects in a namespace with all names: on this machine or, if there are many, on the cluster.

The results are equal. The number of objects is unknown before they are listed. The listing therefore begins on this
machine, and from time to time the cluster is asked if there are enough. If so, it lists all of them. The number of
names is known once the references to them are read. If there are many, the cluster reads the names, and lists the
objects again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from graveler_core.gc.candidates import Candidates, list_candidates, uploads_in_progress
from graveler_core.gc.commit_groups import CommitGroups, NamedBy
from graveler_core.gc.examination_on_cluster import ClusterWork, KnownToDriver, named_in, spread
from graveler_core.gc.examined_objects import ExaminedObjects
from graveler_core.gc.name_references import NameReferences, read_references
from graveler_core.gc.object_listing import ObjectListing
from graveler_core.gc.stock import Progress
from graveler_core.model.entities import RepositoryRecord
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class ObjectsToExamine:
    """Objects in the namespace of a repository."""

    repository: RepositoryRecord
    listing: ObjectListing | None
    """Listing of the objects. `None` if they are known without one."""
    objects: Candidates | int
    """The objects, or their estimated number if they are too many for this machine."""
    left_out: pa.Table | None = None
    """Objects that are not examined although they are listed, in `CONDEMNED`."""


def begin_examination(stores: Stores, listing: ObjectListing, progress: Progress) -> ObjectsToExamine:
    """List objects, unless there are so many that the cluster should list them.

    Args:
        stores: Stores of the flow.
        listing: Objects to list.
        progress: Called with the number of objects listed since the last call.

    Raises:
        InvalidInput: The inventory is damaged.
        NotFound: The inventory does not exist.
    """
    cluster = stores.cluster
    found = list_candidates(stores, listing, progress, lambda rows: cluster is not None and cluster.tasks(rows) > 1)
    return ObjectsToExamine(listing.repository, listing, found)


def examine(stores: Stores, wanted: ObjectsToExamine, groups: CommitGroups, progress: Progress) -> ExaminedObjects:
    """Compare objects with the names in all repositories of the store.

    Args:
        stores: Stores of the flow. If they have a cluster, large work is done there.
        wanted: Objects to examine.
        groups: Commits of the repository with a special treatment.
        progress: Called with the number of items examined since the last call.

    Raises:
        CorruptData: An item that names objects is missing or damaged.
    """
    repo, found, cluster = wanted.repository, wanted.objects, stores.cluster
    if isinstance(found, Candidates) and wanted.left_out is not None:
        found = found.without(wanted.left_out)
    if isinstance(found, Candidates) and (cluster is None or not found.objects.num_rows):
        found.mark_named(stores, repo.storage_namespace, repo, progress, groups)
        return _examined(stores, wanted, found)
    assert cluster is not None  # noqa: S101 - without a cluster, there are never too many
    # Uploads are read before names: see `examination_on_cluster`.
    uploads = uploads_in_progress(stores, repo)
    names = read_references(stores, repo, groups, progress)
    rows = names.entries + (found if isinstance(found, int) else found.objects.num_rows)
    if isinstance(found, Candidates) and cluster.tasks(rows) < 2:
        found.mark(_read(stores, repo, names))
        return _examined(stores, wanted, found)
    objects = found.objects if isinstance(found, Candidates) and wanted.listing is None else None
    work = ClusterWork(repo, wanted.listing, uploads, max(2, cluster.tasks(rows)))
    return spread(stores, cluster, work, KnownToDriver(names, objects, wanted.left_out), progress)


def _examined(stores: Stores, wanted: ObjectsToExamine, found: Candidates) -> ExaminedObjects:
    examined = found.examined()
    return examined if wanted.listing is None else examined.looked_up(stores, wanted.listing)


def _read(stores: Stores, repo: RepositoryRecord, names: NameReferences) -> Iterator[tuple[NamedBy, pa.ChunkedArray]]:
    """Yield all addresses, most of them from files that are read on this machine."""
    yield from names.addresses
    for batch in names.batches(len(names.files) or 1):
        for addresses in stores.executor.map(partial(named_in, repo, stores, batch.repository), batch.files):
            yield batch.by, addresses
