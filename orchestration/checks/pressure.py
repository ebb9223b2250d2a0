"""Whether compaction keeps up with what is staged. It blocks nothing: what is staged too much is slow, not wrong."""

import dagster as dg

from orchestration.display.pressure import pressure_table
from orchestration.pressure import pressure_key, surveyed
from orchestration.resources.graveler import GravelerResource


def make_pressure_check(repository: str) -> dg.AssetChecksDefinition:
    """The check `below_threshold` of the asset `<repository>/pressure`.

    Args:
        repository: The repository's name.
    """

    @dg.asset_check(asset=pressure_key(repository), description="No branch is over a threshold for compaction.")
    def below_threshold(graveler: GravelerResource) -> dg.AssetCheckResult:
        """Look at the branches as they are now."""
        over = [item for item in surveyed(graveler.graveler(), repository) if item.pressure.over]
        return dg.AssetCheckResult(
            passed=not over,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"branches over pressure": len(over), "branches": dg.MetadataValue.md(pressure_table(over))},
        )

    return below_threshold
