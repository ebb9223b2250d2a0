"""Removal of data to which nothing refers any more: see `graveler_core.engine.cleaning.walk`."""

from __future__ import annotations

from graveler_core.engine.cleaning.plan import Cleaned, CleaningPlan, PlanOptions, Waiting
from graveler_core.engine.cleaning.walk import clean, waiting

__all__ = ["Cleaned", "CleaningPlan", "PlanOptions", "Waiting", "clean", "waiting"]
