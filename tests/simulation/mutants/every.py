"""All mutants: importing this registers them."""

from __future__ import annotations

from tests.simulation.mutants import checking, installing, lifecycle, reading, retiring, swapping
from tests.simulation.mutants.plant import MUTANTS

__all__ = ["MUTANTS", "checking", "installing", "lifecycle", "reading", "retiring", "swapping"]
