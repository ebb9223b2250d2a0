"""Results as rows: one JSON line each, or a table on a terminal."""

from __future__ import annotations

import json
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
    cpu: float | None
    """Median of the milliseconds of processor time, all threads together: what a busy machine changes least."""
    peak_mib: float
    """Resident memory of the measuring process at its highest, imports included."""
    reference: str = ""
    """The aim, or what a peer or the bare store does, where known."""

    def line(self) -> str:
        """The row as JSON."""
        return json.dumps(asdict(self))


def four_digits(value: float) -> float:
    """What of a measurement is worth showing."""
    return float(f"{value:.4g}")


def print_table(rows: Iterable[Row], console: Console) -> None:
    """Rows as a table."""
    numbers = ("median", "least", "most", "n", "CPU ms", "peak MiB")
    table = Table("what", "size", "durability", "unit", *numbers, "reference")
    for column in (1, 4, 5, 6, 7, 8, 9):
        table.columns[column].justify = "right"
    for row in rows:
        times = [_shown(value) for value in (row.median, row.least, row.most)]
        head = (row.name, f"{row.size:,}", row.durability, row.unit)
        table.add_row(*head, *times, str(row.repeats), _shown(row.cpu), f"{row.peak_mib:,.0f}", row.reference)
    console.print(table)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}"
