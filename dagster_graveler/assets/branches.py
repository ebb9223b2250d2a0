"""Asset of the branches of a repository: one partition for each branch, with the head commit as its data version.

The sensor of `dagster_graveler.sensors.branch_heads` adds and removes the partitions and observes the heads.
"""

from __future__ import annotations

import dagster as dg

UPKEEP = "upkeep"
"""Group of the assets that describe repositories."""


def make_branches_asset(repository: str) -> dg.AssetSpec:
    """Return the asset `<repository>/branches`.

    Args:
        repository: Name of the repository.

    Returns:
        An external asset with one dynamic partition for each branch. The sensor of `make_branch_heads_sensor`
        reports it.
    """
    return dg.AssetSpec(
        dg.AssetKey([repository, "branches"]),
        partitions_def=dg.DynamicPartitionsDefinition(name=f"{repository}/branches"),
        kinds={"graveler"},
        group_name=UPKEEP,
        description=f"Branches of {repository}, one partition per branch. The data version is the head commit.",
    )
