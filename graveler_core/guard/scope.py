"""Scope of a guarded call: a repository, read through a ref. Creates requests in this scope.

Policies identify a path by its repository and name, not by the ref that it is read through. Conditions may test the
ref (`graveler:ref`) or the branch that it names (`graveler:branch`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graveler_core.engine.reading.resolve import resolve
from graveler_core.errors import InvalidInput, NotFound
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.permission import (
    Action,
    ContextKey,
    Request,
    branch_resource,
    object_resource,
    repository_resource,
    tag_resource,
)
from graveler_core.refs import repositories
from graveler_core.refs.expression import find_named, names_tree, parse
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class Scope:
    """A repository, and the ref that it is read through, if any."""

    repository: RepositoryId
    ref: str = ""
    """Ref expression as given; the commit id for a commit that was found otherwise."""
    branch: str = ""
    """Name of the branch that the ref names, if any."""

    @property
    def context(self) -> Mapping[str, str]:
        """Values that conditions of policies are compared with."""
        said = {ContextKey.REPOSITORY: self.repository, ContextKey.REF: self.ref, ContextKey.BRANCH: self.branch}
        return {key: value for key, value in said.items() if value}

    def on_repository(self, action: Action) -> Request:
        """Return a request for the repository."""
        return Request(action, repository_resource(self.repository), self.context)

    def on_branch(self, action: Action) -> Request:
        """Return a request for the branch that the ref names."""
        return Request(action, branch_resource(self.repository, self.branch), self.context)

    def on_tag(self, action: Action) -> Request:
        """Return a request for the tag that the ref names."""
        return Request(action, tag_resource(self.repository, self.ref), self.context)

    def on_path(self, action: Action, path: str) -> Request:
        """Return a request for one path."""
        return Request(action, object_resource(self.repository, path), self.context)

    def on_prefix(self, action: Action, prefix: str = "") -> Request:
        """Return a request for every path that begins with a prefix."""
        return Request(action, object_resource(self.repository, prefix), self.context, prefix=True)


@dataclass(frozen=True, slots=True)
class PinnedRef:
    """A ref as it was resolved for the check of a call, and what the method uses instead of it."""

    scope: Scope
    ref: str
    """Id of the commit that the ref named, or the ref itself if it named none."""
    tree: bool = False
    """True if the ref named a tag of a tree."""

    def commit(self) -> str:
        """Return `ref` for a method that needs a commit with its history.

        Raises:
            InvalidInput: The ref named a tag of a tree (`NotACommit`).
        """
        if self.tree:
            raise names_tree(self.scope.ref)
        return self.ref


def branch_scope(repository: RepositoryId, branch: BranchId) -> Scope:
    """Return the scope of a branch."""
    return Scope(repository, branch, branch)


def ref_scope(stores: Stores, repository: RepositoryId, ref: str) -> Scope:
    """Return the scope of a ref expression. Does not reveal whether the ref exists.

    A lookup decides whether the ref names a branch, because a tag may have a name that policies expect of branches.

    Raises:
        InvalidInput: the expression is not valid.
    """
    expression = parse(ref)
    held = None if expression.steps else repositories.find(stores.kv, repository)
    named = None if held is None else find_named(stores.kv, held.value, expression.name)
    return Scope(repository, ref, (named and named.branch) or "")


def pinned_scope(stores: Stores, repository: RepositoryId, ref: str) -> PinnedRef:
    """Return the scope of a ref expression, and the id of the commit that it names now, or the ref itself if it names
    none.

    A flow that uses the commit id works on the state that was checked, even if the ref moves.
    """
    held = (
        None if parse(ref).view == "$" else repositories.find(stores.kv, repository)
    )  # staged changes are not a commit
    try:
        found = None if held is None else resolve(stores, held.value, ref)
    except (NotFound, InvalidInput):
        found = None  # the flow reports the error to callers who may know it
    if found is None:
        return PinnedRef(Scope(repository, ref), ref)
    return PinnedRef(Scope(repository, ref, found.branch or ""), found.commit_id, found.tree)
