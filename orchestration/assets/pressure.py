"""The pressure on a repository as an asset: which branches should be compacted, and how that went over time."""

import dagster as dg

from orchestration.assets.branches import UPKEEP
from orchestration.pressure import measured, pressure_key, surveyed
from orchestration.resources.graveler import GravelerResource


def make_pressure_asset(repository: str) -> dg.AssetsDefinition:
    """The asset `<repository>/pressure`. To materialize it is to measure; compactions add to it too.

    Args:
        repository: The repository's name. While there is none, there is no pressure.
    """

    @dg.asset(
        key=pressure_key(repository),
        group_name=UPKEEP,
        kinds={"graveler"},
        description=f"How much is staged on the branches of {repository}, against the thresholds for compaction.",
    )
    def pressure(context: dg.AssetExecutionContext, graveler: GravelerResource) -> dg.MaterializeResult[None]:
        """Read the counters and the branches that they name."""
        branches = surveyed(graveler.graveler(), repository)
        return dg.MaterializeResult(metadata=measured(context.instance, repository, branches))

    return pressure
