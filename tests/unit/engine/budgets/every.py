"""All operations whose costs are known."""

from __future__ import annotations

from tests.unit.engine.budgets import committing, naming, reading, writing
from tests.unit.engine.budgets.costs import OPERATIONS

SOURCES = (reading, writing, committing, naming)
EVERY = OPERATIONS
