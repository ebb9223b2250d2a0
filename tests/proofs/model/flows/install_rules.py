"""The install rule: the engine's own function, and the former rules in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from graveler_core.engine.protocol.install import InstallDecision, InstallVerdict, decide
from graveler_core.model.entities import BranchRecord
from graveler_core.model.layers import Layer
from tests.proofs.model.former import Former
from tests.proofs.model.state import Record

Rule: TypeAlias = Callable[[Record, Sequence[Layer], Record], InstallDecision]


def install_rule(former: Former) -> Rule:
    """The rule that is in force."""
    if former.suffix_is_prefix:
        return _suffix_is_prefix
    if former.equal_tokens:
        return _equal_tokens
    if former.restoration_does_not_block:
        return _restoration_does_not_block
    if former.absorbed_by_reset:
        return _absorbed_by_reset
    if former.compacted_is_absorbed:
        return _compacted_is_absorbed
    return _decided


def _decided(base: Record, layers: Sequence[Layer], current: Record) -> InstallDecision:
    # The rule reads exactly the fields that the model's record has.
    return decide(cast(BranchRecord, base), layers, cast(BranchRecord, current))


def _suffix_is_prefix(base: Record, layers: Sequence[Layer], current: Record) -> InstallDecision:
    if current.uid != base.uid:
        return InstallDecision(InstallVerdict.GONE)
    listed = current.sealed_tokens
    if _same_base(base, current) and listed[: len(layers)] == tuple(layers):
        return InstallDecision(InstallVerdict.INSTALL)
    for start in range(len(layers)):
        left = tuple(layers[start:])
        if listed[: len(left)] == left:
            return InstallDecision(InstallVerdict.REBASE, left)
    return InstallDecision(InstallVerdict.ABSORBED)


def _equal_tokens(base: Record, layers: Sequence[Layer], current: Record) -> InstallDecision:
    if current.uid == base.uid and current.sealed_tokens == tuple(layers):
        return InstallDecision(InstallVerdict.INSTALL)
    return _decided(base, layers, current)


def _restoration_does_not_block(base: Record, layers: Sequence[Layer], current: Record) -> InstallDecision:
    decision = _decided(base, layers, current)
    if decision.verdict is not InstallVerdict.REBASE:
        return decision
    left = tuple(layer for layer in layers if layer in current.sealed_tokens)
    whole = _same_base(base, current) and left == tuple(layers)
    return InstallDecision(InstallVerdict.INSTALL) if whole else InstallDecision(InstallVerdict.REBASE, left)


def _absorbed_by_reset(base: Record, layers: Sequence[Layer], current: Record) -> InstallDecision:
    decision = _decided(base, layers, current)
    return InstallDecision(InstallVerdict.ABSORBED) if decision.verdict is InstallVerdict.DISCARDED else decision


def _compacted_is_absorbed(base: Record, layers: Sequence[Layer], current: Record) -> InstallDecision:
    decision = _decided(base, layers, current)
    return InstallDecision(InstallVerdict.ABSORBED) if decision.verdict is InstallVerdict.RESTART else decision


def _same_base(base: Record, current: Record) -> bool:
    return (base.commit_id, base.compacted_metarange) == (current.commit_id, current.compacted_metarange)
