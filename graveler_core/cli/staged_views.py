"""How what is staged is shown: layers, pressure, thresholds, compactions. As in `views.py`, field names are stable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from graveler_core.cli.output import Column, Document, View
from graveler_core.cli.spans import span_for_machines, span_for_people
from graveler_core.cli.terminal import SHORT_ID, time_for_machines, time_for_people

if TYPE_CHECKING:
    from graveler_core.engine.compaction import Compacted
    from graveler_core.engine.pressure import BranchPressure
    from graveler_core.model.compaction import CompactionHistory, CompactionRun, Thresholds
    from graveler_core.model.layers import Layer

_SHOWN_RUNS = 3
"""Compactions of a branch that people are told of."""


def layer_document(layer: Layer) -> Document:
    """`type` ("layer"), `kind` ("token", "segment", "removal" or "restoration"), `id`, `prefix` and `count` where the
    kind has them, else null."""
    return {
        "type": "layer",
        "kind": layer.kind,
        "id": layer.id,
        "prefix": getattr(layer, "prefix", None),
        "count": getattr(layer, "count", None),
    }


def staged_document(found: BranchPressure) -> Document:
    """`type` ("branch"), `repository`, `id`, `commit_id`, `staging_token`; of what was counted `staged` and
    `tombstones` (records), `layers`, `age` (seconds); `pressure` (1 is too much), `over`, `reasons`, `thresholds`."""
    return {
        "type": "branch",
        "repository": found.repository.id,
        "id": found.branch.id,
        "commit_id": found.branch.commit_id,
        "staging_token": found.branch.staging_token,
        "staged": found.load.staged,
        "tombstones": found.load.tombstones,
        "layers": found.load.layers,
        "age": span_for_machines(found.load.age),
        "pressure": round(found.pressure.value, 6),
        "over": found.pressure.over,
        "reasons": list(found.pressure.reasons),
        "thresholds": _limits(found.thresholds),
    }


def history_document(history: CompactionHistory) -> Document:
    """`outcomes` (how many of each), `seconds` (all together), `recent`: newest first, each with `began`, `seconds`,
    `outcome` ("compacted", "lost", "failed"), and of what it compacted `layers`, `records`, `tombstones`."""
    return {
        "outcomes": {outcome.value: count for outcome, count in history.outcomes.items()},
        "seconds": round(history.seconds, 6),
        "recent": [
            {
                "began": time_for_machines(run.began),
                "seconds": round(run.seconds, 6),
                "outcome": run.outcome.value,
                "layers": run.layers,
                "records": run.records,
                "tombstones": run.tombstones,
            }
            for run in reversed(history.recent)
        ],
    }


def compacted_document(compacted: Compacted) -> Document:
    """`metarange_id` of the new tree, the `layers`, `records` and `tombstones` that went into it, what they `added`,
    `changed` and `removed`, its `entries`, and the `size` in bytes that they describe."""
    return asdict(compacted)


def thresholds_document(repository: str, branch: str | None, thresholds: Thresholds) -> Document:
    """`type` ("thresholds"), `repository`, `branch` (null: all that have none of their own), `tombstones`, `layers`,
    `staged`, `age` (seconds)."""
    return {"type": "thresholds", "repository": repository, "branch": branch, **_limits(thresholds)}


def told_of(found: BranchPressure, history: CompactionHistory) -> Iterator[str]:
    """What a person is told of a branch: a line each."""
    load = found.load
    yield f"branch {found.branch.id} at {found.branch.commit_id[:SHORT_ID]}"
    if load.staged or load.layers:
        what = f"{load.staged:,} records, {load.tombstones:,} of them tombstones, in {load.layers:,} sealed layers"
        yield f"staged {what}, for {span_for_people(load.age)}: pressure {found.pressure.value:.2f}"
    for reason in found.pressure.reasons:
        yield f"to be compacted: {reason}"
    for run in list(reversed(history.recent))[:_SHOWN_RUNS]:
        yield f"compaction of {time_for_people(run.began)}: {_told_of(run)} in {run.seconds:.2f} s"


def _told_of(run: CompactionRun) -> str:
    what = f", {run.records:,} records of {run.layers:,} layers" if run.layers else ""
    return f"{run.outcome.value}{what}"


def _limits(thresholds: Thresholds) -> Document:
    return {
        "tombstones": thresholds.tombstones,
        "layers": thresholds.layers,
        "staged": thresholds.staged,
        "age": span_for_machines(thresholds.age),
    }


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
    empty="nothing much is staged",
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
