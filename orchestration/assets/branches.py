"""The branches of a repository as one asset: a partition a branch, whose data version is the commit at its head.

Nothing here makes them: a sensor (`sensors.branch_heads`) keeps the partitions in step and observes the heads.
"""

from __future__ import annotations

import dagster as dg

UPKEEP = "upkeep"
"""The group of what is known about repositories, beside what is in them."""


def make_branches_asset(repository: str) -> dg.AssetSpec:
    """The asset `<repository>/branches`.

    Args:
        repository: The repository's name.
    """
    return dg.AssetSpec(
        dg.AssetKey([repository, "branches"]),
        partitions_def=dg.DynamicPartitionsDefinition(name=f"{repository}/branches"),
        kinds={"graveler"},
        group_name=UPKEEP,
        description=f"The branches of {repository}; the data version of each is its head's commit id.",
    )
