"""All mutants. Importing this module registers them."""

from __future__ import annotations

from tests.proofs.simulation.mutants import (
    answers,
    checking,
    cleaning,
    collecting,
    compacting,
    condemning,
    conditional,
    erasing,
    indexing,
    installing,
    lifecycle,
    naming,
    protecting,
    publishing,
    reading,
    removing,
    retiring,
    swapping,
    unreaching,
    writing,
)
from tests.proofs.simulation.mutants.plant import MUTANTS

__all__ = [
    "MUTANTS",
    "answers",
    "checking",
    "cleaning",
    "collecting",
    "compacting",
    "condemning",
    "conditional",
    "erasing",
    "indexing",
    "installing",
    "lifecycle",
    "naming",
    "protecting",
    "publishing",
    "reading",
    "removing",
    "retiring",
    "swapping",
    "unreaching",
    "writing",
]
