"""All mutants: importing this registers them."""

from __future__ import annotations

from tests.simulation.mutants import (
    answers,
    checking,
    cleaning,
    collecting,
    compacting,
    indexing,
    installing,
    lifecycle,
    naming,
    protecting,
    reading,
    removing,
    retiring,
    swapping,
    writing,
)
from tests.simulation.mutants.plant import MUTANTS

__all__ = [
    "MUTANTS",
    "answers",
    "checking",
    "cleaning",
    "collecting",
    "compacting",
    "indexing",
    "installing",
    "lifecycle",
    "naming",
    "protecting",
    "reading",
    "removing",
    "retiring",
    "swapping",
    "writing",
]
