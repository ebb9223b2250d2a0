"""Results as rows: one JSON line each, or a table on a terminal."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured at one size on one store."""

    suite: str
    scenario: str
    name: str
    size: int
    store: str
    durability: str
    unit: str
    median: float
    least: float
    most: float
    repeats: int
    peak_mib: float
    """Resident memory of the measuring process at its highest, imports included."""
    reference: str = ""
    """The aim, or what a peer or the bare store does, where known."""

    def line(self) -> str:
        """The row as JSON."""
        return json.dumps(asdict(self))


def summary(values: list[float]) -> dict[str, float | int]:
    """What of repeated measurements a row shows, to four digits."""
    shown = {"median": statistics.median(values), "least": min(values), "most": max(values)}
    return {name: float(f"{value:.4g}") for name, value in shown.items()} | {"repeats": len(values)}


def print_table(rows: Iterable[Row], console: Console) -> None:
    """Rows as a table."""
    table = Table("what", "entries", "durability", "unit", "median", "least", "most", "n", "peak MiB", "reference")
    for column in (1, 4, 5, 6, 7, 8):
        table.columns[column].justify = "right"
    for row in rows:
        numbers = [
            f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}" for value in (row.median, row.least, row.most)
        ]
        head = (row.name, f"{row.size:,}", row.durability, row.unit)
        table.add_row(*head, *numbers, str(row.repeats), f"{row.peak_mib:,.0f}", row.reference)
    console.print(table)
