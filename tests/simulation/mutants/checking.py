"""Flows that do not look, or look at the wrong thing, before they move a head."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graveler_core.engine import basis, merge, reset, transact, transplant
from graveler_core.engine.uncommitted import against_head
from graveler_core.engine.view import view_of
from graveler_core.errors import DirtyBranch
from graveler_core.stores import Registers, Stores
from tests.simulation.mutants.plant import instead, mutant


def _nothing(*_: Any) -> None:
    """No check at all."""


def _by_effect(stores: Stores, registers: Registers, what: str) -> None:
    """A branch that shows what its head holds counts as clean."""
    if any(len(page) for page in against_head(view_of(stores, registers), stores.uncommitted)):
        raise DirtyBranch(what)


@mutant(seed=35, breaks="4")
def merge_without_the_dirty_check() -> Iterator[None]:
    """A merge does not ask whether anything is staged on its destination."""
    with instead((merge, "require_clean", _nothing)):
        yield


@mutant(seed=146, breaks="4")
def hard_reset_without_the_dirty_check() -> Iterator[None]:
    """A hard reset does not ask whether anything is staged."""
    with instead((reset, "require_clean", _nothing)):
        yield


@mutant(seed=9, breaks="4")
def replay_without_the_dirty_check() -> Iterator[None]:
    """A cherry-pick or revert does not ask whether anything is staged."""
    with instead((transplant, "require_clean", _nothing)):
        yield


@mutant(seed=204, breaks="4")
def dirty_is_judged_by_effect() -> Iterator[None]:
    """A branch that shows what its head holds counts as clean, whatever is staged on it."""
    checks = [(module, "require_clean", _by_effect) for module in (merge, reset, transplant)]
    with instead(*checks):
        yield


@mutant(seed=69, breaks="4")
def transact_ignores_staged_paths() -> Iterator[None]:
    """A transaction does not ask whether its paths are staged."""
    with instead((transact, "_require_unstaged", _nothing)):
        yield


@mutant(seed=49, breaks="4")
def transact_ignores_what_the_paths_hold() -> Iterator[None]:
    """A transaction takes what it expects for what is there."""
    real = transact.validate

    def validated(operations: Any, existing: Any, arbiter: Any) -> Any:
        return real(operations, {o.path: o.expected for o in operations if o.expected is not None}, arbiter)

    with instead((transact, "validate", validated)):
        yield


@mutant(seed=3, breaks="4", theme="overwrites")
def overwrite_does_not_look_who_was_there() -> Iterator[None]:
    """A transaction that depends on a prefix goes by what its author saw there."""
    with instead((basis, "diff", lambda *_: iter(()))):
        yield


@mutant(seed=56, breaks="1", theme="overwrites")
def overwrite_ignores_what_is_staged() -> Iterator[None]:
    """A transaction that depends on a prefix asks for what is staged at its own paths only."""
    with instead((basis, "_staged", _nothing)):
        yield


@mutant(seed=257, breaks="1", theme="overwrites")
def overwrite_ignores_what_was_compacted() -> Iterator[None]:
    """A transaction that depends on a prefix looks at the layers, not into the compacted tree."""
    with instead((basis.KeptDifferences, "between", lambda *_, **__: iter(()))):
        yield


@mutant(seed=12, breaks="4", theme="overwrites")
def overwrite_looks_only_once() -> Iterator[None]:
    """A transaction that lost a swap does not ask again whether its basis stands."""
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
