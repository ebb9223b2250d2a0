"""The JSON documents of what is staged, spelled out; and what people are told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from graveler_core.cli import staged_views as views
from graveler_core.documents import staging
from graveler_core.engine.compacting.compaction import Compacted
from graveler_core.engine.staging.pressure import BranchPressure
from graveler_core.model.compaction import CompactionHistory, CompactionOutcome, CompactionRun, Thresholds
from graveler_core.model.entities import BranchRecord, RepositoryRecord, RepositoryState
from graveler_core.model.ids import (
    BranchId,
    BranchUid,
    CommitId,
    LayerId,
    MetarangeId,
    RepositoryId,
    RepositoryUid,
    StagingToken,
)
from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from graveler_core.staging.pressure import Load, Pressure

MOMENT = datetime(2013, 1, 1, tzinfo=UTC)
LIMITS = {"tombstones": 10_000, "layers": 20, "staged": 250_000, "age": 86_400.0}


def found(load: Load, pressure: Pressure) -> BranchPressure:
    repository = RepositoryRecord.model_construct(
        id=RepositoryId("flights"), uid=RepositoryUid("u"), state=RepositoryState.ACTIVE
    )
    token = StagingToken("flights/main:t")
    branch = BranchRecord(id=BranchId("main"), uid=BranchUid("b"), commit_id=CommitId("c" * 64), staging_token=token)
    return BranchPressure(repository, branch, load, Thresholds(), pressure)


MUCH = found(
    Load(tombstones=12_000, staged=13_000, layers=3, age=timedelta(hours=1, seconds=1.5)),
    Pressure(1.2, over=True, reasons=("12,000 tombstones of 10,000",)),
)
NOTHING = found(Load(), Pressure(0.0, over=False, reasons=()))
HISTORY = CompactionHistory(uid=BranchUid("b"))
for _number in range(4):
    HISTORY = HISTORY.with_run(
        CompactionRun(
            began=MOMENT + timedelta(days=_number),
            seconds=0.5,
            outcome=CompactionOutcome.COMPACTED,
            layers=2,
            records=1_000,
        )
    )
HISTORY = HISTORY.with_run(CompactionRun(began=MOMENT, seconds=1.0, outcome=CompactionOutcome.LOST))


@pytest.mark.parametrize(
    ("layer", "kind", "identifier", "prefix", "count"),
    [
        (SealedToken(token=StagingToken("t")), "token", "t", None, None),
        (SegmentLayer(id=LayerId("s"), count=7), "segment", "s", None, 7),
        (PrefixRemoval(id=LayerId("r"), prefix="a/"), "removal", "r", "a/", None),
        (PrefixRestoration(id=LayerId("q"), prefix=""), "restoration", "q", "", None),
    ],
)
def test_layer(layer: Layer, kind: str, identifier: str, prefix: str | None, count: int | None) -> None:
    document = {"type": "layer", "kind": kind, "id": identifier, "prefix": prefix, "count": count}
    assert views.LAYERS.document(layer) == document
    assert views.LAYERS.cells(layer) == (kind, count, prefix, identifier)


def test_what_is_staged() -> None:
    assert staging.staged_document(MUCH) == {
        "type": "branch",
        "repository": "flights",
        "id": "main",
        "commit_id": "c" * 64,
        "staging_token": "flights/main:t",
        "staged": 13_000,
        "tombstones": 12_000,
        "layers": 3,
        "age": 3_601.5,
        "pressure": 1.2,
        "over": True,
        "reasons": ["12,000 tombstones of 10,000"],
        "thresholds": LIMITS,
    }
    cells = views.STAGED.cells(MUCH)
    assert cells == (1.2, 12_000, 13_000, 3, MUCH.load.age, "flights/main", "12,000 tombstones of 10,000")
    shown = [column.people(cell) for column, cell in zip(views.STAGED.columns, cells, strict=True)]
    assert shown[:5] == ["1.20", "12,000", "13,000", "3", "1:00:01"]
    plain = [column.machines(cell) for column, cell in zip(views.STAGED.columns, cells, strict=True)]
    assert plain[:5] == ["1.200000", "12000", "13000", "3", "3601.5"]


def test_what_compactions_did() -> None:
    document = staging.history_document(HISTORY)
    assert (document["outcomes"], document["seconds"]) == ({"compacted": 4, "lost": 1}, 3.0)
    assert len(document["recent"]) == 5
    assert document["recent"][:2] == [
        {
            "began": "2013-01-01T00:00:00.000000Z",
            "seconds": 1.0,
            "outcome": "lost",
            "layers": 0,
            "records": 0,
            "tombstones": 0,
        },
        {
            "began": "2013-01-04T00:00:00.000000Z",
            "seconds": 0.5,
            "outcome": "compacted",
            "layers": 2,
            "records": 1_000,
            "tombstones": 0,
        },
    ]


def test_what_a_compaction_did() -> None:
    made = Compacted(MetarangeId("m"), 2, 10, 3, 4, 2, 3, 100, 5_000)
    assert staging.compacted_document(made) == {
        "metarange_id": "m",
        "layers": 2,
        "records": 10,
        "tombstones": 3,
        "added": 4,
        "changed": 2,
        "removed": 3,
        "entries": 100,
        "size": 5_000,
    }


def test_thresholds() -> None:
    of_all = {"type": "thresholds", "repository": "flights", "branch": None, **LIMITS}
    assert views.THRESHOLDS.document(("flights", None, Thresholds())) == of_all
    assert views.THRESHOLDS.document(("flights", "main", Thresholds()))["branch"] == "main"
    assert views.THRESHOLDS.cells(("flights", None, Thresholds()))[-1] == "all others"


def test_what_a_person_is_told() -> None:
    first, staged, why, *runs = views.branch_lines(MUCH, HISTORY)
    assert first == "branch main at cccccccccccc"
    assert (
        staged == "staged 13,000 records, 12,000 tombstones among them, in 3 sealed layers, for 1:00:01: pressure 1.20"
    )
    assert why == "to be compacted: 12,000 tombstones of 10,000"
    assert len(runs) == 3, "the last three"
    assert runs[0].endswith(": lost in 1.00 s")
    assert runs[1].endswith(": compacted, 1,000 records of 2 layers in 0.50 s")
    assert list(views.branch_lines(NOTHING, CompactionHistory(uid=BranchUid("b")))) == [first]
