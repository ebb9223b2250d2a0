"""Check that little content can be reclaimed. It does not block: such content costs money but is not wrong."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.storage import (
    CHECK,
    GRACE,
    SHARE,
    evaluated,
    last_measured,
    reclaimable,
    storage,
    storage_key,
    stored,
)


def make_storage_check(repository: str, *, share: float = SHARE, grace: timedelta = GRACE) -> dg.AssetChecksDefinition:
    """Return the check `little_to_reclaim` of the asset `<repository>/storage`. The collection job evaluates it, too.

    The check looks at the last measurement of the asset. If there is none, it makes a dry run of a collection.

    Args:
        repository: Name of the repository.
        share: Maximum share of reclaimable bytes in the content, from 0 to 1. A larger share fails the check.
        grace: Grace period of the dry run.

    Returns:
        The check. It needs the resource `graveler`.
    """

    @dg.asset_check(
        name=CHECK,
        asset=storage_key(repository),
        description=f"At most {share:.0%} of the bytes of content are no longer needed.",
    )
    def little_to_reclaim(context: dg.AssetCheckExecutionContext, graveler: GravelerResource) -> dg.AssetCheckResult:
        """Read the last measurement."""
        measured = last_measured(context.instance, repository)
        if measured is None:
            done = storage(graveler.graveler(), repository, grace)
            measured = datetime.now(UTC), stored(done), reclaimable(done)
        return dg.AssetCheckResult(**evaluated(*measured, share))

    return little_to_reclaim
