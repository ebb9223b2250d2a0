"""The install rule: may what was built from one branch record be installed over the record that stands there now?

One pure function, used by commit, compaction and reset. A builder works from a base (branch uid, head, compacted tree)
and a list of layers, newest first; its result is a function of exactly these. Layers leave a record only at its old
end, by a swap that this rule allows, and never come back; so the layers that stand above a tail of the builder's own
are newer than all of it, and stay.

Seed 003 states the rule for lists that are oldest first; ours are newest first, as in seed 004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from graveler_core.model.entities import Branch
from graveler_core.model.layers import Layer, PrefixRestoration


class Verdict(Enum):
    """What a builder does next."""

    INSTALL = "install"
    """Swap: the result in, exactly the layers it was built from out."""
    REBASE = "rebase"
    """Build again on the current record, from the layers that are left."""
    RESTART = "restart"
    """The layers went into a compacted tree: build again from the current record."""
    ABSORBED = "absorbed"
    """Another commit took all of them."""
    DISCARDED = "discarded"
    """A reset took some of them."""
    GONE = "gone"
    """The branch was deleted, or deleted and created anew."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and the layers (newest first) to build from for REBASE and RESTART."""

    verdict: Verdict
    layers: tuple[Layer, ...] = ()


def decide(base: Branch, layers: Sequence[Layer], current: Branch | None) -> Decision:
    """Apply the rule.

    Args:
        base: The branch record that the builder worked from.
        layers: The layers that it built from, newest first: a tail of `base.sealed_tokens`.
        current: The record that stands there now; None if there is none.
    """
    if current is None or current.uid != base.uid:
        return Decision(Verdict.GONE)
    listed = current.sealed_tokens
    mine = [layer.id for layer in layers]
    same_base = (base.commit_id, base.compacted_metarange) == (current.commit_id, current.compacted_metarange)
    above = len(listed) - len(mine)
    if same_base and above >= 0 and [layer.id for layer in listed[above:]] == mine:
        # A restoration above would be undone: what it restores to is the head, which this swap moves.
        if any(isinstance(layer, PrefixRestoration) for layer in listed[:above]):
            return Decision(Verdict.REBASE, listed)
        return Decision(Verdict.INSTALL)
    left = [layer for layer in layers if layer.id in {other.id for other in listed}]
    if left or (not layers and base.compacted_metarange is None):
        # Without layers nothing can have been taken: an empty commit is built again on what stands.
        restored = any(isinstance(layer, PrefixRestoration) for layer in listed[: len(listed) - len(left)])
        return Decision(Verdict.REBASE, listed if restored else tuple(left))
    if current.compacted_metarange is not None:
        return Decision(Verdict.RESTART, listed)
    return Decision(Verdict.ABSORBED if current.epoch == base.epoch else Verdict.DISCARDED)


def without_tail(current: Branch, layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """The layers that stay once a tail has been installed."""
    return current.sealed_tokens[: len(current.sealed_tokens) - len(layers)]
