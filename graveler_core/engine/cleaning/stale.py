"""Completing what stopped half-way: creations that were never activated, deletions that left the name taken.

They take the common way of deletion (`engine.deletion`), from the very record that was found: what has become active
meanwhile is left alone. After it the entry stands, and the cleaner goes on by that.
"""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.engine.cleaning.work import Position, Step, Work
from graveler_core.engine.deletion import complete_deletion
from graveler_core.model.entities import RepositoryState
from graveler_core.refs.repositories import completion_time


def stale(work: Work, at: Position) -> Iterator[Step]:
    """Go through the records of repositories that are neither active nor fresh."""
    for name, held in work.repositories(at[0]):
        if held.value.state is not RepositoryState.ACTIVE and work.is_past(
            held.value.since, completion_time(held.value)
        ):
            with work.trying(f"repository {name}"):
                work.done.deletions += work.plan.dry_run or complete_deletion(work.stores, held)
        yield (name,), 1
