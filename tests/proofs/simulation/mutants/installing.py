"""Mutants of the install rule for commits and compactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import greenlet

from graveler_core.engine.committing import commit
from graveler_core.engine.compacting import compaction
from graveler_core.engine.protocol import install
from graveler_core.engine.protocol.install import InstallDecision, InstallVerdict
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.swap import cleanups, record_writes, swap
from graveler_core.model.entities import BranchRecord
from graveler_core.model.ids import MetarangeId
from graveler_core.model.layers import Layer
from graveler_core.records.access import Held
from graveler_core.stores import Registers, Stores
from tests.proofs.simulation.mutants.plant import instead, mutant

Decide = Callable[[BranchRecord, Sequence[Layer], BranchRecord | None], InstallDecision]
INSTALL = InstallDecision(InstallVerdict.INSTALL)


def _based_on(base: BranchRecord, current: BranchRecord | None) -> BranchRecord:
    """A base that never moved."""
    if current is None:
        return base
    update = {"commit_id": current.commit_id, "compacted_metarange": current.compacted_metarange}
    return base.model_copy(update=update)


def _regardless_of_the_base(
    base: BranchRecord, layers: Sequence[Layer], current: BranchRecord | None
) -> InstallDecision:
    return install.decide(_based_on(base, current), layers, current)


@mutant(seed=79, breaks="3")
def commit_clears_all_sealed_layers() -> Iterator[None]:
    """The swap of a commit removes all sealed layers, not only those from which it was built."""
    with instead((commit, "without_tail", lambda current, layers: ())):
        yield


@mutant(seed=298, breaks="3")
def commit_clears_the_newest_layers() -> Iterator[None]:
    """The swap of a commit removes the right number of layers, but the newest ones."""
    with instead((commit, "without_tail", lambda current, layers: current.sealed_tokens[len(layers) :])):
        yield


@mutant(seed=354, breaks="3")
def commit_ignores_that_the_base_moved() -> Iterator[None]:
    """A commit is installed if its layers are unchanged, although the head has moved."""
    with instead((commit, "decide", _regardless_of_the_base)):
        yield


@mutant(seed=464, breaks="3")
def commit_reads_the_rule_oldest_first() -> Iterator[None]:
    """The install rule treats the list of layers, which is newest first, as oldest first."""

    def literally(base: BranchRecord, layers: Sequence[Layer], current: BranchRecord | None) -> InstallDecision:
        if current is None or current.uid != base.uid:
            return InstallDecision(InstallVerdict.GONE)
        listed, mine = current.sealed_tokens, tuple(layers)
        same = (base.commit_id, base.compacted_metarange) == (current.commit_id, current.compacted_metarange)
        if same and listed[: len(mine)] == mine:
            return InstallDecision(InstallVerdict.INSTALL)
        left = [mine[start:] for start in range(len(mine)) if listed[: len(mine) - start] == mine[start:]]
        return InstallDecision(InstallVerdict.REBASE, left[0]) if left else InstallDecision(InstallVerdict.ABSORBED)

    with instead((commit, "decide", literally)):
        yield


@mutant(seed=75, breaks="3", theme="prefixes")
def restorations_do_not_block_commits() -> Iterator[None]:
    """A commit is installed below a prefix restoration that was added after its seal."""
    with instead((install, "PrefixRestoration", type("Never", (), {}))):
        yield


@mutant(seed=354, breaks="3")
def commit_uses_the_tree_of_a_lost_attempt() -> Iterator[None]:
    """A commit that lost a swap keeps the tree that it built on the old base."""
    real_build, real_made = commit._prepare, commit._successor
    made: dict[tuple[str, ...], Any] = {}
    mine: dict[object, tuple[str, ...]] = {}

    def build(stores: Stores, registers: Registers, layers: tuple[Layer, ...], *rest: Any) -> Any:
        mine[greenlet.getcurrent()] = tuple(layer.id for layer in layers)
        return real_build(stores, registers, layers, *rest)

    def made_of(*arguments: Any) -> Any:
        key = mine[greenlet.getcurrent()]
        if key not in made:
            made[key] = real_made(*arguments)
        return made[key]

    with instead((commit, "_prepare", build), (commit, "_successor", made_of)):
        yield


@mutant(seed=189, breaks="3", theme="transactions")
def commit_takes_compacted_changes_for_committed() -> Iterator[None]:
    """A commit whose layers were compacted reports that another commit contains them."""

    def absorbed(base: BranchRecord, layers: Sequence[Layer], current: BranchRecord | None) -> InstallDecision:
        decision = install.decide(base, layers, current)
        return InstallDecision(InstallVerdict.ABSORBED) if decision.verdict is InstallVerdict.RESTART else decision

    with instead((commit, "decide", absorbed)):
        yield


@mutant(seed=485, breaks="3")
def commit_takes_discarded_changes_for_committed() -> Iterator[None]:
    """A commit whose layers were discarded by a reset reports that another commit contains them."""

    def absorbed(base: BranchRecord, layers: Sequence[Layer], current: BranchRecord | None) -> InstallDecision:
        decision = install.decide(base, layers, current)
        return InstallDecision(InstallVerdict.ABSORBED) if decision.verdict is InstallVerdict.DISCARDED else decision

    left = partial(_without_reset, commit._layers_left)
    with instead((commit, "decide", absorbed), (commit, "_layers_left", left)):
        yield


def _without_reset(real: Callable[..., tuple[Layer, ...]], *args: Any, **options: Any) -> tuple[Layer, ...]:
    """The layers left, with no look at the epoch of the first attempt."""
    return real(*args, **options | {"reset": False})


@mutant(seed=0, breaks="3")
def commit_ignores_the_compacted_tree() -> Iterator[None]:
    """A commit is built on the head although there is a compacted tree."""
    real = commit._prepare

    def build(stores: Stores, registers: Registers, *rest: Any) -> Any:
        held = Held(registers.branch.model_copy(update={"compacted_metarange": None}), registers.held.predicate)
        return replace(real(stores, Registers(registers.repository, held), *rest), base=registers.branch)

    with instead((commit, "_prepare", build)):
        yield


@mutant(seed=434, breaks="8")
def compaction_installs_whatever_came_between() -> Iterator[None]:
    """A compaction is installed over any branch record."""
    with instead((compaction, "_install", _installing(lambda base, layers, current: INSTALL, lambda current, n: ()))):
        yield


@mutant(seed=67, breaks="8", theme="transactions")
def compaction_checks_the_layers_only() -> Iterator[None]:
    """A compaction is installed if its layers are unchanged, although the head has moved."""
    with instead((compaction, "decide", _regardless_of_the_base)):
        yield


@mutant(seed=594, breaks="8")
def compaction_clears_later_layers() -> Iterator[None]:
    """The swap of a compaction removes layers that were added after its seal."""
    with instead((compaction, "_install", _installing(install.decide, lambda current, n: ()))):
        yield


def _installing(decide: Decide, staying: Callable[[BranchRecord, int], tuple[Layer, ...]]) -> Callable[..., None]:
    def installed(stores: Stores, sealed: Registers, metarange: MetarangeId, *_: Any) -> None:
        layers = sealed.branch.sealed_tokens
        record_writes(stores, cleanups(stores, sealed, layers))
        while True:
            now = fresh(stores, sealed.repository.id, sealed.branch.id)
            if decide(sealed.branch, layers, now.branch).verdict is not InstallVerdict.INSTALL:
                raise compaction._lost(now.branch.id)
            update = {"compacted_metarange": metarange, "sealed_tokens": staying(now.branch, len(layers))}
            if swap(stores, now, now.branch.model_copy(update=update)) is not None:
                return

    return installed
