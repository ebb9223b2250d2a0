"""Report the heads of the branches of repository `flights`, independent of who moved them."""

from __future__ import annotations

import dagster as dg

from dagster_graveler.display.show import Show
from dagster_graveler.sensors.branch_heads import make_branch_heads_sensor


def flights_branches_moved(branches: dg.AssetSpec, published: dg.AssetKey, show: Show) -> dg.SensorDefinition:
    """Return the sensor of the branches of `flights`.

    Args:
        branches: The asset with a partition for each branch.
        published: The asset of branch `main`.
        show: Function that returns metadata to show of branch `main`.
    """
    return make_branch_heads_sensor(branches, repository="flights", published={"main": published}, show=show)
