"""Writes and transactions that trust what they saw before, and commits that wait for each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import greenlet

from graveler_core.engine import commit, remove, transact, write
from graveler_core.engine.view import View
from graveler_core.errors import OutcomeUnknown, PredicateFailed, SlowDown
from graveler_core.model.entry import Entry
from graveler_core.model.index import Index
from graveler_core.stores import Stores
from tests.simulation.mutants.plant import instead, mutant

PATIENCE = 200
LOCK = (b"locks", b"commits")


@mutant(seed=12, breaks="5")
def writers_forget_a_lost_answer() -> Iterator[None]:
    """A write whose answer was lost says that nothing happened when the closing re-read fails too."""
    real = write.set_records

    def forgets(*arguments: Any, **options: Any) -> None:
        try:
            real(*arguments, **options)
        except OutcomeUnknown as e:
            if isinstance(e.__cause__, SlowDown):
                raise e.__cause__ from None
            raise

    with instead((write, "set_records", forgets), (remove, "set_records", forgets)):
        yield


@mutant(seed=49, breaks="4")
def transact_looks_at_its_paths_only_once() -> Iterator[None]:
    """A transaction that lost a swap is checked against what its paths held at the first try."""
    real_call, real_held = transact._call, transact._held
    first: dict[object, dict[str, Entry]] = {}

    def call(*arguments: Any) -> Any:
        first.pop(greenlet.getcurrent(), None)
        return real_call(*arguments)

    def held(view: View, index: Index, paths: Sequence[str]) -> dict[str, Entry]:
        if index != view.head:
            return real_held(view, index, paths)
        caller = greenlet.getcurrent()
        if caller not in first:
            first[caller] = real_held(view, index, paths)
        return first[caller]

    with instead((transact, "_call", call), (transact, "_held", held)):
        yield


@mutant(seed=22, breaks="6")
def commits_take_a_lock() -> Iterator[None]:
    """A commit holds a record in the store until it ends; one that crashes holds it for ever."""
    real = commit._commit

    def locked(stores: Stores, *rest: Any) -> Any:
        for _ in range(PATIENCE):
            try:
                stores.kv.set_if(*LOCK, b"", None)
            except PredicateFailed:
                stores.clock.sleep(1)
                continue
            try:
                return real(stores, *rest)
            finally:
                stores.kv.delete(*LOCK)
        raise SlowDown("another commit holds the lock")

    with instead((commit, "_commit", locked)):
        yield
