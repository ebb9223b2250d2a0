"""The engine's install rule says of the model's records what it says of the engine's own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graveler_core.engine.protocol.install import InstallDecision, InstallVerdict, decide
from graveler_core.model.entities import BranchRecord
from graveler_core.model.ids import BranchId, BranchUid, CommitId, MetarangeId, StagingToken
from graveler_core.model.layers import Layer
from tests.proofs.model.flows import install_rules
from tests.proofs.model.schedule import violation
from tests.proofs.model.state import Record


def _real(record: Record) -> BranchRecord:
    compacted = record.compacted_metarange
    return BranchRecord(
        id=BranchId("main"),
        uid=BranchUid(str(record.uid)),
        epoch=record.epoch,
        commit_id=CommitId(str(id(record.commit_id))),
        staging_token=StagingToken(record.staging_token.id),
        sealed_tokens=record.sealed_tokens,
        compacted_metarange=None if compacted is None else MetarangeId(str(sorted(compacted.items(), key=str))),
    )


def test_the_model_asks_the_engines_own_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[InstallVerdict] = set()

    def both(base: Record, layers: Sequence[Layer], current: Record) -> InstallDecision:
        decision = decide(base, layers, current)  # type: ignore[arg-type]
        assert decision == decide(_real(base), layers, _real(current))
        seen.add(decision.verdict)
        return decision

    monkeypatch.setattr(install_rules, "decide", both)
    for seed in range(4_000):
        assert violation(seed) is None
    # A branch that is gone never reaches the rule here: the fresh read before it says so.
    assert seen >= {
        InstallVerdict.INSTALL,
        InstallVerdict.REBASE,
        InstallVerdict.RESTART,
        InstallVerdict.ABSORBED,
        InstallVerdict.DISCARDED,
    }
