"""Whether what deletions left is cleaned up in time. It blocks nothing: leftovers take room, and are not wrong."""

from datetime import timedelta

import dagster as dg

from orchestration.cleaning import BOUND, CHECK, LEFTOVERS, UNDELETE_WITHIN, evaluated, last_failures, leftovers
from orchestration.resources.graveler import GravelerResource


def make_leftovers_check(
    *, undelete_within: timedelta = UNDELETE_WITHIN, bound: timedelta = BOUND
) -> dg.AssetChecksDefinition:
    """The check `cleaned_in_time` of the asset `graveler/leftovers`. The cleaning job answers it too.

    Args:
        undelete_within: For so long deleted repositories are left.
        bound: For so much longer they may be there.
    """

    @dg.asset_check(
        name=CHECK,
        asset=LEFTOVERS,
        description="No deleted repository is there for much longer than it can be restored; nothing failed.",
    )
    def cleaned_in_time(context: dg.AssetCheckExecutionContext, graveler: GravelerResource) -> dg.AssetCheckResult:
        """Look at the entries of deleted repositories as they are now."""
        left = leftovers(graveler.graveler(), undelete_within)
        told = evaluated(left, last_failures(context.instance), undelete_within + bound)
        return dg.AssetCheckResult(**told)

    return cleaned_in_time
