"""Check that leftovers of deletions are removed in time. It does not block: leftovers waste space but are not wrong."""

from datetime import timedelta

import dagster as dg

from dagster_graveler.leftovers import BOUND, CHECK, LEFTOVERS, UNDELETE_WITHIN, evaluated, last_failures, leftovers
from dagster_graveler.resources.graveler import GravelerResource


def make_leftovers_check(
    *, undelete_within: timedelta = UNDELETE_WITHIN, bound: timedelta = BOUND
) -> dg.AssetChecksDefinition:
    """Return the check `cleaned_in_time` of the asset `graveler/leftovers`. The cleaning job evaluates it too.

    Args:
        undelete_within: Time for which deleted repositories can be undeleted.
        bound: Additional time after which a leftover repository fails the check.

    Returns:
        The check. It needs the resource `graveler`.
    """

    @dg.asset_check(
        name=CHECK,
        asset=LEFTOVERS,
        description="The data of deleted repositories was removed in time, and the last cleaner run had no failures.",
    )
    def cleaned_in_time(context: dg.AssetCheckExecutionContext, graveler: GravelerResource) -> dg.AssetCheckResult:
        """Read the current entries of deleted repositories."""
        left = leftovers(graveler.graveler(), undelete_within)
        told = evaluated(left, last_failures(context.instance), undelete_within + bound)
        return dg.AssetCheckResult(**told)

    return cleaned_in_time
