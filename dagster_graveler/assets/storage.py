"""Asset of the storage of a repository: bytes of content by state, over time."""

from datetime import timedelta

import dagster as dg

from dagster_graveler.assets.branches import UPKEEP
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.storage import GRACE, storage, storage_key, storage_metadata


def make_storage_asset(repository: str, *, grace: timedelta = GRACE) -> dg.AssetsDefinition:
    """Return the asset `<repository>/storage`. A materialization makes a dry run of a collection. The collection job
    also adds its results to the asset.

    Args:
        repository: Name of the repository. A repository that does not exist stores nothing.
        grace: Grace period of the dry run.

    Returns:
        The asset. It needs the resource `graveler`.
    """

    @dg.asset(
        key=storage_key(repository),
        group_name=UPKEEP,
        kinds={"graveler"},
        description=f"Bytes of content of {repository}, and how many of them a collection can reclaim.",
    )
    def storage_of_content(context: dg.AssetExecutionContext, graveler: GravelerResource) -> dg.MaterializeResult[None]:
        """List the storage namespace, and read all names of content."""
        done = storage(graveler.graveler(), repository, grace)
        return dg.MaterializeResult(metadata=storage_metadata(context.instance, repository, done))

    return storage_of_content
