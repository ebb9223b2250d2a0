"""Request of a merge, and the three states that it combines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from graveler_core.committed.apply import apply
from graveler_core.committed.index.three_way import Conflicts, MergeInputs, three_way
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.reading.changed_keys import changed_keys
from graveler_core.engine.reading.history import DiffQuery, base_of
from graveler_core.engine.reading.resolve import resolve_commit
from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import Kind, NotFound
from graveler_core.model.changes import MergeForm, MergeStrategy, Resolved
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.ids import BranchId
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.ancestry import merge_base
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """Source, destination and rules of a merge."""

    source: str
    into: BranchId
    strategy: MergeStrategy | None = None
    """Side that wins if both sides changed a path; `None` reports a conflict."""
    resolve: Mapping[str, Resolved] = field(default_factory=dict)
    """Resolutions of single paths that the source changed. They override the strategy."""
    form: MergeForm = MergeForm.COMMIT
    """Commits to make."""
    allow_unrelated: bool = False
    """Use the empty tree as the merge base if there is no merge base."""
    unchanged: Sequence[str] = ()
    """Prefixes below which the destination must not have changed since the merge base."""

    def titled(self, draft: Draft) -> Draft:
        """Return the draft with its own message, or with one that names both sides."""
        return draft if draft.message else replace(draft, message=self.form.message(self.source, self.into))


@dataclass(frozen=True, slots=True)
class Sides:
    """Destination's head, source, merge base, and trees to compare."""

    ours: StoredCommit
    theirs: StoredCommit
    base: StoredCommit | None
    """`None` if the histories are unrelated."""
    inputs: MergeInputs


def sides_of(stores: Stores, registers: Registers, request: MergeRequest) -> Sides | None:
    """Return the sides of a merge, or `None` if the destination already has all commits of the source.

    Raises:
        NotFound: The ref does not exist, or the histories are unrelated (`NoMergeBase`) and this is not allowed.
    """
    repo = registers.repository
    ours = commit_of(stores, repo, registers.branch.commit_id)
    theirs = resolve_commit(stores, repo, request.source)
    base = merge_base(partial(commit_of, stores, repo), theirs.id, ours.id)
    if base == theirs.id:
        return None
    if base is None and not request.allow_unrelated:
        raise NotFound(
            f"merge: {request.source!r} and {request.into!r} have no common ancestor; "
            "to merge them anyway, as if both had started empty, allow unrelated histories",
            kind=Kind.NoMergeBase,
            left=theirs.id,
            right=ours.id,
        )
    if base is None:
        inputs = MergeInputs(nothing(stores, repo), theirs.layout.index, ours.layout.index)
        return Sides(ours, theirs, None, inputs)
    common = commit_of(stores, repo, base)
    return Sides(ours, theirs, common, between(stores, repo, common, theirs, ours))


def conflicts(stores: Stores, repo: RepositoryRecord, query: DiffQuery) -> Iterator[Conflicts]:
    """Yield the conflicts of merging the commit of `right` into that of `left`, lazily and in key order.

    Raises:
        NotFound: A ref does not exist, or the histories are unrelated (`NoMergeBase`).
    """
    left, right = (resolve_commit(stores, repo, side) for side in (query.left, query.right))
    inputs = between(stores, repo, base_of(stores, repo, left, right), right, left)
    start, end = query.within.interval()
    return (found.conflicts for found in three_way(stores.indexes(repo), inputs, start=start, end=end))


def between(
    stores: Stores, repo: RepositoryRecord, base: StoredCommit, source: StoredCommit, destination: StoredCommit
) -> MergeInputs:
    """Return the inputs of a merge that applies the differences between `base` and `source` to `destination`."""
    changed = changed_keys(stores, repo, base, source)
    return MergeInputs(base.layout.index, source.layout.index, destination.layout.index, changed)


def nothing(stores: Stores, repo: RepositoryRecord) -> Index:
    """Return the empty index. The changes of a root commit are its differences from this index."""
    return Index(metarange_id=apply(stores.trees(repo), None, RECORD_SCHEMA.empty_table()).metarange_id)
