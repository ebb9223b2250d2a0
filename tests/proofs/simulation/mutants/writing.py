"""Mutants of writes and transactions that use outdated values, and of commits that wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import greenlet

from graveler_core.engine.committing import commit, transact
from graveler_core.engine.committing.existing import ExistingEntries
from graveler_core.engine.staging import remove, write
from graveler_core.errors import Kind, NotFound, OutcomeUnknown, PredicateFailed, SlowDown
from graveler_core.stores import Stores
from tests.proofs.simulation.mutants.plant import instead, mutant

PATIENCE = 200
LOCK = (b"locks", b"commits")


@mutant(seed=12, breaks="5")
def writers_forget_a_lost_answer() -> Iterator[None]:
    """A write without a response reports that nothing happened if the closing re-read fails too."""
    with _raising_the_cause(lambda cause: isinstance(cause, SlowDown)):
        yield


@mutant(seed=3, breaks="5", theme="leftovers")
def writers_call_undone_what_a_deleted_repository_holds() -> Iterator[None]:
    """A write whose closing re-read finds the repository deleted reports that nothing happened."""
    gone = (Kind.RepositoryNotFound, Kind.RepositoryDeleting)
    with _raising_the_cause(lambda cause: isinstance(cause, NotFound) and cause.kind in gone):
        yield


@mutant(seed=9, breaks="5", theme="branches")
def writers_call_undone_what_a_deleted_branch_showed() -> Iterator[None]:
    """A write whose closing re-read finds the branch deleted reports that nothing happened."""
    with _raising_the_cause(lambda cause: isinstance(cause, NotFound) and cause.kind is Kind.BranchNotFound):
        yield


@mutant(seed=374, breaks="4")
def transact_looks_at_its_paths_only_once() -> Iterator[None]:
    """A transaction that lost a swap compares its expectations with the content at its first attempt."""
    real_call, real_existing = transact._call, transact._existing
    first: dict[object, ExistingEntries] = {}

    def call(*arguments: Any) -> Any:
        first.pop(greenlet.getcurrent(), None)
        return real_call(*arguments)

    def existing(*arguments: Any) -> ExistingEntries:
        caller = greenlet.getcurrent()
        if caller not in first:
            first[caller] = real_existing(*arguments)
        return first[caller]

    with instead((transact, "_call", call), (transact, "_existing", existing)):
        yield


@mutant(seed=22, breaks="6")
def commits_take_a_lock() -> Iterator[None]:
    """A commit locks a record in the store until it ends. If it crashes, the lock is never released."""
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


def _raising_the_cause(undone: Callable[[BaseException], bool]) -> AbstractContextManager[None]:
    """Let single writes raise the cause of an unknown outcome, where it is one of these."""
    real = write.set_records

    def forgets(*arguments: Any, **options: Any) -> None:
        try:
            real(*arguments, **options)
        except OutcomeUnknown as e:
            if e.__cause__ is not None and undone(e.__cause__):
                raise e.__cause__ from None
            raise

    return instead((write, "set_records", forgets), (remove, "set_records", forgets))
