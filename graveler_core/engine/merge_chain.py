"""A merge that keeps the source's commits: each is repeated on the destination, and the last one is the merge.

Repeated are the commits on the source's chain of first parents that the destination has not, each with what it changed
against its first parent as far as the destination takes it (`committed.index.replay`). Those of which nothing is taken
are left out. They keep what their authors said. The last has the source as its second parent, so that the next merge
knows where to begin. What no repeated commit holds (a value that a resolution names) becomes a commit of its own, the
last.

Everything here is written before the swap in `engine.merge` makes the last commit the head; a crash leaves garbage,
nothing else. In memory are the ids of the commits, and what one of them changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from graveler_core.committed.index.replay import replayed, rest
from graveler_core.committed.index.resolutions import Rules
from graveler_core.committed.index.successor import Successor, successor
from graveler_core.engine.combine import Combination
from graveler_core.engine.draft import Content, Draft, build
from graveler_core.engine.merge_sides import MergeRequest, Sides, nothing
from graveler_core.engine.swap import Write, record_writes
from graveler_core.engine.view import commit_of
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.log import Place, log
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class Call:
    """What stays the same over all attempts of a merge."""

    request: MergeRequest
    rules: Rules
    draft: Draft
    nonces: dict[CommitId | None, Nonce] = field(default_factory=dict)
    """Of the commits to be made, by the commit that each repeats; of the merge itself under None."""

    def nonce(self, stores: Stores, repeats: CommitId | None = None) -> Nonce:
        """The nonce of a logical commit, kept over attempts."""
        if repeats not in self.nonces:
            self.nonces[repeats] = Nonce(stores.ids.fresh())
        return self.nonces[repeats]


@dataclass(frozen=True, slots=True)
class _Link:
    """A commit that is known but for its parents."""

    draft: Draft
    nonce: Nonce
    made: Successor


def chain(
    stores: Stores, registers: Registers, sides: Sides, combination: Combination, call: Call
) -> StoredCommit | None:
    """Write the source's commits, repeated; gives the last of them, None where none changes anything here."""
    at, waiting = sides.ours, None
    for link in _links(stores, registers, sides, combination, call):
        writes: list[Write] = list(link.made.writes)
        if waiting is not None:
            at, written = _built(stores, registers, waiting, (at,))
            writes += written
        record_writes(stores, writes)  # the next link reads them
        waiting = link
    if waiting is None:
        return None
    last = replace(waiting, draft=_last_words(waiting.draft, call.draft))
    at, writes = _built(stores, registers, last, (at, sides.theirs))
    record_writes(stores, writes)
    return at


def _links(stores: Stores, registers: Registers, sides: Sides, combination: Combination, call: Call) -> Iterator[_Link]:
    """What to commit, one on the other. A link is stored before the next is asked for."""
    repo, indexes, inputs = registers.repository, combination.indexes, combination.inputs
    at = inputs.destination
    for commit in _to_repeat(stores, registers, sides):
        parents = commit.header.parents
        before = commit_of(stores, repo, parents[0]).layout.index if parents else nothing(stores, repo)
        changes = replayed(indexes, inputs, combination.rules, before, commit.layout.index)
        made = successor(indexes, at, changes, mapper=stores.executor.map)
        if made.effective:
            at = made.index
            yield _Link(_words(commit), call.nonce(stores, commit.id), made)
    made = successor(indexes, at, rest(indexes, at, combination.changes()), mapper=stores.executor.map)
    if made.effective:
        yield _Link(call.request.titled(Draft("")), call.nonce(stores), made)


def _to_repeat(stores: Stores, registers: Registers, sides: Sides) -> Iterator[StoredCommit]:
    """The source's own commits, oldest first."""
    read = partial(commit_of, stores, registers.repository)
    missing = log(read, Place((sides.theirs.id,), (sides.ours.id,)), first_parent=True)
    for commit in reversed([step.commit.id for step in missing]):
        yield read(commit)


def _words(commit: StoredCommit) -> Draft:
    header = commit.header
    return Draft(header.message, header.committer, header.metadata)


def _last_words(own: Draft, said: Draft) -> Draft:
    """What the call says of the commit that it gives; where it says nothing, that commit's own author does."""
    return replace(
        said,
        message=said.message or own.message,
        committer=said.committer or own.committer,
        metadata={**own.metadata, **said.metadata},
    )


def _built(
    stores: Stores, registers: Registers, link: _Link, parents: tuple[StoredCommit, ...]
) -> tuple[StoredCommit, list[Write]]:
    content = Content(link.made.index, link.made.operations, parents, link.nonce)
    return build(stores, registers, link.draft, content)
