"""Dagster's parameters that are still beta, used knowingly: `backfill_policy` of assets, `data_version` of outputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg


@contextmanager
def beta_accepted() -> Iterator[None]:
    """Keep Dagster from saying, each time, that a parameter is beta. The pinned version is the answer to that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        yield
