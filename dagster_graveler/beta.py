"""Use of Dagster parameters that are still in beta: `backfill_policy` of assets and `data_version` of outputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg


@contextmanager
def beta_accepted() -> Iterator[None]:
    """Suppress Dagster's warnings about beta parameters. The oldest and the newest supported version are tested."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        yield
