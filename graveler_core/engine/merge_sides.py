"""What a merge is about: the request, and the three states that it puts together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from graveler_core.committed.apply import apply
from graveler_core.committed.index.three_way import MergeInputs
from graveler_core.engine.chain import changed_keys
from graveler_core.engine.draft import Draft
from graveler_core.engine.resolve import resolve_commit
from graveler_core.engine.view import commit_of
from graveler_core.errors import Kind, NotFound
from graveler_core.model.changes import MergeStrategy, Resolved
from graveler_core.model.entities import Repository
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.ids import BranchId
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.ancestry import merge_base
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """What to merge, into what, and how."""

    source: str
    into: BranchId
    strategy: MergeStrategy | None = None
    """Who wins where both sides changed a path (None: nobody)."""
    resolve: Mapping[str, Resolved] = field(default_factory=dict)
    """What becomes of single paths that the source changed, whatever the strategy."""
    squash: bool = True
    """In one commit; else the source's commits are repeated."""
    allow_unrelated: bool = False
    """Take the empty tree for the merge base where there is none."""

    def titled(self, draft: Draft) -> Draft:
        """The draft with a message of its own, or one that names both sides."""
        return draft if draft.message else replace(draft, message=f"Merge {self.source!r} into {self.into!r}")


@dataclass(frozen=True, slots=True)
class Sides:
    """The destination's head, the source, and what to compare."""

    ours: StoredCommit
    theirs: StoredCommit
    inputs: MergeInputs


def sides_of(stores: Stores, registers: Registers, request: MergeRequest) -> Sides | None:
    """What is merged into what; None where the destination has all of the source already.

    Raises:
        NotFound: no such ref; or (`NoMergeBase`) the histories are unrelated, and that was not allowed.
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
            "to merge them all the same, as if both had begun empty, allow unrelated histories",
            kind=Kind.NoMergeBase,
            left=theirs.id,
            right=ours.id,
        )
    if base is None:
        return Sides(ours, theirs, MergeInputs(nothing(stores, repo), theirs.layout.index, ours.layout.index))
    return Sides(ours, theirs, between(stores, repo, commit_of(stores, repo, base), theirs, ours))


def between(
    stores: Stores, repo: Repository, base: StoredCommit, source: StoredCommit, destination: StoredCommit
) -> MergeInputs:
    """What leads from one commit to another, to be put on a third."""
    changed = changed_keys(stores, repo, base, source)
    return MergeInputs(base.layout.index, source.layout.index, destination.layout.index, changed)


def nothing(stores: Stores, repo: Repository) -> Index:
    """The index that holds nothing: what a root commit changed is compared with it."""
    return Index(metarange_id=apply(stores.trees(repo), None, RECORD_SCHEMA.empty_table()).metarange_id)
