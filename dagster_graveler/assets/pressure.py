"""Asset of the compaction pressure of a repository: branches that should be compacted, and the pressure over time."""

import dagster as dg

from dagster_graveler.assets.branches import UPKEEP
from dagster_graveler.pressure import measured, pressure_key, surveyed
from dagster_graveler.resources.graveler import GravelerResource


def make_pressure_asset(repository: str) -> dg.AssetsDefinition:
    """Return the asset `<repository>/pressure`. It is measured when it is materialized, and by each compaction.

    Args:
        repository: Name of the repository. A repository that does not exist has no pressure.

    Returns:
        The asset. It needs the resource `graveler`.
    """

    @dg.asset(
        key=pressure_key(repository),
        group_name=UPKEEP,
        kinds={"graveler"},
        description=f"Staged changes on the branches of {repository}, relative to the thresholds for compaction.",
    )
    def pressure(context: dg.AssetExecutionContext, graveler: GravelerResource) -> dg.MaterializeResult[None]:
        """Read the counters of staged changes and the branches they belong to."""
        branches = surveyed(graveler.graveler(), repository)
        return dg.MaterializeResult(metadata=measured(context.instance, repository, branches))

    return pressure
