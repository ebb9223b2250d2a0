"""What deletions left on the store as an asset: how much waits for a cleaner, and how that went over time."""

from datetime import timedelta

import dagster as dg

from orchestration.assets.branches import UPKEEP
from orchestration.cleaning import LEFTOVERS, UNDELETE_WITHIN, last_failures, leftovers, leftovers_metadata
from orchestration.resources.graveler import GravelerResource


def make_leftovers_asset(*, undelete_within: timedelta = UNDELETE_WITHIN) -> dg.AssetsDefinition:
    """The asset `graveler/leftovers`. To materialize it is to measure; each run of the cleaning job adds to it too.

    Args:
        undelete_within: For so long deleted repositories are left.
    """

    @dg.asset(
        key=LEFTOVERS,
        group_name=UPKEEP,
        kinds={"graveler"},
        description="What deleted repositories have left on the store, until it is cleaned up.",
    )
    def left_over(context: dg.AssetExecutionContext, graveler: GravelerResource) -> dg.MaterializeResult[None]:
        """Read the entries of deleted repositories."""
        left = leftovers(graveler.graveler(), undelete_within)
        return dg.MaterializeResult(metadata=leftovers_metadata(left, last_failures(context.instance)))

    return left_over
