"""The install rule: the cases of the guarantees one by one, and every small case against the rule said otherwise."""

from __future__ import annotations

from itertools import product

import pytest

from graveler_core.engine.protocol.install import InstallDecision, InstallVerdict, decide, without_tail
from graveler_core.model.entities import BranchRecord
from graveler_core.model.ids import BranchId, BranchUid, CommitId, LayerId, MetarangeId, StagingToken
from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer


def layer(name: str) -> Layer:
    """A layer by a letter: R… restorations, P… removals, S… segments, others tokens."""
    if name in "RQ":
        return PrefixRestoration(id=LayerId(name), prefix="p/")
    if name == "P":
        return PrefixRemoval(id=LayerId(name), prefix="p/")
    if name == "S":
        return SegmentLayer(id=LayerId(name), count=1)
    return SealedToken(token=StagingToken(name))


def layers(names: str) -> tuple[Layer, ...]:
    """Layers newest first."""
    return tuple(layer(name) for name in names)


def branch(sealed: str, head: str = "c1", compacted: str = "", epoch: int = 0, uid: str = "u") -> BranchRecord:
    return BranchRecord(
        id=BranchId("main"),
        uid=BranchUid(uid),
        epoch=epoch,
        commit_id=CommitId(head),
        staging_token=StagingToken("now"),
        sealed_tokens=layers(sealed),
        compacted_metarange=MetarangeId(compacted) if compacted else None,
    )


CASES = {
    "nothing moved": (branch("ba"), "ba", branch("ba"), InstallVerdict.INSTALL, ""),
    "newer layers above": (branch("ba"), "ba", branch("dcba"), InstallVerdict.INSTALL, ""),
    "a removal above": (branch("ba"), "ba", branch("Pba"), InstallVerdict.INSTALL, ""),
    "a restoration above": (branch("ba"), "ba", branch("Rba"), InstallVerdict.REBASE, "Rba"),
    "a restoration further above": (branch("ba"), "ba", branch("cRdba"), InstallVerdict.REBASE, "cRdba"),
    "a restoration of my own": (branch("Ra"), "Ra", branch("cRa"), InstallVerdict.INSTALL, ""),
    "no layers, nothing moved": (branch(""), "", branch("a"), InstallVerdict.INSTALL, ""),
    "no layers, the head moved": (branch(""), "", branch("", "c2"), InstallVerdict.REBASE, ""),
    "no layers, a reset came": (branch(""), "", branch("a", epoch=1), InstallVerdict.INSTALL, ""),
    "no layers, hard reset": (branch(""), "", branch("a", "c0", epoch=1), InstallVerdict.REBASE, ""),
    "a compacted tree alone, committed": (
        branch("", compacted="m"),
        "",
        branch("", "c2"),
        InstallVerdict.ABSORBED,
        "",
    ),
    "no layers, a restoration came": (branch(""), "", branch("R"), InstallVerdict.REBASE, "R"),
    "the oldest was committed": (branch("ba"), "ba", branch("b", "c2"), InstallVerdict.REBASE, "b"),
    "the oldest was committed, newer above": (branch("ba"), "ba", branch("cb", "c2"), InstallVerdict.REBASE, "b"),
    "the oldest left without a new head": (branch("ba"), "ba", branch("b"), InstallVerdict.REBASE, "b"),
    "left over, a restoration above": (branch("ba"), "ba", branch("cRb", "c2"), InstallVerdict.REBASE, "cRb"),
    "the head moved, all listed": (branch("ba"), "ba", branch("ba", "c2"), InstallVerdict.REBASE, "ba"),
    "compacted, all listed": (branch("ba"), "ba", branch("ba", compacted="m"), InstallVerdict.REBASE, "ba"),
    "compacted with mine": (branch("ba"), "ba", branch("", compacted="m"), InstallVerdict.RESTART, ""),
    "compacted with mine, newer above": (branch("ba"), "ba", branch("d", compacted="m"), InstallVerdict.RESTART, "d"),
    "compacted anew": (branch("a", compacted="m"), "a", branch("", compacted="n"), InstallVerdict.RESTART, ""),
    "committed": (branch("ba"), "ba", branch("", "c2"), InstallVerdict.ABSORBED, ""),
    "committed, newer staged": (branch("ba"), "ba", branch("dc", "c2"), InstallVerdict.ABSORBED, ""),
    "without effect": (branch("ba"), "ba", branch(""), InstallVerdict.ABSORBED, ""),
    "reset": (branch("ba"), "ba", branch("", epoch=1), InstallVerdict.DISCARDED, ""),
    "committed, then hard reset": (branch("ba"), "ba", branch("", "c1", epoch=1), InstallVerdict.DISCARDED, ""),
    "half of it committed, then reset": (branch("ba"), "ba", branch("", "c2", epoch=1), InstallVerdict.DISCARDED, ""),
    "deleted": (branch("ba"), "ba", None, InstallVerdict.GONE, ""),
    "created anew": (branch("ba"), "ba", branch("ba", uid="v"), InstallVerdict.GONE, ""),
}


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    base, mine, current, verdict, left = CASES[case]
    assert decide(base, layers(mine), current) == InstallDecision(verdict, layers(left))


def said_otherwise(base: BranchRecord, mine: str, current: BranchRecord | None) -> InstallDecision:
    """The rule as the guarantees state it, on lists written as words."""
    if current is None or current.uid != base.uid:
        return InstallDecision(InstallVerdict.GONE)
    listed = "".join(layer.id for layer in current.sealed_tokens)
    base_stands = base.commit_id == current.commit_id and base.compacted_metarange == current.compacted_metarange
    nothing_to_lose = not mine and (base_stands or base.compacted_metarange is None)
    for taken in range(len(mine), -1, -1):
        head_of_mine = mine[:taken]
        if not listed.endswith(head_of_mine) or (not taken and not nothing_to_lose):
            continue
        newer = listed[: len(listed) - taken]
        if set(newer) & set("RQ"):
            return InstallDecision(InstallVerdict.REBASE, layers(listed))
        if head_of_mine == mine and base_stands:
            return InstallDecision(InstallVerdict.INSTALL)
        return InstallDecision(InstallVerdict.REBASE, layers(head_of_mine))
    if current.compacted_metarange is not None:
        return InstallDecision(InstallVerdict.RESTART, layers(listed))
    return InstallDecision(InstallVerdict.ABSORBED if base.epoch == current.epoch else InstallVerdict.DISCARDED)


def test_every_small_case() -> None:
    """Layers leave at the old end only and come on top only: all that can have happened to up to four of them."""
    cases = 0
    for sealed in ("", "a", "R", "ba", "Ra", "PRa", "SbRa"):
        for own, gone in product(range(len(sealed) + 1), range(len(sealed) + 1)):
            mine = sealed[own:]
            for newer, head, was, now, epoch in product(
                ("", "c", "Q", "P", "cQ", "Qc", "dc"), ("c1", "c2"), ("", "m"), ("", "m", "n"), (0, 1)
            ):
                base = branch(sealed, compacted=was)
                current = branch(newer + sealed[: len(sealed) - gone], head, now, epoch)
                assert decide(base, layers(mine), current) == said_otherwise(base, mine, current)
                cases += 1
    assert cases > 10_000


@pytest.mark.parametrize(("listed", "taken", "left"), [("dcba", "ba", "dc"), ("ba", "ba", ""), ("ba", "", "ba")])
def test_the_tail_leaves(listed: str, taken: str, left: str) -> None:
    assert without_tail(branch(listed), layers(taken)) == layers(left)
