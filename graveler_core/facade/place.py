"""Where a guarded call works: a repository, seen through a ref. Says how requests about it are put.

Policies know a path by its repository and its name, not by the ref that it is read through; but they may make a
condition of the ref (`graveler:ref`) or of the branch that it names (`graveler:branch`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graveler_core.engine.resolve import resolve
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
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.refs.expression import parse
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class Place:
    """A repository, seen through a ref where there is one."""

    repository: RepositoryId
    ref: str = ""
    """The expression as it was given; a commit that was found otherwise has its id."""
    branch: str = ""
    """The branch that the ref names, if it names one."""

    @property
    def context(self) -> Mapping[str, str]:
        """What conditions of policies are held against."""
        said = {ContextKey.REPOSITORY: self.repository, ContextKey.REF: self.ref, ContextKey.BRANCH: self.branch}
        return {key: value for key, value in said.items() if value}

    def itself(self, action: Action) -> Request:
        """Asks for the repository."""
        return Request(action, repository_resource(self.repository), self.context)

    def named(self, action: Action) -> Request:
        """Asks for the branch that the ref names."""
        return Request(action, branch_resource(self.repository, self.branch), self.context)

    def tag(self, action: Action) -> Request:
        """Asks for the tag that the ref names."""
        return Request(action, tag_resource(self.repository, self.ref), self.context)

    def path(self, action: Action, path: str) -> Request:
        """Asks for one path."""
        return Request(action, object_resource(self.repository, path), self.context)

    def under(self, action: Action, prefix: str = "") -> Request:
        """Asks for every path that begins so."""
        return Request(action, object_resource(self.repository, prefix), self.context, prefix=True)


def on_branch(repository: RepositoryId, branch: BranchId) -> Place:
    """A repository, seen through a branch."""
    return Place(repository, branch, branch)


def through(stores: Stores, repository: RepositoryId, ref: str) -> Place:
    """A repository, seen through a ref expression. Raises `InvalidInput` for none; tells nobody whether it resolves.

    Whether it names a branch is looked up, for a tag may be called as policies call branches.
    """
    expression = parse(ref)
    held = None if expression.steps else repositories.find(stores.kv, repository)
    if held is None or access.read(stores.kv, keys.branch(held.value, BranchId(expression.name))) is None:
        return Place(repository, ref)
    return Place(repository, ref, expression.name)


def pinned(stores: Stores, repository: RepositoryId, ref: str) -> tuple[Place, str]:
    """As `through`, and the id of the commit that the ref named as this looked; the ref itself where it named none.

    Whoever then works on the commit works on what the place speaks of, whatever becomes of the name.
    """
    held = None if parse(ref).view == "$" else repositories.find(stores.kv, repository)  # what is staged is no commit
    try:
        found = None if held is None else resolve(stores, held.value, ref)
    except (NotFound, InvalidInput):
        found = None  # the flow says so, to those who may
    if found is None:
        return Place(repository, ref), ref
    return Place(repository, ref, found.branch or ""), found.commit_id
