"""Mutants that skip or weaken the checks before a head moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graveler_core.engine.committing import basis, transact
from graveler_core.engine.merging import merge, transplant
from graveler_core.engine.reading.uncommitted import against_head
from graveler_core.engine.reading.view import view_of
from graveler_core.engine.references import reset
from graveler_core.errors import DirtyBranch
from graveler_core.stores import Registers, Stores
from tests.proofs.simulation.mutants.plant import instead, mutant


def _nothing(*_: Any) -> None:
    """No check at all."""


def _by_effect(stores: Stores, registers: Registers, what: str) -> None:
    """A branch that shows what its head holds counts as clean."""
    if any(len(page) for page in against_head(view_of(stores, registers), stores.uncommitted)):
        raise DirtyBranch(what)


@mutant(seed=35, breaks="4")
def merge_without_the_dirty_check() -> Iterator[None]:
    """A merge does not check for staged changes on the destination."""
    with instead((merge, "require_clean", _nothing)):
        yield


@mutant(seed=146, breaks="4")
def hard_reset_without_the_dirty_check() -> Iterator[None]:
    """A hard reset does not check for staged changes."""
    with instead((reset, "require_clean", _nothing)):
        yield


@mutant(seed=52, breaks="4")
def replay_without_the_dirty_check() -> Iterator[None]:
    """A cherry-pick or revert does not check for staged changes."""
    with instead((transplant, "require_clean", _nothing)):
        yield


@mutant(seed=204, breaks="4")
def dirty_is_judged_by_effect() -> Iterator[None]:
    """A branch counts as clean if readers see the content of its head, although records are staged."""
    checks = [(module, "require_clean", _by_effect) for module in (merge, reset, transplant)]
    with instead(*checks):
        yield


@mutant(seed=77, breaks="4")
def transact_ignores_staged_paths() -> Iterator[None]:
    """A transaction does not check whether its paths are staged."""
    with instead((transact, "_require_unstaged", _nothing)):
        yield


@mutant(seed=85, breaks="4")
def transact_ignores_what_the_paths_hold() -> Iterator[None]:
    """A transaction does not compare its expectations with the content of its paths."""
    real = transact.validate

    def validated(operations: Any, existing: Any, arbiter: Any) -> Any:
        return real(operations, {o.path: o.expected for o in operations if o.expected is not None}, arbiter)

    with instead((transact, "validate", validated)):
        yield


@mutant(seed=13, breaks="4", theme="overwrites")
def overwrite_does_not_look_who_was_there() -> Iterator[None]:
    """A transaction with a basis assumes that the content under the prefix has not changed."""
    with instead((basis, "diff", lambda *_: iter(()))):
        yield


@mutant(seed=56, breaks="1", theme="overwrites")
def overwrite_ignores_what_is_staged() -> Iterator[None]:
    """A transaction with a basis checks for staged changes only at its own paths, not under the whole prefix."""
    with instead((basis, "_staged", _nothing)):
        yield


@mutant(seed=268, breaks="1", theme="overwrites")
def overwrite_ignores_what_was_compacted() -> Iterator[None]:
    """A transaction with a basis checks the layers for staged changes, but not the compacted tree."""
    with instead((basis.KeptDifferences, "between", lambda *_, **__: iter(()))):
        yield


@mutant(seed=12, breaks="4", theme="overwrites")
def overwrite_looks_only_once() -> Iterator[None]:
    """A transaction that lost a swap does not check its basis again."""
    asked: set[int] = set()
    real = transact.require_basis

    def required(stores: Stores, registers: Registers, view: Any, on: Any) -> None:
        if id(on) not in asked:
            asked.add(id(on))
            kept.append(on)
            real(stores, registers, view, on)

    kept: list[Any] = []  # so that no other gets the id
    with instead((transact, "require_basis", required)):
        yield
