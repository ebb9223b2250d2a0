"""The published branch as an asset: its data version is the id of the commit at its head.

Whoever depends on it, in this code location or another, is seen stale when something new is published.
"""

import dagster as dg

from orchestration.assets.flights import GROUP
from orchestration.ops.publish import commit_branch, delete_merged_branch, merge_branch

PUBLISHED = dg.AssetKey(["flights", "main"])


@dg.graph_asset(
    key=PUBLISHED,
    group_name=GROUP,
    kinds={"graveler"},
    description="Branch main of repository flights. Data version: its commit id.",
    # The last table stands for all: each table's checks block the next one, down to this.
    ins={"daily_delays": dg.AssetIn("daily_delays", dagster_type=dg.Nothing)},
)
def flights_main(daily_delays):  # type: ignore[no-untyped-def]
    """Commit, merge, tidy up. Blocking checks stand before it: where one fails, none of this runs."""
    return merge_branch.with_hooks({delete_merged_branch})(commit_branch(daily_delays))
