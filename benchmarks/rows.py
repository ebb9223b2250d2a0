"""Rows of results, printed as JSON lines or as a table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one measurement at one size on one store."""

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
    """Median CPU time in milliseconds, summed over all threads. Other load on the machine affects it the least."""
    peak_mib: float
    """Peak resident memory of the measuring process in MiB, including imported modules."""
    reference: str = ""
    """Target value, or results of other systems, if known."""

    def line(self) -> str:
        """Return the row as a JSON object on one line."""
        return json.dumps(asdict(self))


def four_digits(value: float) -> float:
    """Round to four significant digits."""
    return float(f"{value:.4g}")


def print_table(rows: Iterable[Row], console: Console) -> None:
    """Print the rows as a table."""
    numbers = ("median", "least", "most", "n", "CPU ms", "peak MiB")
    table = Table("what", "size", "store", "durability", "unit", *numbers, "reference")
    for column in (1, 5, 6, 7, 8, 9, 10):
        table.columns[column].justify = "right"
    for row in rows:
        times = [_shown(value) for value in (row.median, row.least, row.most)]
        head = (row.name, f"{row.size:,}", row.store, row.durability, row.unit)
        table.add_row(*head, *times, str(row.repeats), _shown(row.cpu), f"{row.peak_mib:,.0f}", row.reference)
    console.print(table)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}"
