"""Staged layers, compactions and thresholds as JSON documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from graveler_core.documents.values import Document, span_for_machines, time_for_machines

if TYPE_CHECKING:
    from graveler_core.engine.compacting.compaction import Compacted
    from graveler_core.engine.staging.pressure import BranchPressure
    from graveler_core.model.compaction import CompactionHistory, Thresholds
    from graveler_core.model.layers import Layer


def layer_document(layer: Layer) -> Document:
    """Return the document of a layer: `type` ("layer"), `kind` ("token", "segment", "removal" or "restoration"), `id`,
    `prefix` and `count` (null if the kind has none).
    """
    return {
        "type": "layer",
        "kind": layer.kind,
        "id": layer.id,
        "prefix": getattr(layer, "prefix", None),
        "count": getattr(layer, "count", None),
    }


def staged_document(found: BranchPressure) -> Document:
    """Return the document of a branch: `type` ("branch"), `repository`, `id`, `commit_id`, `staging_token`; the counted
    `staged` and `tombstones` (records), `layers`, `age` (seconds); `pressure` (from 1 on, the branch should be
    compacted), `over`, `reasons`, `thresholds`.
    """
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
    """Return the document of a history: `outcomes` (the number of each), `seconds` (in total), `recent`: the last
    compactions, newest first, each with `began`, `seconds`, `outcome` ("compacted", "lost", "failed"), and the numbers
    of compacted `layers`, `records`, `tombstones`.
    """
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
    """Return the document of a compaction: `metarange_id` of the new tree; the numbers of compacted `layers`, `records`
    and `tombstones`, and of `added`, `changed` and `removed` paths; `entries` of the tree, and their total `size` in
    bytes.
    """
    return asdict(compacted)


def thresholds_document(repository: str, branch: str | None, thresholds: Thresholds) -> Document:
    """Return the document of thresholds: `type` ("thresholds"), `repository`, `branch` (null for all branches without
    their own), `tombstones`, `layers`, `staged`, `age` (seconds).
    """
    return {"type": "thresholds", "repository": repository, "branch": branch, **_limits(thresholds)}


def _limits(thresholds: Thresholds) -> Document:
    return {
        "tombstones": thresholds.tombstones,
        "layers": thresholds.layers,
        "staged": thresholds.staged,
        "age": span_for_machines(thresholds.age),
    }
