"""Merge that keeps the source's commits: each is repeated on the destination, and the last one is the merge commit.

The commits to repeat are those on the source's chain of first parents that the destination does not have. Each is
repeated with its changes against its first parent, as far as the destination accepts them
(`committed.index.replay`). Commits of which no change is accepted are left out. Repeated commits keep their messages
and metadata. The last one has the source as its second parent, so that the next merge finds its merge base. Changes
that no repeated commit contains (the value of a resolution) become a separate commit, which is then the last.

Everything here is written before the swap in `engine.merging.merge` makes the last commit the head. A crash leaves
only garbage. The ids of the commits and the changes of one commit are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from graveler_core.committed.index.replay import replayed, rest
from graveler_core.committed.index.resolutions import MergeRules
from graveler_core.committed.index.successor import Successor, successor
from graveler_core.engine.committing.draft import CommitContent, Draft, new_commit
from graveler_core.engine.committing.head import NewHead
from graveler_core.engine.merging.combine import Combination
from graveler_core.engine.merging.sides import MergeRequest, Sides, nothing
from graveler_core.engine.protocol.registers import require_repository
from graveler_core.engine.protocol.swap import Write, record_writes
from graveler_core.engine.reading.view import commit_of
from graveler_core.model.clock import Instant
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.objects.build_time import require_in_time
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.log import LogPosition, log
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class MergeCall:
    """Values that stay the same over all attempts of a merge."""

    request: MergeRequest
    rules: MergeRules
    draft: Draft
    nonces: dict[CommitId | None, Nonce] = field(default_factory=dict)
    """Nonces of the new commits, by the commit that each repeats; `None` for the merge itself."""

    def nonce(self, stores: Stores, repeats: CommitId | None = None) -> Nonce:
        """Return the nonce of a logical commit, which stays the same over attempts."""
        if repeats not in self.nonces:
            self.nonces[repeats] = Nonce(stores.ids.fresh())
        return self.nonces[repeats]


@dataclass(frozen=True, slots=True)
class _Link:
    """New commit without its parents."""

    draft: Draft
    nonce: Nonce
    made: Successor


def chain(
    stores: Stores, registers: Registers, sides: Sides, combination: Combination, call: MergeCall
) -> NewHead | None:
    """Prepare the repeated commits. Return the last of them, or `None` if none of them changes the destination."""
    begun, at, waiting = Instant.of(stores.clock), sides.ours, None
    for link in _links(stores, registers, sides, combination, call):
        writes: list[Write] = list(link.made.writes)
        if waiting is not None:
            at, written = _built(stores, registers, waiting, (at,))
            require_in_time(stores.clock, begun, f"commit {at.id}")
            writes += written
        require_repository(stores, registers)
        record_writes(stores, writes)  # the next link reads them
        waiting = link
    if waiting is None:
        return None
    last = replace(waiting, draft=_last_words(waiting.draft, call.draft))
    return NewHead(*_built(stores, registers, last, (at, sides.theirs)))


def repeated_commits(stores: Stores, registers: Registers, sides: Sides) -> list[CommitId]:
    """Return the source's own commits, oldest first."""
    read = partial(commit_of, stores, registers.repository)
    missing = log(read, LogPosition((sides.theirs.id,), (sides.ours.id,)), first_parent=True)
    return [step.commit.id for step in missing][::-1]


def has_effect(stores: Stores, registers: Registers, sides: Sides, combination: Combination) -> bool:
    """Return `True` if at least one repeated commit changes the destination. Write nothing."""
    inputs = combination.inputs
    return any(
        next(rest(combination.indexes, inputs.destination, changes), None) is not None
        for _, changes in _changes(stores, registers, sides, combination)
    )


def _changes(
    stores: Stores, registers: Registers, sides: Sides, combination: Combination
) -> Iterator[tuple[StoredCommit, Iterator[pa.Table]]]:
    """Yield the commits to repeat, with the changes that the destination accepts."""
    repo = registers.repository
    for id in repeated_commits(stores, registers, sides):
        commit = commit_of(stores, repo, id)
        parents = commit.header.parents
        before = commit_of(stores, repo, parents[0]).layout.index if parents else nothing(stores, repo)
        yield commit, replayed(combination.indexes, combination.inputs, combination.rules, before, commit.layout.index)


def _links(
    stores: Stores, registers: Registers, sides: Sides, combination: Combination, call: MergeCall
) -> Iterator[_Link]:
    """Yield the commits to make, each on top of the previous one. A link is stored before the next one is requested."""
    indexes, at = combination.indexes, combination.inputs.destination
    for commit, changes in _changes(stores, registers, sides, combination):
        made = successor(indexes, at, changes, mapper=stores.executor.map)
        if made.effective:
            at = made.index
            yield _Link(_words(commit), call.nonce(stores, commit.id), made)
    made = successor(indexes, at, rest(indexes, at, combination.changes()), mapper=stores.executor.map)
    if made.effective:
        yield _Link(call.request.titled(Draft("")), call.nonce(stores), made)


def _words(commit: StoredCommit) -> Draft:
    header = commit.header
    return Draft(header.message, header.committer, header.metadata)


def _last_words(own: Draft, said: Draft) -> Draft:
    """Return the call's texts for the last commit. Texts that are not given are those of the repeated commit."""
    return replace(
        said,
        message=said.message or own.message,
        committer=said.committer or own.committer,
        metadata={**own.metadata, **said.metadata},
    )


def _built(
    stores: Stores, registers: Registers, link: _Link, parents: tuple[StoredCommit, ...]
) -> tuple[StoredCommit, list[Write]]:
    content = CommitContent(link.made.index, link.made.operations, parents, link.nonce)
    return new_commit(stores, registers, link.draft, content)
