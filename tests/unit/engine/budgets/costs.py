"""Limits of the costs of operations. The tests measure them, and the page on scale shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.unit.engine.budgets.measured import Measured, Spent

Act = Callable[[], object]
Prepare = Callable[[Measured], Act]
"""Does what must be there before, uncounted, and gives the call to be counted."""
Trips = tuple[int, int]
"""Round trips besides scans, and scans."""
KINDS = ("range", "node", "owner file", "layer file", "content", "namespace")


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call costs."""

    able: Trips
    """On a store that reads and writes many keys at once."""
    plain: Trips
    """On one that does nothing but what the port requires."""
    reads: str = "–"
    """Objects, by a process that has none in memory."""
    writes: str = "–"
    """Objects, and requests to remove them."""
    plain_reads: str | None = None
    """Objects read on the store that can little, where they are others."""


OPERATIONS: dict[str, tuple[Cost, Prepare]] = {}
"""By the name that the page on scale gives them."""


def costs(name: str, cost: Cost) -> Callable[[Prepare], Prepare]:
    """Says what a call costs."""

    def registered(prepare: Prepare) -> Prepare:
        OPERATIONS[name] = (cost, prepare)
        return prepare

    return registered


def trips(found: Trips) -> str:
    """Round trips as people read them."""
    waits, scans = found
    scanned = f"{scans} scan{'s' if scans > 1 else ''}"
    return f"{waits} + {scanned}" if waits and scans else scanned if scans else str(waits)


def reads(spent: Spent, levels: int) -> str:
    """Objects read as people read them; nodes are counted a level where each level has as many."""
    return ", ".join(_objects(spent, levels, "read")) or "–"


def writes(spent: Spent, levels: int) -> str:
    """Objects written, listed and removed as people read them."""
    written = _objects(spent, levels, "written")
    others = [f"{what} {verb}" for verb in ("listed", "removed") for what in _objects(spent, levels, verb)]
    return ", ".join(written + others) or "–"


def _objects(spent: Spent, levels: int, verb: str) -> list[str]:
    found = []
    for kind in KINDS:
        count, per_level = spent.objects.get(f"{kind} {verb}", 0), ""
        if kind == "node" and count and count % levels == 0:
            count, per_level = count // levels, " per level"
        if count:
            found.append(f"{count} {kind}{'s' if count > 1 and kind != 'content' else ''}{per_level}")
    return found
