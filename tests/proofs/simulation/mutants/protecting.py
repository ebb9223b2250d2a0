"""Mutants of writes and removals that ignore protection rules or use outdated ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graveler_core.committed.index.fold import fold
from graveler_core.engine.protocol import registers
from graveler_core.engine.reading import checks
from graveler_core.engine.staging import bulk, remove, write
from graveler_core.errors import OutcomeUnknown, PermissionDenied
from graveler_core.model.checks import CheckReport
from graveler_core.model.entities import RepositoryRecord
from graveler_core.objects.commits import StoredCommit
from graveler_core.stores import Registers, Stores
from tests.proofs.simulation.mutants.plant import instead, mutant

PROTECTION = "protected branches do not change"


@mutant(seed=3, breaks=PROTECTION, theme="protection")
def writers_trust_the_rules_that_they_remember() -> Iterator[None]:
    """The closing re-read of a write does not compare the protection rules."""

    def same(used: Registers, now: Registers) -> bool:
        return registers._same_place(used, now) and used.branch.staging_token == now.branch.staging_token

    with instead((write, "same_token", same)):
        yield


@mutant(seed=1, breaks="5", theme="protection")
def a_refused_writer_forgets_what_it_has_staged() -> Iterator[None]:
    """A write that was staged before its closing re-read found a new protection rule reports that nothing changed."""
    real = write.set_records

    def forgets(*arguments: Any, **options: Any) -> None:
        try:
            real(*arguments, **options)
        except OutcomeUnknown as e:
            if isinstance(e.__cause__, PermissionDenied):
                raise e.__cause__ from None
            raise

    with instead((write, "set_records", forgets), (remove, "set_records", forgets)):
        yield


@mutant(seed=41, breaks=PROTECTION, theme="protected removals")
def removals_of_staged_entries_ask_no_rule() -> Iterator[None]:
    """A removal of a staged entry that was never committed ignores the protection rules."""
    with instead((remove, "permits", lambda *_: True)):
        yield


@mutant(seed=1, breaks=PROTECTION, theme="protection")
def bulk_writes_ask_no_rule() -> Iterator[None]:
    """Bulk writes add layers to protected branches."""
    with instead((bulk, "require_permitted", lambda *_: None)):
        yield


@mutant(seed=49, breaks=PROTECTION, theme="protection")
def an_older_report_on_the_tree_counts() -> Iterator[None]:
    """A report on a tree replaces a newer report on the commit."""
    real = checks.reports_on_commit

    def reports(stores: Stores, repository: RepositoryRecord, commit: StoredCommit) -> dict[str, CheckReport]:
        tree = fold(stores.indexes(repository), commit.layout.index, mapper=stores.executor.map)
        return {**real(stores, repository, commit), **checks.reports_on_tree(stores, repository, tree)}

    with instead((checks, "reports_on_commit", reports)):
        yield
