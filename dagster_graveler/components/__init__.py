"""Components for `defs.yaml`. Dagster's `dg` lists the public names of this module."""

from dagster_graveler.components.lake import GravelerLakeComponent

__all__ = ["GravelerLakeComponent"]
