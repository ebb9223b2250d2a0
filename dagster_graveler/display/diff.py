"""Diffs for the Dagster UI: a table of changed paths, and a summary by top-level name.

Paths are user input and are escaped in markdown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import dagster as dg

from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.model.changes import Change

SHOWN = 50
"""Number of changes, and of top-level names, that are shown."""
COUNTED = 100_000
"""Number of changes after which a summary stops counting and says so."""
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&])")


@dataclass(slots=True)
class DiffSummary:
    """First changes of a diff, and the number of changes of each kind below each top-level name."""

    shown: list[Change] = field(default_factory=list)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    total: int = 0
    complete: bool = True

    def markdown(self) -> str:
        """Return the counts of the first names as a markdown table."""
        lines = ["| table | added | changed | removed |", "|---|---:|---:|---:|"]
        for name, count in sorted(self.counts.items())[:SHOWN]:
            lines.append(f"| {escaped(name)} | {count['added']} | {count['changed']} | {count['removed']} |")
        if len(self.counts) > SHOWN:
            lines.append(f"\n{counted(len(self.counts) - SHOWN, 'more name')} with changes.")
        if not self.complete:
            lines.append(f"\nMore than {COUNTED:,} changes; only the first {COUNTED:,} are counted.")
        return "\n".join(lines) if self.total else "No changes."

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of events: the number of changes, the summary and the first changes."""
        summary = dg.MetadataValue.md(self.markdown())
        return {"changes": self.total, "diff summary": summary, "diff": self.table()}

    def table(self) -> dg.TableMetadataValue:
        """Return the first changes as a Dagster table."""
        columns = [dg.TableColumn("path"), dg.TableColumn("change"), dg.TableColumn("bytes", type="int")]
        records = [
            dg.TableRecord({"path": c.path, "change": str(c.kind), "bytes": c.after.size if c.after else 0})
            for c in self.shown
        ]
        return dg.MetadataValue.table(records, dg.TableSchema(columns=columns))


def summarise(changes: Iterable[Change]) -> DiffSummary:
    """Summarise a diff, reading at most `COUNTED` changes."""
    summary = DiffSummary()
    for change in islice(changes, COUNTED + 1):
        if summary.total == COUNTED:
            summary.complete = False
            break
        summary.total += 1
        top = change.path.split("/", 1)[0]
        summary.counts.setdefault(top, Counter())[str(change.kind)] += 1
        if len(summary.shown) < SHOWN:
            summary.shown.append(change)
    return summary


def escaped(text: str) -> str:
    """Return text in one line, escaped for markdown."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
