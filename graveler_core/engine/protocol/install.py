"""Install rule: decide whether a result that was built from one branch record may be installed over the current record.

The rule is one pure function. Commit, compaction and reset use it. A builder starts from a base (branch uid, head,
compacted tree) and a list of layers, newest first. Its result depends on these inputs only. Layers leave a branch
record only at its oldest end, by a swap that this rule allows, and they never return. Therefore all layers above the
builder's layers are newer than all of the builder's layers, and they stay in the record.

Seed 003 states the rule for lists that are oldest first. The lists here are newest first, as in seed 004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from graveler_core.model.entities import BranchRecord
from graveler_core.model.layers import Layer, PrefixRestoration


class InstallVerdict(Enum):
    """Next step of a builder."""

    INSTALL = "install"
    """Swap the record: install the result, and remove exactly the layers that it was built from."""
    REBASE = "rebase"
    """Build again on the current record, from the layers that remain."""
    RESTART = "restart"
    """The layers were combined into a compacted tree. Build again from the current record."""
    ABSORBED = "absorbed"
    """Another commit contains the changes of all layers."""
    DISCARDED = "discarded"
    """A reset discarded some of the layers."""
    GONE = "gone"
    """The branch was deleted, or deleted and created again."""


@dataclass(frozen=True, slots=True)
class InstallDecision:
    """A verdict, and the layers (newest first) to build from after REBASE and RESTART."""

    verdict: InstallVerdict
    layers: tuple[Layer, ...] = ()


def decide(base: BranchRecord, layers: Sequence[Layer], current: BranchRecord | None) -> InstallDecision:
    """Apply the rule.

    Args:
        base: Branch record that the builder started from.
        layers: Layers that it built from, newest first: the oldest layers of `base.sealed_tokens`.
        current: Current branch record; `None` if there is none.
    """
    if current is None or current.uid != base.uid:
        return InstallDecision(InstallVerdict.GONE)
    listed = current.sealed_tokens
    mine = [layer.id for layer in layers]
    same_base = (base.commit_id, base.compacted_metarange) == (current.commit_id, current.compacted_metarange)
    above = len(listed) - len(mine)
    if same_base and above >= 0 and [layer.id for layer in listed[above:]] == mine:
        # A newer restoration would be undone: it restores the state of the head, and this swap moves the head.
        if any(isinstance(layer, PrefixRestoration) for layer in listed[:above]):
            return InstallDecision(InstallVerdict.REBASE, listed)
        return InstallDecision(InstallVerdict.INSTALL)
    left = [layer for layer in layers if layer.id in {other.id for other in listed}]
    if left or (not layers and base.compacted_metarange is None):
        # Without layers, nothing can be absorbed or discarded: an empty commit is built again on the current record.
        restored = any(isinstance(layer, PrefixRestoration) for layer in listed[: len(listed) - len(left)])
        return InstallDecision(InstallVerdict.REBASE, listed if restored else tuple(left))
    if current.compacted_metarange is not None:
        return InstallDecision(InstallVerdict.RESTART, listed)
    return InstallDecision(InstallVerdict.ABSORBED if current.epoch == base.epoch else InstallVerdict.DISCARDED)


def without_tail(current: BranchRecord, layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Return the layers that remain after the oldest layers have been installed."""
    return current.sealed_tokens[: len(current.sealed_tokens) - len(layers)]
