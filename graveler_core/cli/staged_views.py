"""Views of staged changes: layers, pressure, thresholds and compactions. As in `views.py`, field names are stable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graveler_core.cli.output import Column, View
from graveler_core.cli.spans import span_for_people
from graveler_core.cli.terminal import SHORT_ID, time_for_people
from graveler_core.documents.staging import layer_document, staged_document, thresholds_document
from graveler_core.documents.values import span_for_machines
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.engine.staging.pressure import BranchPressure
    from graveler_core.model.compaction import CompactionHistory, CompactionRun, Thresholds
    from graveler_core.model.layers import Layer

_SHOWN_RUNS = 3
"""Maximum number of compactions of a branch that are shown as text."""


def branch_lines(found: BranchPressure, history: CompactionHistory) -> Iterator[str]:
    """Yield the lines that describe a branch."""
    load = found.load
    yield f"branch {found.branch.id} at {found.branch.commit_id[:SHORT_ID]}"
    if load.staged or load.layers:
        what = (
            f"{counted(load.staged, 'record')}, {counted(load.tombstones, 'tombstone')} among them, in "
            f"{counted(load.layers, 'sealed layer')}"
        )
        yield f"staged {what}, for {span_for_people(load.age)}: pressure {found.pressure.value:.2f}"
    for reason in found.pressure.reasons:
        yield f"to be compacted: {reason}"
    for run in list(reversed(history.recent))[:_SHOWN_RUNS]:
        yield f"compaction of {time_for_people(run.began)}: {_run_summary(run)} in {run.seconds:.2f} s"


def _run_summary(run: CompactionRun) -> str:
    what = f", {counted(run.records, 'record')} of {counted(run.layers, 'layer')}" if run.layers else ""
    return f"{run.outcome.value}{what}"


def _number(title: str) -> Column:
    return Column(title, people="{:,}".format, right=True)


_AGE = Column("age", people=span_for_people, machines=lambda age: str(span_for_machines(age)), right=True)


LAYERS: View[Layer] = View(
    columns=(Column("layer"), Column("records", right=True), Column("prefix", folds=True), Column("id", folds=True)),
    cells=lambda la: (la.kind, getattr(la, "count", None), getattr(la, "prefix", None), la.id),
    document=layer_document,
    empty="no layers",
)
STAGED: View[BranchPressure] = View(
    columns=(
        Column("pressure", people="{:.2f}".format, machines="{:.6f}".format, right=True),
        _number("tombstones"),
        _number("staged"),
        _number("layers"),
        _AGE,
        Column("branch", style="bold", folds=True),
        Column("to be compacted", style="yellow", folds=True),
    ),
    cells=lambda p: (
        p.pressure.value,
        p.load.tombstones,
        p.load.staged,
        p.load.layers,
        p.load.age,
        p.token,
        ", ".join(p.pressure.reasons),
    ),
    document=staged_document,
    empty="no branch has many staged records",
)
THRESHOLDS: View[tuple[str, str | None, Thresholds]] = View(
    columns=(
        _number("tombstones"),
        _number("staged"),
        _number("layers"),
        _AGE,
        Column("branch", style="bold", folds=True),
    ),
    cells=lambda row: (row[2].tombstones, row[2].staged, row[2].layers, row[2].age, row[1] or "all others"),
    document=lambda row: thresholds_document(*row),
    empty="no thresholds",
)
