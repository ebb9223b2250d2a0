"""Check that compaction keeps up with staged changes. It does not block: many staged changes are slow but not wrong."""

import dagster as dg

from dagster_graveler.display.pressure import pressure_table
from dagster_graveler.pressure import pressure_key, surveyed
from dagster_graveler.resources.graveler import GravelerResource


def make_pressure_check(repository: str) -> dg.AssetChecksDefinition:
    """Return the check `below_threshold` of the asset `<repository>/pressure`.

    Args:
        repository: Name of the repository.

    Returns:
        The check. It needs the resource `graveler`.
    """

    @dg.asset_check(asset=pressure_key(repository), description="No branch exceeds a threshold for compaction.")
    def below_threshold(graveler: GravelerResource) -> dg.AssetCheckResult:
        """Read the current pressure of the branches."""
        over = [item for item in surveyed(graveler.graveler(), repository) if item.pressure.over]
        return dg.AssetCheckResult(
            passed=not over,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"branches over pressure": len(over), "branches": dg.MetadataValue.md(pressure_table(over))},
        )

    return below_threshold
