"""Asset of leftovers: deleted repositories that wait for a cleaner, over time."""

from datetime import timedelta

import dagster as dg

from dagster_graveler.assets.branches import UPKEEP
from dagster_graveler.leftovers import LEFTOVERS, UNDELETE_WITHIN, last_failures, leftovers, leftovers_metadata
from dagster_graveler.resources.graveler import GravelerResource


def make_leftovers_asset(*, undelete_within: timedelta = UNDELETE_WITHIN) -> dg.AssetsDefinition:
    """Return the asset `graveler/leftovers`. It is measured when it is materialized, and by each run of the cleaning
    job.

    Args:
        undelete_within: Time for which deleted repositories can be undeleted.

    Returns:
        The asset. It needs the resource `graveler`.
    """

    @dg.asset(
        key=LEFTOVERS,
        group_name=UPKEEP,
        kinds={"graveler"},
        description="Deleted repositories whose data the cleaner has not removed yet.",
    )
    def left_over(context: dg.AssetExecutionContext, graveler: GravelerResource) -> dg.MaterializeResult[None]:
        """Read the entries of deleted repositories."""
        left = leftovers(graveler.graveler(), undelete_within)
        return dg.MaterializeResult(metadata=leftovers_metadata(left, last_failures(context.instance)))

    return left_over
